"""A neutral config vocabulary for structured rewards, mapped to the rewards of this plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_reward_safety import Clean

from grpo_core import Completion, Score

_CHECKS = {
    "blocklist": "no_blocklist",
    "pii": "no_pii",
    "secrets": "no_secrets",
    "prompt_leak": "no_prompt_leak",
    "repetition": "no_repetition",
    "refusal": "answers",
}
# Key of the vocabulary, and the option of the check that it is.
_OPTIONS = {
    "no_blocklist": {"blocklist": "terms", "match": "match", "normalise": "normalise"},
    "no_pii": {"pii": "kinds"},
    "no_secrets": {},
    "no_prompt_leak": {
        "system_prompt": "system_prompt",
        "min_words": "min_words",
        "canaries": "canaries",
    },
    "no_repetition": {
        "ngram": "ngram",
        "max_repeat_fraction": "max_repeat_fraction",
        "unit": "unit",
    },
    "answers": {"refusal_mode": "refusals"},
}
_KEYS = {"checks", "max_bytes", *(key for options in _OPTIONS.values() for key in options)}


def score(family: str, config: Mapping[str, Any], completion: str) -> float | None:
    """The reward of a completion, or None where this plugin has none or has no opinion.

    Raises:
        ValueError: The config cannot be built.
    """
    if family != "safety":
        return None
    if unknown := sorted(set(config) - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}")
    if unknown := sorted(set(config["checks"]) - set(_CHECKS)):
        raise ValueError(f"unknown check {unknown[0]!r}")
    names = [_CHECKS[name] for name in config["checks"]]
    options: dict[str, dict[str, Any]] = {}
    for name in names:
        options[name] = {o: config[key] for key, o in _OPTIONS[name].items() if key in config}
        if "max_bytes" in config:
            options[name]["max_bytes"] = config["max_bytes"]
    outcome = Clean(checks=names, **options)(Completion(completion))
    return outcome.value if isinstance(outcome, Score) else None
