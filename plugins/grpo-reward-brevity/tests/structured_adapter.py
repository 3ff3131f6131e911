"""A neutral config vocabulary for structured rewards, mapped to the rewards of this plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grpo_reward_brevity import Budget, Cosine, GroupRelative, Linear, SoftLimit, Target

from grpo_core import Completion, Score

# The formulas alone: what is earned by nothing at all is looked at in test_lengths.py.
_AS_PUBLISHED = {"min_length": 0}


def score(family: str, config: Mapping[str, Any], completion: str) -> float | None:
    """The reward of a completion, or None where this plugin has none or has no opinion.

    Raises:
        ValueError: The config cannot be built.
    """
    if family != "brevity":
        return None
    kind, unit = config["kind"], config.get("unit", "tokens")
    measured = {
        **_AS_PUBLISHED,
        "unit": unit,
        "strip": config.get("count", "stripped") == "stripped",
    }
    if kind == "group_length":
        return _in_group(config, measured)
    n = config.get("token_count", 0)
    one = Completion(
        completion,
        token_ids=tuple(range(n)) if unit == "tokens" else None,
        truncated=config.get("truncated", False),
    )
    match kind:
        case "soft_overlong":
            built: Any = SoftLimit(max_length=config["max_len"], cache=config["cache"], **measured)
            return _value(built(one))
        case "linear_cap":
            return _value(Linear(max_length=config["max_len"], **measured)(one))
        case "cosine":
            built = Cosine(
                max_length=config["max_len"],
                right=config.get("correct_range", (0.5, 1.0)),
                wrong=config.get("wrong_range", (-1.0, -0.5)),
                exceed_value=config.get("exceed_value"),
                **measured,
            )
        case "target":
            built = Target(target=config["target"], alpha=config["alpha"], **measured)
        case "budget":
            built = Budget(
                budget=config["budget"],
                alpha=config["alpha"],
                delta=config["delta"],
                **measured,
            )
        case _:
            return None
    correct = config.get("correct")
    # The core skips a row whose input is None.
    return None if correct is None else _value(built(one, float(correct)))


def _in_group(config: Mapping[str, Any], measured: Mapping[str, Any]) -> float | None:
    lengths, correct = config["group_lengths"], config["group_correct"]
    if None in correct:
        return None
    unit = measured["unit"]
    group = [
        Completion("x" * n, token_ids=tuple(range(n)) if unit == "tokens" else None)
        for n in lengths
    ]
    built = GroupRelative(floor=-0.5, **measured)
    return _value(built(group, [float(c) for c in correct])[config["index"]])


def _value(result: object) -> float | None:
    return result.value if isinstance(result, Score) else None
