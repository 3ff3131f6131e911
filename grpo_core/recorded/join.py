"""Makes one generation of the rows that each process of a run recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from grpo_core.recorded.batch import RecordedBatch
from grpo_core.spread import joined as joined_tables


class TornError(ValueError):
    """The files of a generation do not make it whole."""


def joined(parts: Sequence[RecordedBatch]) -> RecordedBatch:
    """The generation, in the order of ranks, as a single process would have recorded it.

    Args:
        parts: What the processes recorded of it, by rank; those of ranks that a later run with
            fewer processes did not have are left out.

    Raises:
        TornError: Not all that belongs to it is there; it says what.
    """
    first = parts[0]
    world = first.world
    here = [p for p in parts if p.rank < world]
    if missing := sorted(set(range(world)) - {p.rank for p in here}):
        ranks = ", ".join(map(str, missing))
        raise TornError(f"the file of rank {ranks} is missing, of {world} ranks")
    for key in ("world", "size", "group_size", "scale", "aggregate", "counted", "max_steps"):
        found = list(dict.fromkeys(getattr(p, key) for p in here))
        if len(found) > 1:
            raise TornError(f"its ranks have {key} {' and '.join(map(str, found))}")
    if any(p.rewards != first.rewards for p in here):
        raise TornError("its ranks have other rewards")
    n = sum(len(p.completions) for p in here)
    if n % first.group_size:
        raise TornError(f"{n} completions are no whole groups of {first.group_size}")
    if world == 1:
        return first
    ends = np.cumsum([len(p.completions) for p in here]).tolist()
    rows = [range(end - len(p.completions), end) for p, end in zip(here, ends, strict=True)]
    table = joined_tables([p.table for p in here], rows)
    advantages = [p.advantages for p in here if p.advantages is not None]
    return dataclasses.replace(
        first,
        completions=[c for p in here for c in p.completions],
        table=table,
        effective=np.concatenate([p.effective for p in here]),
        totals=np.concatenate([p.totals for p in here]),
        advantages=np.concatenate(advantages) if len(advantages) == world else None,
        size=world * first.size,
        rank=0,
        world=1,
    )
