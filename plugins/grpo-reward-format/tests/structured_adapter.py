"""A neutral config vocabulary for structured rewards, mapped to the rewards of this plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_reward_format import Tags

from grpo_core import Completion

_SAME_NAME = (
    "tags",
    "mode",
    "outside_text",
    "layout",
    "prompt_prefix",
    "prefix_policy",
    "empty_body",
    "tail",
    "ignore_code_fences",
    "strip_suffixes",
)


def score(family: str, config: Mapping[str, Any], completion: str) -> float | None:
    """The reward of a completion, or None where this plugin has no such rule.

    Raises:
        ValueError: The config cannot be built.
    """
    if family != "format" or config.get("kind") != "tags":
        return None
    unknown = sorted(set(config) - {"kind", *_SAME_NAME})
    if unknown:
        raise ValueError(f"the rule 'tags' has no {', '.join(map(repr, unknown))}")
    options = {key: config[key] for key in _SAME_NAME if config.get(key) is not None}
    return Tags(**options)(Completion(completion)).value
