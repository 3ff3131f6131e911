"""Why nothing can be learnt: the share of groups that cannot teach, and what to say of it.

A group teaches by the differences between its completions. Where none has any, the loss is 0 and
the run goes on as if all were well; the trainer's own number for it reads "fine" when nothing was
scored at all. So `no_signal` counts such groups and `cause_of_silence` says why, by reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grpo_core.outcome import Outcome, Status
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate, BoolArray, Gate, weighted_total

_ROWS = 3  # rows shown of each reward
_TEXT_LENGTH = 60
# Alike up to rounding: a trainer makes advantages of the last bits too, but they are noise.
_ROUNDING = 1e-6
_EPS = 1e-4  # TRL's; it keeps rewards of another spread from cancelling
# Some end early whatever the limit; where this share is cut off, answers are not reached.
_NEARLY_ALL = 0.9
_VERBS: dict[Status, str] = {
    "skipped": "skipped",
    "failed": "failed on",
    "timed_out": "timed out on",
}


def no_signal(
    effective: FloatArray,
    weights: FloatArray,
    group_size: int,
    aggregate: Aggregate,
    masked: Sequence[bool] | None = None,
) -> float:
    """Share of groups that cannot teach: their completions scored alike, or not at all.

    Args:
        effective: Values as the trainer gets them, shape (B, K); NaN where missing.
        weights: Weights in force, shape (K,).
        group_size: Completions per prompt (G).
        aggregate: How the trainer combines rewards.
        masked: Whether each completion is left out of the loss, as truncated ones are with
            `mask_truncated_completions`; default: none is.
    """
    return float((~_teaches(effective, weights, group_size, aggregate, masked)).mean())


def cause_of_silence(
    table: ScoreTable,
    effective: FloatArray,
    weights: FloatArray,
    group_size: int,
    *,
    closed: BoolArray,
    truncated: Sequence[bool | None],
    texts: Sequence[str],
    gates: Sequence[Gate | None] | None = None,
    columns: Sequence[int] | None = None,
    inputs: Mapping[str, Sequence[str]] | None = None,
    aggregate: Aggregate = "sum_then_normalize",
    mask_truncated: bool = False,
) -> str | None:
    """Says why a batch of training teaches nothing.

    Args:
        table: What every reward made of the batch, B rows; also of those, such as shadows, that
            are no part of the total.
        effective: Values as the trainer gets them, shape (B, K).
        weights: Weights in force, shape (K,).
        group_size: Completions per prompt (G). With 1 nothing is ever learnt, and nothing said.
        closed: The cells of the table that a gate closed.
        truncated: Whether each completion was cut off; None where that is not known.
        texts: The completions, to be shown.
        gates: The gate of each reward of the table, or None.
        columns: Which rewards of the table the K columns are; default: all.
        inputs: Columns of the data that a reward reads, by its name.
        aggregate: How the trainer combines rewards.
        mask_truncated: The trainer leaves truncated completions out of the loss.

    Returns:
        None if a group can teach. Else a text of several lines for the log: the cause, then what
        each reward did, with three rows.
    """
    masked = [mask_truncated and t is True for t in truncated]
    if group_size == 1 or _teaches(effective, weights, group_size, aggregate, masked).any():
        return None
    batch = _Batch(
        table,
        effective,
        weights,
        group_size,
        closed,
        texts,
        gates or [None] * len(table.names),
        range(len(table.names)) if columns is None else columns,
        inputs or {},
    )
    unmasked = _teaches(effective, weights, group_size, aggregate, None)
    cause = _cause_of_all(batch, truncated, bool(unmasked.any()))
    blocks = [batch.about(j) for j in range(len(weights)) if weights[j] or not weights.any()]
    heading = f"nothing can be learnt from this batch of {table.n_rows} completions: "
    if cause is None and len(blocks) == 1:
        return heading + blocks[0]
    return "\n".join([heading + (cause or "no reward tells them apart"), *blocks])


@dataclass(frozen=True)
class _Batch:
    """A batch that teaches nothing; see `cause_of_silence`."""

    table: ScoreTable
    effective: FloatArray
    weights: FloatArray
    group_size: int
    closed: BoolArray
    texts: Sequence[str]
    gates: Sequence[Gate | None]
    columns: Sequence[int]
    inputs: Mapping[str, Sequence[str]]

    def name(self, j: int) -> str:
        """The j-th column's reward."""
        return repr(self.table.names[self.columns[j]])

    def differs(self, j: int, weight: float = 1.0) -> bool:
        """Whether the j-th column by itself differs inside a group."""
        return self._spread_of(self.effective[:, j] * weight)

    def about(self, j: int) -> str:
        """What the j-th column's reward did, with three rows."""
        k = self.columns[j]
        what, rows = self._of_gate(k) or self._without_value(k) or self._without_difference(j, k)
        return "\n".join(
            [f"reward {self.name(j)} {what}", *(self._row(r, k) for r in rows[:_ROWS])]
        )

    def _of_gate(self, k: int) -> tuple[str, Sequence[int]] | None:
        gate = self.gates[k]
        if gate is None or not self._stopped(k).all():
            return None
        needs, reached = [], 0
        for i, threshold in gate.requires.items():
            highest = np.nanmax(self.table.values[:, i], initial=-np.inf)
            reached += bool(highest >= threshold)
            gave = "no value" if highest == -np.inf else f"at most {highest:.6g}"
            needs.append(f"{self.table.names[i]!r} gave {gave}, required is {threshold:g}")
        text = f"has a gate that never opens: {'; '.join(needs)}"
        if reached == len(needs):
            text += ", but not on the same row"
        return text, range(self.table.n_rows)

    def _without_value(self, k: int) -> tuple[str, Sequence[int]] | None:
        outcomes, n = self.table.outcomes[k], self.table.n_rows
        counts = Counter(o.status for o in outcomes)
        if counts["scored"]:
            return None
        did = [
            f"{_VERBS[status]} {'all' if count == n else count} of the {n} rows"
            for status, count in counts.most_common()
        ]
        return f"{' and '.join(did)}: {_commonest(outcomes)}", range(n)

    def _without_difference(self, j: int, k: int) -> tuple[str, Sequence[int]]:
        values, outcomes = self.effective[:, j], self.table.outcomes[k]
        present = np.flatnonzero(~np.isnan(values)).tolist()
        if not present:
            dropped = 'left the baseline with every row: one with missing = "drop" gave no value'
            return dropped, range(self.table.n_rows)
        gave = f"gave {_span(values[present])}"
        if self.differs(j):
            few = "" if self.differs(j, self.weights[j]) else f", its weight is {self.weights[j]:g}"
            return gave + few, present
        missing = [o for o in outcomes if o.status != "scored"]
        scored = np.array([o.status == "scored" for o in outcomes]).reshape(-1, self.group_size)
        if missing and scored.sum(axis=1).max() == 1:
            return f"{gave}, to one row of a group at most: {_commonest(missing)}", present
        varies = np.ptp(values[present]) > _ROUNDING * max(1.0, np.abs(values[present]).max())
        on = f"{len(outcomes) - len(missing)} of the {len(outcomes)}" if missing else "all"
        alike = ", but the same within each group" if varies else f" on {on} rows"
        return gave + alike + self._hint(j, k, varies=bool(varies)), present

    def _hint(self, j: int, k: int, *, varies: bool) -> str:
        """What may be the reason that a reward does not tell completions apart."""
        raw, n = self.table.values[:, k], self.table.n_rows
        if self._spread_of(raw):
            text = f", though its raw values are {_span(raw[~np.isnan(raw)])}"
            if stopped := int(self._stopped(k).sum()):
                return f"{text}: its gate is not open on {stopped} of the {n} rows"
            if dropped := int((np.isnan(self.effective[:, j]) & ~np.isnan(raw)).sum()):
                return f"{text}: {dropped} of the {n} rows left the baseline"
            return f"{text}: see its transform"
        g = self.group_size
        if all(len(set(self.texts[i : i + g])) == 1 for i in range(0, n, g)):
            return ": the completions of each group are the same text; raise the temperature"
        if varies:
            return ": too easy or too hard for the model, or it does not look at the completion"
        if columns := self.inputs.get(self.table.names[k]):
            return f": does it read the right column? It reads {', '.join(map(repr, columns))}"
        return ": are the completions in the form that it expects?"

    def _stopped(self, k: int) -> BoolArray:
        """The rows that a gate took the reward's own value from, closed or missing."""
        gate = self.gates[k]
        asked = self.table.values[:, list(gate.requires) if gate else []]
        return np.asarray(self.closed[:, k] | np.isnan(asked).any(axis=1))

    def _spread_of(self, column: FloatArray) -> bool:
        return bool(_differs(column[:, np.newaxis], self.group_size).any())

    def _row(self, row: int, k: int) -> str:
        outcome, text = self.table.outcomes[k][row], self.texts[row]
        came = outcome.status.replace("_", " ") if outcome.value is None else f"{outcome.value:.6g}"
        if outcome.reason:
            came += f" ({outcome.reason})"
        gate = self.gates[k]
        if gate is not None and self.closed[row, k]:
            asked = [
                f"{self.table.names[i]!r} {self.table.values[row, i]:.6g}" for i in gate.requires
            ]
            came += f", gate closed by {', '.join(asked)}"
        cut = text if len(text) <= _TEXT_LENGTH else text[:_TEXT_LENGTH] + "…"
        return f"  row {row}: {came}, {cut!r}"


