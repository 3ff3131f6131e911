"""Finds all that is wrong with a run's config at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from grpo_core import schedules
from grpo_core.batch import batch_problems, eval_batch_problems
from grpo_core.catalog import Catalog, Resolved
from grpo_core.errors import ConfigError, PluginError, Problem, UnknownRewardError
from grpo_core.graph import graph_problems
from grpo_core.inputs import plan_inputs
from grpo_core.looking import Looked, Sample, look_at
from grpo_core.reader import Draft
from grpo_core.schedules import Schedule
from grpo_core.scoring.cache import OutcomeCache
from grpo_core.scoring.checks import UNBOUNDED
from grpo_core.scoring.make import make_tagged
from grpo_core.scoring.pool import Pool
from grpo_core.scoring.settings import policy_of_function, value_problems
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.scoring.trl_style import TrlFunction, is_async
from grpo_core.sections import RewardSection, WeightSchedule

# They would collide with columns and metrics of the trainer.
REFUSED_NAMES = ("prompt", "completion", "step", "advantage", "reward", "total", "image", "images")


def validate(
    draft: Draft,
    catalog: Catalog,
    columns: Collection[str] | None,
    eval_columns: Collection[str] | None = None,
    *,
    sample: Sample | None = None,
    eval_sample: Sample | None = None,
    warnings: list[Problem] | None = None,
    processes: int = 1,
) -> list[Problem]:
    """Finds what is wrong: structure, names, options, inputs, weights, batch arithmetic.

    With rows also what they hold: values of another type than an input's, golds that a reward
    cannot read.

    Args:
        draft: The config, as far as it could be read.
        catalog: The installed plugins.
        columns: The columns of the data, or None if it could not be read.
        eval_columns: The columns of the evaluation's data, or None if there is none to look at.
        sample: Rows of the data, or None if they are not looked at.
        eval_sample: Rows of the evaluation's data.
        warnings: Where goes what hurts no run but may not be meant.
        processes: How many processes train.
    """
    problems = list(draft.problems)
    ranges: dict[str, tuple[float, float]] = {}

    def check(columns: Collection[str] | None, sample: Sample | None) -> Looked:
        found = Looked([], [])
        for name, section in draft.rewards.items():
            checked = check_reward(
                section,
                catalog,
                where=f"rewards.{name}",
                name=name,
                columns=columns,
                folder=draft.source.parent,
                sample=sample,
                others=[n for n in draft.rewards if n != name],
            )
            if isinstance(checked.runner, TaggedReward):
                ranges[name] = checked.runner.low, checked.runner.high
            found.problems.extend(checked.problems)
            found.warnings.extend(checked.warnings)
        return found

    found = check(columns, sample)
    said = [found]
    differ = eval_columns is not None and set(eval_columns) != set(columns or ())
    if differ or eval_sample is not None:
        said.append(_of_eval(check(eval_columns, eval_sample), found))
    for one in said:
        problems += one.problems
        if warnings is not None:
            warnings += one.warnings
    steps = draft.train.get("max_steps")
    n_steps = steps if isinstance(steps, int) and steps > 0 else None
    for wrong, meant in (
        graph_problems(draft.rewards, ranges),
        schedule_problems(draft.rewards, n_steps),
    ):
        problems += wrong
        if warnings is not None:
            warnings += meant
    if warnings is not None:
        warnings += penalties(draft.rewards)
    spoilt = any(p.where.startswith("rewards") for p in draft.problems)
    problems += [
        p
        for p in weight_problems(draft.rewards)
        # A reward that could not be read may have the weight that the others lack.
        if not (spoilt and p.where == "rewards")
    ]
    problems += batch_problems(draft.train, processes)
    if evaluation := draft.sections.get("eval"):
        problems += eval_batch_problems(draft.train, evaluation.num_generations)
    elif warnings is not None and not any(p.where.startswith("eval") for p in draft.problems):
        warnings += [
            Problem(
                f"rewards.{name}.modes",
                "never runs: there is no [eval]; add one, or leave modes out",
            )
            for name, section in draft.rewards.items()
            if "train" not in section.modes
        ]
    return problems


def penalties(rewards: Mapping[str, RewardSection]) -> list[Problem]:
    """The rewards whose weight is, or comes to be, negative: it may not be meant."""
    return [
        Problem(f"rewards.{name}.weight", "is negative: what the reward gives becomes a penalty")
        for name, section in rewards.items()
        if min(section.weight_ends) < 0 and not section.shadow
    ]


def _of_eval(found: Looked, before: Looked) -> Looked:
    """What is said of the rows of `[eval]` beyond what was said of the training rows."""
    problems, warnings = (
        [Problem(p.where, f"in the rows of [eval]: {p.message}") for p in new if p not in old]
        for new, old in zip(found, before, strict=True)
    )
    return Looked(problems, warnings)


class Checked(NamedTuple):
    """A reward's section, looked at.

    Attributes:
        resolved: What its name led to, or None.
        runner: The reward, ready to be called; None if it could not be built.
        input_files: SHA-256 of each file an input was read from, by path.
        problems: All that is wrong.
        warnings: What hurts no run but may not be meant.
    """

    resolved: Resolved | None
    runner: TaggedReward | TrlFunction | None
    input_files: Mapping[str, str]
    problems: list[Problem]
    warnings: Sequence[Problem] = ()


def check_reward(
    section: RewardSection,
    catalog: Catalog,
    *,
    where: str,
    name: str = "",
    columns: Collection[str] | None = None,
    folder: Path | None = None,
    sample: Sample | None = None,
    others: Collection[str] = (),
    cache: OutcomeCache | None = None,
    pool: Pool | None = None,
) -> Checked:
    """Resolves and builds one reward and checks its name, options, inputs and settings.

    Args:
        section: The reward's section.
        catalog: The installed plugins.
        where: Path of the section, for the problems.
        name: Instance name.
        columns: Columns of the data, or None if they are not known.
        folder: What relative paths are relative to; default: the working directory.
        sample: Rows whose values are looked at, or None.
        others: Instance names of the other rewards.
        cache: Where its outcomes are kept; default: a cache of its own.
        pool: Its worker processes; default: those that all rewards share.
    """
    problems = []
    if name in REFUSED_NAMES:
        problems.append(
            Problem(where, f"a reward cannot be called {name!r}; the trainer logs under that name")
        )
    try:
        resolved = catalog.resolve(section.use, folder=folder)
    except (UnknownRewardError, PluginError) as exc:
        return Checked(None, None, {}, [*problems, Problem(f"{where}.use", str(exc))])
    if resolved.info is None:
        return _check_function(section, resolved, problems, where, name, columns)
    info = resolved.info
    plan, found = plan_inputs(
        info,
        section.inputs,
        columns=columns,
        folder=folder,
        where=f"{where}.inputs",
        rewards=others,
    )
    runner, wrong = make_tagged(
        resolved,
        section,
        plan,
        catalog,
        name=name or resolved.name,
        where=where,
        folder=folder,
        cache=cache,
        pool=pool,
    )
    problems += wrong
    if runner is not None:
        problems += value_problems(section, low=runner.low, high=runner.high, where=where)
    looked = Looked([], [])
    if sample is not None:
        author = None
        if runner is not None and not found:
            author = getattr(runner.callee.function, "check_inputs", None)
        looked = look_at(info, plan, sample, f"{where}.inputs", author)
    return Checked(
        resolved, runner, plan.files, problems + found + looked.problems, looked.warnings
    )


def _check_function(
    section: RewardSection,
    resolved: Resolved,
    problems: list[Problem],
    where: str,
    name: str,
    columns: Collection[str] | None,
) -> Checked:
    """The part of `check_reward` for an untagged function."""
    for key, given in (("options", section.options), ("inputs", section.inputs)):
        if given:
            problems.append(
                Problem(
                    f"{where}.{key}",
                    f"{resolved.name!r} is an untagged function and takes no {key}; put @reward "
                    f"above it",
                )
            )
    policy, wrong = policy_of_function(section, is_async=is_async(resolved.target), where=where)
    low, high = UNBOUNDED
    problems += wrong + value_problems(section, low=low, high=high, where=where)
    try:
        function = TrlFunction(resolved.target, name or resolved.name, policy)
    except ConfigError as exc:
        found = [Problem(f"{where}.use", p.message) for p in exc.problems]
        return Checked(resolved, None, {}, problems + found)
    if columns is not None:
        problems += function.problems(columns, where)
    return Checked(resolved, function, {}, problems)


def weight_problems(
    rewards: Mapping[str, RewardSection], *, for_training: bool = True
) -> list[Problem]:
    """Weights that are not finite, or leave nothing to learn from.

    Args:
        rewards: The rewards by instance name.
        for_training: Something is to be learnt; else only the numbers are looked at.
    """
    problems = [
        Problem(f"rewards.{name}.weight", f"expected a finite number, got {section.weight!r}")
        for name, section in rewards.items()
        if not all(map(math.isfinite, section.weight_ends))
    ]
    if not for_training:
        return problems
    counted = [s for s in rewards.values() if not s.shadow and "train" in s.modes]
    if rewards and not counted:
        text = (
            "every reward is a shadow or runs in evaluations only, so nothing can be learnt; let "
            "one count"
        )
        problems.append(Problem("rewards", text))
    elif rewards and not any(any(section.weight_ends) for section in counted):
        problems.append(
            Problem("rewards", "every weight is 0, so nothing can be learnt; set one above 0")
        )
    return problems


def schedule_problems(
    rewards: Mapping[str, RewardSection], total_steps: int | None
) -> tuple[list[Problem], list[Problem]]:
    """What is wrong with weights that move, and what may not be meant.

    Args:
        rewards: The rewards by instance name.
        total_steps: Steps of the run, or None where they are not known.
    """
    wrong, meant = [], []
    for name, section in rewards.items():
        weight = weight_of(section)
        if isinstance(weight, Schedule):
            found = schedules.problems(weight, total_steps, f"rewards.{name}.weight")
            wrong += found.problems
            meant += found.warnings
    return wrong, meant


def weight_of(section: RewardSection) -> float | Schedule:
    """The section's weight; one that moves as what computes it."""
    weight = section.weight
    return Schedule(**weight.model_dump()) if isinstance(weight, WeightSchedule) else weight
