"""A neutral config vocabulary for structured rewards, mapped to the rewards of this plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grpo_reward_format import Pattern, PublishedRule, TagCount, Tags

from grpo_core import Completion

_OF_TAG_COUNT = (
    "tags",
    "outside_text",
    "prompt_prefix",
    "prefix_policy",
    "empty_body",
    "ignore_code_fences",
    "strip_suffixes",
)
_REWARDS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "tags": (Tags, (*_OF_TAG_COUNT, "mode", "layout", "tail")),
    "tag_count": (TagCount, _OF_TAG_COUNT),
    "regex": (Pattern, ("patterns", "timeout_s", "prompt_prefix")),
}


def score(family: str, config: Mapping[str, Any], completion: str) -> float | None:
    """The reward of a completion, or None where this plugin has no such rule.

    Raises:
        ValueError: The config cannot be built.
    """
    kind = str(config.get("kind"))
    if family != "format" or kind not in _REWARDS:
        return None
    options = {key: value for key, value in config.items() if key != "kind" and value is not None}
    if "variant" in options:
        return _published(options, completion)
    target, names = _REWARDS[kind]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise ValueError(f"the rule {kind!r} has no {', '.join(map(repr, unknown))}")
    value: float = target(**options)(Completion(completion)).value
    return value


def _published(options: Mapping[str, Any], completion: str) -> float:
    if options != {"tags": ["think", "answer"], "variant": "open_r1"}:
        raise ValueError(f"the published rule has these tags and no options, got {options!r}")
    return PublishedRule(rule="open_r1_tag_count")(Completion(completion))