def _cause_of_all(batch: _Batch, truncated: Sequence[bool | None], only_masked: bool) -> str | None:
    """The cause if it lies in no single reward."""
    if not batch.weights.any():
        return "every weight in force is 0"
    n, n_cut = len(truncated), sum(t is True for t in truncated)
    if n_cut >= _NEARLY_ALL * n:
        which = "every completion was" if n_cut == n else f"{n_cut} of the {n} completions were"
        return f"{which} cut off; raise max_completion_length"
    if only_masked:
        return (
            "the groups that differ were cut off, and mask_truncated_completions leaves them out; "
            "raise max_completion_length"
        )
    differ = [j for j, weight in enumerate(batch.weights) if batch.differs(j, weight)]
    if len(differ) > 1:
        names = " and ".join(map(batch.name, differ))
        return f"rewards {names} cancel: each differs within groups, their weighted sum does not"
    if differ:
        return f"the differences of reward {batch.name(differ[0])} vanish beside larger totals"
    return None


def _teaches(
    effective: FloatArray,
    weights: FloatArray,
    group_size: int,
    aggregate: Aggregate,
    masked: Sequence[bool] | None,
) -> BoolArray:
    """Whether each group has a difference that is trained on, shape (P,)."""
    if aggregate == "normalize_then_sum":
        effective = _normalised(effective, group_size)
    teaches = _differs(weighted_total(effective, weights)[:, np.newaxis], group_size)[:, 0]
    if masked is not None:
        teaches &= ~np.reshape(masked, (-1, group_size)).all(axis=1)
    return teaches


