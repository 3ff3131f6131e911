"""Batch arithmetic: a batch must hold whole groups, and if it does not, what would."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from typing import Any

from grpo_core.errors import Problem, counted


def launched_processes() -> int:
    """How many processes torchrun or accelerate has started for this run; 1 without either."""
    given = os.environ.get("WORLD_SIZE", "")
    return int(given) if given.isdecimal() and int(given) else 1


def batch_problems(train: Mapping[str, Any], world_size: int = 1) -> list[Problem]:
    """Batch sizes that do not hold whole groups, with values that do.

    Args:
        train: The `[train]` table; keys that are absent or None have the defaults of `GRPOConfig`.
        world_size: Number of processes.
    """
    given = {k: v for k, v in train.items() if v is not None}
    per_device = given.get("per_device_train_batch_size", 8)
    generations = given.get("num_generations", 4)
    steps = given.get("steps_per_generation", given.get("gradient_accumulation_steps", 4))
    batch = given.get("generation_batch_size")
    numbers = (per_device, generations, steps, 1 if batch is None else batch)
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in numbers):
        return []  # of the wrong type; the trainer's own check names the field
    if batch is None:
        return _of_steps(per_device, generations, steps, world_size)
    if "steps_per_generation" in given:
        text = "and steps_per_generation say the same thing in two ways; give one of them"
        return [Problem("train.generation_batch_size", text)]
    return _of_batch(per_device, generations, batch, world_size)


def too_few_rows(rows: int, batch: int, generations: int, where: str) -> list[Problem]:
    """Rows that do not fill one batch, for which the trainer would do no step.

    Args:
        rows: Rows of the training data.
        batch: Completions per batch.
        generations: Completions per prompt.
        where: Where the rows are from, for the problem.
    """
    prompts = batch // generations
    if rows >= prompts:
        return []
    text = (
        f"a batch takes {prompts} prompts ({batch} completions in groups of {generations}) and the "
        f"data has {counted(rows, 'row')}, so not one step would be trained; add rows or make the "
        f"batch smaller"
    )
    return [Problem(where, text)]


def rows_problems(
    train: Mapping[str, Any], rows: int, where: str, world_size: int = 1
) -> list[Problem]:
    """`too_few_rows` for a `[train]` table; none if the batch itself is wrong.

    Args:
        train: The `[train]` table.
        rows: Rows of the training data.
        where: Where the rows are from, for the problem.
        world_size: Number of processes.
    """
    given = {k: v for k, v in train.items() if v is not None}
    per_device = given.get("per_device_train_batch_size", 8)
    generations = given.get("num_generations", 4)
    steps = given.get("steps_per_generation", given.get("gradient_accumulation_steps", 4))
    numbers = (per_device, generations, steps)
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in numbers):
        return []  # said already
    batch = given.get("generation_batch_size", per_device * steps * world_size)
    if not isinstance(batch, int) or batch_problems(train, world_size):
        return []
    return too_few_rows(rows, batch, generations, where)


def eval_batch(train: Mapping[str, Any], generations: int) -> int:
    """Completions per evaluation batch and process: whole groups, as many as a training step has.

    Args:
        train: The `[train]` table.
        generations: Completions per prompt in an evaluation.
    """
    given = train.get("per_device_train_batch_size")
    per_device = given if isinstance(given, int) else 8
    return max(1, per_device // generations) * generations


def eval_batch_problems(train: Mapping[str, Any], generations: int | None) -> list[Problem]:
    """An evaluation batch that was given and does not hold whole groups.

    Args:
        train: The `[train]` table.
        generations: Completions per prompt in an evaluation; default: as in training.
    """
    batch = train.get("per_device_eval_batch_size")
    if generations is None:
        generations = train.get("num_generations", 4)
    if not isinstance(batch, int) or not isinstance(generations, int) or generations < 1:
        return []  # not given, or of the wrong type; the trainer's own check names the field
    if batch >= 1 and batch % generations == 0:
        return []
    valid = listed_numbers([generations, 2 * generations, 3 * generations])
    text = (
        f"expected a multiple of the {generations} completions per prompt of an evaluation, got "
        f"{batch}; leave it out or set it to {valid}"
    )
    return [Problem("train.per_device_eval_batch_size", text)]


def _of_steps(per_device: int, generations: int, steps: int, world_size: int) -> list[Problem]:
    batch = per_device * steps * world_size
    if generations > 1 and batch % generations == 0:
        return []
    processes = f"{world_size} process{'es' if world_size > 1 else ''}"
    made = f"(per_device_train_batch_size {per_device} x {steps} x {processes})"
    text = f"{_wrong(generations, batch, made)}. Valid with this batch: {_divisors(batch)}"
    if generations > 1:
        unit = generations // math.gcd(generations, steps * world_size)
        text += (
            f"; or keep {generations} and set per_device_train_batch_size = "
            f"{listed_numbers([unit, 2 * unit, 3 * unit])}"
        )
    return [Problem("train.num_generations", text)]


def _of_batch(per_device: int, generations: int, batch: int, world_size: int) -> list[Problem]:
    each = per_device * world_size
    unit = math.lcm(each, max(generations, 2))
    instead = f"set generation_batch_size = {listed_numbers([unit, 2 * unit, 3 * unit])}"
    problems = []
    if batch % each:
        text = (
            f"expected a multiple of {each} (per_device_train_batch_size {per_device} x "
            f"{world_size} process{'es' if world_size > 1 else ''}), got {batch}; {instead}"
        )
        problems.append(Problem("train.generation_batch_size", text))
    if generations < 2 or batch % generations:
        wrong = _wrong(generations, batch, "(generation_batch_size)")
        text = f"{wrong}. Valid with this batch: {_divisors(batch)}"
        if generations > 1:
            text += f"; or keep {generations} and {instead}"
        problems.append(Problem("train.num_generations", text))
    return problems


def _wrong(generations: int, batch: int, made: str) -> str:
    if generations < 2:
        return f"a group needs at least 2 completions to compare, got {generations}"
    return f"{generations} does not divide the {batch} completions of a batch {made}"


def _divisors(batch: int) -> str:
    return f"num_generations = {listed_numbers([g for g in range(2, batch + 1) if batch % g == 0])}"


def listed_numbers(numbers: Collection[int], limit: int = 12) -> str:
    """Returns the numbers joined by commas, cut after `limit`; "none" when empty."""
    shown = [str(n) for n in list(numbers)[:limit]]
    return ", ".join(shown) + (", …" if len(numbers) > limit else "") if shown else "none"
