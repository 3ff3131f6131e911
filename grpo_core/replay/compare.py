"""Then and now: what a replay would have changed, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grpo_core.replay.again import Replayed, Side
from grpo_core.replay.shares import parts_of_advantages, shares
from grpo_core.table import FloatArray, ScoreTable

# What counts as a change of an advantage, and as an advantage at all. Where all totals of a group
# are equal up to rounding, smaller ones come and go.
CHANGE = 1e-3
# A value or a total that moves by less stays the same.
_SAME = 1e-6


def compared(replayed: Iterable[Replayed], n_rows: int = 10) -> dict[str, Any]:
    """What is different.

    Args:
        replayed: The batches, one at least.
        n_rows: How many of the rows that changed most to show.
    """
    pairs = list(replayed)
    names = list(dict.fromkeys(n for p in pairs for n in (*p.then.table.names, *p.now.table.names)))
    sizes = [p.batch.group_size for p in pairs]
    then, now = _Rows([p.then for p in pairs], names), _Rows([p.now for p in pairs], names)
    decides = [shares(rows.parts(sizes)) for rows in (then, now)]
    change = np.abs(now.advantages - then.advantages)
    had, has = np.abs(then.advantages) > CHANGE, np.abs(now.advantages) > CHANGE
    flipped = had & has & (np.sign(then.advantages) != np.sign(now.advantages))
    order = [int(i) for i in np.argsort(-change, kind="stable")[:n_rows] if change[i] > CHANGE]
    return {
        "completions": len(change),
        "generations": len(pairs),
        "steps": len({p.batch.step for p in pairs}),
        "groups": sum(len(p.batch.completions) // p.batch.group_size for p in pairs),
        "rewards": {
            name: {
                "mean_then": _mean(then.values[:, k]),
                "mean_now": _mean(now.values[:, k]),
                "changed": _n_different(then.values[:, k], now.values[:, k]),
                "failed_then": int(then.failed[:, k].sum()),
                "failed_now": int(now.failed[:, k].sum()),
                "failed_newly": int((now.failed[:, k] & ~then.failed[:, k]).sum()),
                "decides_then": _number(decides[0][k]) if name in then.counted else None,
                "decides_now": _number(decides[1][k]) if name in now.counted else None,
            }
            for k, name in enumerate(names)
        },
        "total": {
            "mean_then": _mean(then.totals),
            "mean_now": _mean(now.totals),
            "changed": _n_different(then.totals, now.totals),
        },
        "advantage": {
            "changed": int((change > CHANGE).sum()),
            "flipped": int(flipped.sum()),
            "lost": int((had & ~has).sum()),
            "gained": int((has & ~had).sum()),
            "mean_change": float(change.mean()),
            "max_change": float(change.max()),
        },
        "rows": [_row(pairs, then, now, i) for i in order],
    }


class _Rows:
    """All rows of one side; what a batch has no reward for is missing."""

    def __init__(self, sides: Sequence[Side], names: Sequence[str]) -> None:
        self._sides, self._names = sides, names
        self.counted = {n for s in sides for n in s.counted}
        self.totals: FloatArray = np.concatenate([s.totals for s in sides])
        self.advantages: FloatArray = np.concatenate([s.advantages for s in sides])
        self.values: FloatArray = np.concatenate([_placed(s.table, names) for s in sides])
        self.failed: NDArray[np.bool_] = np.concatenate([_failed(s.table, names) for s in sides])

    def parts(self, group_sizes: Sequence[int]) -> FloatArray:
        """What each reward adds to each advantage; 0 of what does not count."""
        found = np.zeros(self.values.shape)
        start = 0
        for side, group_size in zip(self._sides, group_sizes, strict=True):
            made = parts_of_advantages(
                side.effective, side.weights, group_size, side.scale, side.aggregate
            )
            columns = [self._names.index(n) for n in side.counted]
            found[start : start + len(made), columns] = made
            start += len(made)
        return found


def _placed(table: ScoreTable, names: Sequence[str]) -> FloatArray:
    values = np.full((table.n_rows, len(names)), np.nan)
    values[:, [names.index(n) for n in table.names]] = table.values
    return values


def _failed(table: ScoreTable, names: Sequence[str]) -> NDArray[np.bool_]:
    failed = np.zeros((table.n_rows, len(names)), dtype=np.bool_)
    for name, outcomes in zip(table.names, table.outcomes, strict=True):
        failed[:, names.index(name)] = [o.status in ("failed", "timed_out") for o in outcomes]
    return failed


def _n_different(before: FloatArray, after: FloatArray) -> int:
    differ = np.isnan(before) != np.isnan(after)
    differ |= np.abs(np.nan_to_num(after) - np.nan_to_num(before)) > _SAME
    return int(differ.sum())


def _row(pairs: Sequence[Replayed], then: _Rows, now: _Rows, i: int) -> dict[str, Any]:
    at = i
    for pair in pairs:
        if at < len(pair.batch.completions):
            break
        at -= len(pair.batch.completions)
    batch, completion = pair.batch, pair.batch.completions[at]
    return {
        "step": batch.step,
        "part": batch.part,
        "group": at // batch.group_size,
        "index_in_group": at % batch.group_size,
        "prompt": completion.prompt,
        "completion": completion.text,
        "total_then": _number(then.totals[i]),
        "total_now": _number(now.totals[i]),
        "advantage_then": float(then.advantages[i]),
        "advantage_now": float(now.advantages[i]),
        "then": _cells(pair.then.table, at),
        "now": _cells(pair.now.table, at),
    }


def _cells(table: ScoreTable, at: int) -> dict[str, Any]:
    return {
        name: {
            "value": _number(table.values[at, k]),
            "status": table.outcomes[k][at].status,
            "reason": table.outcomes[k][at].reason,
        }
        for k, name in enumerate(table.names)
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean(values: FloatArray) -> float | None:
    present = values[~np.isnan(values)]
    return float(present.mean()) if present.size else None