def _normalised(values: FloatArray, group_size: int) -> FloatArray:
    """Each reward scaled within its group; 0 where a group has no difference, NaN where missing."""
    grouped = values.reshape(-1, group_size, values.shape[1])
    absent = np.isnan(grouped)
    n = np.maximum((~absent).sum(axis=1, keepdims=True), 1)
    centred = np.where(absent, 0.0, grouped)
    centred = np.where(absent, 0.0, centred - centred.sum(axis=1, keepdims=True) / n)
    std = np.sqrt(np.square(centred).sum(axis=1, keepdims=True) / np.maximum(n - 1, 1))
    differs = _differs(values, group_size)[:, np.newaxis]
    scaled = np.where(differs, centred, 0.0) / (std + _EPS)
    return np.where(absent, np.nan, scaled).reshape(values.shape)


def _differs(values: FloatArray, group_size: int) -> BoolArray:
    """Whether each reward differs within each group, by more than rounding, shape (P, K)."""
    grouped = values.reshape(-1, group_size, values.shape[1])
    absent = np.isnan(grouped)
    low = np.where(absent, np.inf, grouped).min(axis=1)
    high = np.where(absent, -np.inf, grouped).max(axis=1)
    scale = np.maximum(1.0, np.where(absent, 0.0, np.abs(grouped)).max(axis=1))
    return np.asarray(high - low > _ROUNDING * scale)


def _span(values: FloatArray) -> str:
    low, high = f"{values.min():.6g}", f"{values.max():.6g}"
    return low if low == high else f"{low} to {high}"


def _commonest(outcomes: Sequence[Outcome]) -> str:
    """The reason that most outcomes have."""
    [(reason, _)] = Counter(o.reason or "it returned None" for o in outcomes).most_common(1)
    return reason
