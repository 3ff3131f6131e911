"""A neutral config vocabulary for structured rewards, mapped to the rewards of this plugin.

WITHOUT_JSONSCHEMA_RS=1 in the environment scores as if jsonschema-rs were not installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from grpo_reward_schema import Json, Xml, rust

from grpo_core import Completion, Fail, Score

if os.environ.get("WITHOUT_JSONSCHEMA_RS"):
    rust.engine = None

_SAME = ("extract", "pick", "mode", "assert_formats", "duplicate_keys", "max_depth", "max_bytes")
_XML = ("extract", "pick", "mode", "max_depth", "max_bytes", "elements")
_ONLY: Mapping[str, Any] = {"nan": "reject", "remote_refs": "deny", "repair": False}


def score(family: str, config: Mapping[str, Any], completion: str) -> float | None:
    """The reward of a completion, or None where this plugin has no such rule.

    Raises:
        ValueError: The config cannot be built.
    """
    if family == "xml":
        return _xml(config, completion)
    return _json(config, completion) if family == "json" else None


def _xml(config: Mapping[str, Any], completion: str) -> float:
    for key, value in (("dtd", "forbid"), ("external", "deny")):
        if config.get(key, value) != value:
            raise ValueError(f"{key} can only be {value!r}")
    options = {key: config[key] for key in _XML if key in config}
    reward = Xml(after_tag=config.get("after_tag") or "", **options)
    return _value(reward(Completion(completion), config.get("xsd"), config.get("rng")))


def _json(config: Mapping[str, Any], completion: str) -> float:
    for key, value in _ONLY.items():
        if config.get(key, value) != value:
            raise ValueError(f"{key} can only be {value!r}")
    options = {key: config[key] for key in _SAME if key in config}
    reward = Json(after_tag=config.get("after_tag") or "", **options)
    return _value(reward(Completion(completion), config["schema"]))


def _value(scored: Score | Fail) -> float:
    if isinstance(scored, Fail):
        raise ValueError(scored.reason)
    return scored.value
