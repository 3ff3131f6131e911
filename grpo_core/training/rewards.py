"""The rewards that a script gives `GRPOTrainer`, in whatever form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, listed, near
from grpo_core.sections import RewardSection
from grpo_core.training.seam import trainer_weights

RewardsArgument = (
    str
    | Callable[..., Any]
    | Sequence[str | Callable[..., Any]]
    | Mapping[str, Any]
    | CompositeReward
)


def composite_of(
    rewards: RewardsArgument | None,
    weights: Sequence[float] | Mapping[str, float] | None,
) -> CompositeReward:
    """The rewards that a script names.

    Args:
        rewards: A name or function, a list of them, a dict by instance name, or a composite.
        weights: Weights in order, or by instance name; default: 1.

    Raises:
        ConfigError: A reward or a weight is wrong.
    """
    if isinstance(rewards, CompositeReward):
        if weights is not None and list(weights) != trainer_weights(rewards):
            raise ConfigError("give the weights in CompositeReward, not in reward_weights too")
        return rewards
    if rewards is None:
        raise ConfigError("reward_funcs is missing: give a name, a function or a list of them")
    catalog = Catalog()
    named = _named(rewards, catalog)
    for name, weight in _weights(list(named), weights).items():
        given = named[name]
        table = dict(given) if isinstance(given, Mapping) else {"use": given}
        if isinstance(given, RewardSection):
            table = given.model_dump()
        named[name] = {**table, "weight": weight}
    return CompositeReward(named, catalog=catalog)


def _named(rewards: Any, catalog: Catalog) -> dict[str, Any]:
    """Gives each reward its instance name: its own, with #2 for the second of a name."""
    if isinstance(rewards, Mapping):
        return dict(rewards)
    if isinstance(rewards, str) or callable(rewards):
        rewards = [rewards]
    named: dict[str, Any] = {}
    for reward in rewards:
        if isinstance(reward, str):
            base = reward
        elif callable(reward):
            base = catalog.resolve(reward).name
        else:
            raise ConfigError(
                f"reward_funcs holds {type(reward).__name__}; expected names of rewards and "
                f"functions. A reward model: wrap it in a function"
            )
        name, n = base, 2
        while name in named:
            name, n = f"{base}#{n}", n + 1
        named[name] = reward
    return named


def _weights(
    names: list[str], weights: Sequence[float] | Mapping[str, float] | None
) -> dict[str, float]:
    if weights is None:
        return {}
    if isinstance(weights, Mapping):
        unknown = [n for n in weights if n not in names]
        if unknown:
            raise ConfigError(
                f"reward_weights names {unknown[0]!r}, which is no reward here."
                f"{near(unknown[0], names)} Rewards are {listed(names)}."
            )
        return {name: _float(name, weight) for name, weight in weights.items()}
    if len(weights) != len(names):
        raise ConfigError(
            f"reward_weights has {len(weights)} numbers for {len(names)} rewards: "
            f"{', '.join(names)}"
        )
    return {n: _float(n, w) for n, w in zip(names, weights, strict=True)}


def _float(name: str, weight: Any) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ConfigError(f"reward_weights: expected a number for {name!r}, got {weight!r}")
    return float(weight)
