"""Makes a `TaggedReward` of what a name led to and what the config says."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog, Resolved
from grpo_core.errors import ConfigError, Problem
from grpo_core.inputs import InputPlan
from grpo_core.options import build
from grpo_core.scoring.cache import OutcomeCache
from grpo_core.scoring.calls import Callee
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.pool import Pool
from grpo_core.scoring.recipe import Recipe, file_sha256, importable
from grpo_core.scoring.settings import policy_of, why_not
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.sections import RewardSection

logger = logging.getLogger("grpo_core")

# Rewards that were said to run in a thread; each once a process.
_said: set[str] = set()


def make_tagged(
    resolved: Resolved,
    section: RewardSection,
    plan: InputPlan,
    catalog: Catalog,
    *,
    name: str,
    where: str,
    folder: Path | None = None,
    cache: OutcomeCache | None = None,
    pool: Pool | None = None,
) -> tuple[TaggedReward | None, list[Problem]]:
    """Builds a tagged reward and settles how it is run.

    Args:
        resolved: The reward.
        section: Its options and settings.
        plan: Where its inputs come from.
        catalog: Where the reward was found; workers find it under the same lists.
        name: What it is called in warnings: its instance name.
        where: Path of the section, for the problems.
        folder: What a relative file is relative to.
        cache: Where its outcomes are kept; default: a cache of its own.
        pool: Its worker processes; default: those that all rewards share.

    Returns:
        The reward, or None if it could not be built, and all problems.
    """
    info = resolved.info
    assert info is not None
    try:
        built = build(info, section.options, f"{where}.options" if where else "options")
    except ConfigError as exc:
        return None, list(exc.problems)
    use = importable(resolved, section.use, folder)
    policy, problems = policy_of(
        info, section, rebuildable=use is not None, low=built.low, high=built.high, where=where
    )
    asked_for = info.is_async or section.isolation or info.isolation
    if use is None and not asked_for:
        _say_once(name, info.target)
    digest = file_sha256(resolved.target)
    recipe = None
    if use is not None:
        recipe = Recipe(use, section.options, plan.constants, catalog.chosen, digest)
    said = (
        resolved.name,
        resolved.distribution,
        resolved.version,
        digest,
        sorted(section.options.items()),
        sorted(plan.constants.items()),
        plan.columns,
    )
    identity = hashlib.blake2b(repr(said).encode("utf-8", "backslashreplace"), digest_size=16)
    reward = TaggedReward(
        name=name,
        callee=Callee(built.function, info.scope, built.low, built.high, plan.constants),
        plan=plan,
        needs=built.needs,
        policy=policy,
        is_async=info.is_async,
        defaults={p.name: p.default for p in info.inputs if not p.required},
        recipe=recipe,
        identity=identity.digest(),
        pacer=None if policy.rate is None else Pacer(policy.rate),
        cache=OutcomeCache() if cache is None else cache,
        pool=pool,
    )
    return reward, problems


def _say_once(name: str, target: Callable[..., Any]) -> None:
    if name not in _said:
        _said.add(name)
        logger.warning(
            "reward %r runs in a thread of this process, one call at a time, since a worker cannot "
            "build it: %s. A late call cannot be ended there; name it from a module or file for "
            "that",
            name,
            why_not(target),
        )
