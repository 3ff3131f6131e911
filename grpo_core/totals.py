"""From raw cells to what the trainer is handed: raw -> transform -> gate -> fill -> weight.

Shapes: P prompts, G completions per prompt, B = P * G rows, K rewards. The G rows of a group are
neighbours. NaN is the only mark of a missing cell. Every function is pure: it copies, computes in
float64 and leaves its arguments alone.

    values = transformed(raw, transforms, ranges)              all rewards that were scored
    values, closed = gated(values, raw, gates)
    columns = [...]                                            without shadows
    effective = effective_values(values[:, columns], weights[columns], ...)
    totals = weighted_total(effective, weights[columns])

A gate may look at a reward that is no part of the total, so columns are left out after the gates.
And gates look at raw values: a threshold is in the unit that the gating reward documents, it is
what another reward that reads this one sees, and it must not move when somebody rescales the
gating reward for the total. So a gate never depends on a transform or on another gate.

The fill passes these steps in this order; a later step sees what the earlier ones left:

1. `missing="zero"`: the missing cell becomes 0.0 and is a score from here on.
2. Rows leave the baseline: a row with a missing cell of a `"drop"` reward, and a row that nothing
   scored. They become NaN in every column, get advantage 0 and enter no mean and no std.
3. `missing="neutral"`: cells still missing take the mean of their reward over the rows of the
   group that are left (with `normalize_then_sum` they stay NaN).

Rows leave before the fill because the fill has to be neutral: group mean and fill mean must be
taken over the same rows, or the filled cell would lie above or below the baseline it is compared
with. Zeros come first because "missing counts as 0" is a score; otherwise the setting would do
nothing for a reward that stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from grpo_core.errors import ConfigError, Problem
from grpo_core.table import FloatArray

Missing = Literal["neutral", "zero", "drop"]
Aggregate = Literal["sum_then_normalize", "normalize_then_sum"]
Range = tuple[float, float]
BoolArray = NDArray[np.bool_]

# Untagged functions count as ranging over all float32 numbers, which no scale can map.
_UNBOUNDED = 3.4e38
# 0.7 + 0.1 is 0.7999999999999999, which must not close a gate at 0.8.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Transform:
    """What is done to a reward's values before anything else.

    Attributes:
        clip: Lowest and highest value; what lies outside is moved to the nearer one.
        rescale: What the ends of the reward's range are mapped to, linearly, after the clip. The
            range is then the part of the declared one that the clip leaves.
    """

    clip: Range | None = None
    rescale: Range | None = None

    def range_after(self, declared: Range) -> Range:
        """Lowest and highest value after the transform."""
        return self.rescale or self.range_clipped(declared)

    def range_clipped(self, declared: Range) -> Range:
        """Lowest and highest value after the clip."""
        if self.clip is None:
            return declared
        low, high = np.clip(declared, *self.clip).tolist()
        return low, high


@dataclass(frozen=True)
class Gate:
    """What other rewards have to give before a reward counts.

    Attributes:
        requires: Lowest raw value of each gating reward that leaves the gate open, by its index.
        otherwise: The cell's value where the gate is closed, after the transform.
    """

    requires: Mapping[int, float]
    otherwise: float = 0.0


class Gated(NamedTuple):
    """Values after the gates.

    Attributes:
        values: Shape (B, K).
        closed: The cells that a gate gave its `otherwise`, shape (B, K).
    """

    values: FloatArray
    closed: BoolArray


def transform_problems(transform: Transform, declared: Range, where: str) -> list[Problem]:
    """Finds what is wrong with a transform.

    Args:
        transform: The transform.
        declared: The range the reward declares.
        where: Dotted path, such as `rewards.brief.transform`.
    """
    problems = [
        Problem(
            f"{where}.{name}",
            f"expected two finite numbers, the lower first, got {list(given)!r}"
            + ("; to turn a reward around give it a negative weight" if name == "rescale" else ""),
        )
        for name, given in (("clip", transform.clip), ("rescale", transform.rescale))
        if given is not None and not (np.isfinite(given).all() and given[0] < given[1])
    ]
    if problems:
        return problems
    low, high = transform.range_clipped(declared)
    if low == high:
        return [
            Problem(
                f"{where}.clip",
                f"every value becomes {low:g}, since the reward's range is {list(declared)}; "
                "expected a clip that overlaps it",
            )
        ]
    if transform.rescale is not None and high - low >= _UNBOUNDED:
        return [
            Problem(
                f"{where}.rescale",
                "the reward declares no range that could be mapped; add clip = [low, high], or "
                "declare one with @reward(range=...)",
            )
        ]
    return []


def transformed(
    values: FloatArray, transforms: Sequence[Transform | None], ranges: Sequence[Range]
) -> FloatArray:
    """Values after the transforms: each is clipped, then rescaled.

    Args:
        values: Raw values, shape (B, K); NaN where missing, and NaN stays NaN.
        transforms: One per reward; None leaves its values alone.
        ranges: The range that each reward declares.

    Returns:
        A new array, shape (B, K). A value that left its range by rounding is mapped as its end.

    Raises:
        ConfigError: A transform that `transform_problems` objects to.
    """
    out = np.array(values, dtype=np.float64)
    problems = _number_problems("transformed.transforms", "transform", out, transforms)
    problems += _number_problems("transformed.ranges", "range", out, ranges)
    if problems:
        raise ConfigError(problems)
    for k, (transform, declared) in enumerate(zip(transforms, ranges, strict=True)):
        if transform is None:
            continue
        problems += transform_problems(transform, declared, f"transformed.transforms[{k}]")
        if problems:
            continue
        if transform.clip is not None:
            out[:, k] = np.clip(out[:, k], *transform.clip)
        if transform.rescale is not None:
            out[:, k] = np.interp(out[:, k], transform.range_clipped(declared), transform.rescale)
    if problems:
        raise ConfigError(problems)
    return out


def gated(values: FloatArray, raw: FloatArray, gates: Sequence[Gate | None]) -> Gated:
    """Values after the gates.

    Where one of the required values lies below its threshold the gate is closed and the cell is
    `otherwise`, whatever else is missing: also the cell itself, which need not have been scored.
    Else, where a required value is missing, the cell is missing. Else it keeps its value.

    A value that misses a threshold by rounding (1e-9 of it) does not lie below it.

    Args:
        values: Values after the transforms, shape (B, K), NaN where missing.
        raw: What the rewards gave, shape (B, K); the thresholds are compared with it.
        gates: One per reward; None has no gate.

    Raises:
        ConfigError: A threshold or `otherwise` that is not finite, or no reward at an index.
    """
    raw = np.asarray(raw, dtype=np.float64)
    out = np.array(values, dtype=np.float64)
    problems = _number_problems("gated.gates", "gate", out, gates)
    for k, gate in enumerate(gates):
        if gate is not None and not (
            np.isfinite([gate.otherwise, *gate.requires.values()]).all()
            and all(0 <= j < raw.shape[1] for j in gate.requires)
        ):
            expected = f"expected finite numbers and indices below {raw.shape[1]}"
            problems.append(Problem(f"gated.gates[{k}]", f"{expected}, got {gate}"))
    if problems:
        raise ConfigError(problems)

    closed = np.zeros(out.shape, dtype=np.bool_)
    for k, gate in enumerate(gates):
        if gate is None:
            continue
        asked = raw[:, list(gate.requires)]
        lowest = np.array(list(gate.requires.values()), dtype=np.float64)
        closed[:, k] = (asked < lowest - _ROUNDING * np.abs(lowest)).any(axis=1)
        out[np.isnan(asked).any(axis=1), k] = np.nan
        out[closed[:, k], k] = gate.otherwise
    return Gated(out, closed)


def effective_values(
    values: FloatArray,
    weights: FloatArray,
    missing: Sequence[Missing],
    group_size: int,
    aggregate: Aggregate,
) -> FloatArray:
    """Values as the trainer gets them: missing cells filled, rows without a say blanked.

    A present cell is never changed, except that a row outside the baseline is NaN throughout. A
    table without missing cells comes back equal bit for bit.

    The neutral fill keeps the group's mean, not its std, which then covers the filled cells too.
    One reward alone that gives 1, 0, -, - leaves rows 3 and 4 unscored, and the std is that of two
    rows. Beside a second reward that gives 1 to all four, the same cells are filled with 0.5: the
    totals are 2, 1, 1.5, 1.5 and the std is that of four rows, so rows 1 and 2 move further.

    Args:
        values: Raw values after transforms and gates, shape (B, K), any finite number; NaN where
            the reward gave none.
        weights: Weights in force, shape (K,), finite, of any sign. They decide which rewards can
            score a row and are not multiplied in. With every weight 0 (schedules that all begin
            at 0) all rewards can: the totals are 0 and teach nothing, but no row is called
            unscored for a reason that has nothing to do with it.
        missing: What a missing cell becomes, one policy per reward. `"drop"` acts at any weight,
            also at 0.
        group_size: Completions per prompt (G); must divide B.
        aggregate: How the trainer combines rewards. `"normalize_then_sum"` treats NaN as neutral
            by itself, on the normalized scale; a fill on the raw scale could turn signs around.

    Returns:
        A new array, shape (B, K). NaN is left in a row that a `"drop"` reward dropped; in a row
        that no reward with a weight other than 0 scored; in neutral cells of a group that has no
        value for the reward; in neutral cells under `"normalize_then_sum"`.

    Raises:
        ConfigError: Wrong shape, infinite value, weight that is not finite, or unknown policy.
    """
    where = "effective_values"
    out = np.array(values, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    problems = _table_problems(where, out, weights)
    if not problems and (group_size < 1 or len(out) % group_size):
        problems.append(
            Problem(
                f"{where}.group_size",
                f"expected a divisor of the {len(out)} rows of values, got {group_size!r}; "
                "pass whole groups of neighbouring rows",
            )
        )
    if not problems:
        problems += _number_problems(f"{where}.missing", "policy", out, missing)
    problems += [
        Problem(f"{where}.missing", f"expected {_one_of(Missing)}, got {policy!r}")
        for policy in missing
        if policy not in get_args(Missing)
    ]
    if aggregate not in get_args(Aggregate):
        problems.append(
            Problem(f"{where}.aggregate", f"expected {_one_of(Aggregate)}, got {aggregate!r}")
        )
    if problems:
        raise ConfigError(problems)

    policies = np.array(missing)
    out[np.isnan(out) & (policies == "zero")] = 0.0
    absent = np.isnan(out)
    counts = (weights != 0.0) if weights.any() else np.ones(len(weights), dtype=np.bool_)
    outside = (absent & (policies == "drop")).any(axis=1) | absent[:, counts].all(axis=1)
    out[outside] = np.nan
    if aggregate == "sum_then_normalize":
        fill = np.repeat(_group_means(out, group_size), group_size, axis=0)
        cells = absent & ~outside[:, np.newaxis]  # of "neutral" rewards only: zeros are in already
        out[cells] = fill[cells]
    return out


def weighted_total(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sum of each row's present cells.

    Args:
        values: Shape (B, K), any finite number; NaN where the reward gave none.
        weights: Shape (K,), finite, of any sign.

    Returns:
        Totals, shape (B,), in the unit of the rewards; NaN where a row has no present cell. A row
        that only rewards of weight 0 scored has total 0; `effective_values` makes it NaN before.

    Raises:
        ConfigError: Wrong shape, infinite value, or weight that is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    problems = _table_problems("weighted_total", values, weights)
    if problems:
        raise ConfigError(problems)

    absent = np.isnan(values)
    totals: FloatArray = np.where(absent, 0.0, values * weights).sum(axis=1)
    totals[absent.all(axis=1)] = np.nan
    return totals


def _group_means(values: FloatArray, group_size: int) -> FloatArray:
    """Mean of the present cells, shape (P, K); NaN where a group has none for a reward."""
    grouped = values.reshape(-1, group_size, values.shape[1])
    present = ~np.isnan(grouped)
    n_present = present.sum(axis=1)
    sums = np.where(present, grouped, 0.0).sum(axis=1)
    # A rounded mean can leave the range of its terms; equal cells must be filled with that value,
    # or a group without a difference would get one.
    low = np.where(present, grouped, np.inf).min(axis=1)
    high = np.where(present, grouped, -np.inf).max(axis=1)
    means: FloatArray = np.clip(sums / np.maximum(n_present, 1), low, high)
    means[n_present == 0] = np.nan
    return means


def _table_problems(where: str, values: FloatArray, weights: NDArray[np.float64]) -> list[Problem]:
    if values.ndim != 2 or values.shape[1] == 0:
        expected = "expected shape (B, K): a row per completion, a column per reward, K at least 1"
        return [Problem(f"{where}.values", f"{expected}; got {values.shape}")]
    problems = []
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        problems.append(
            Problem(
                f"{where}.values[{row}, {column}]",
                f"expected a finite number or NaN for missing, got {values[row, column]}; "
                "clip the reward or return None",
            )
        )
    if weights.shape != values.shape[1:]:
        expected = f"expected shape ({values.shape[1]},), one weight per column of values"
        problems.append(Problem(f"{where}.weights", f"{expected}; got {weights.shape}"))
    elif not np.isfinite(weights).all():
        problems.append(
            Problem(
                f"{where}.weights",
                f"expected finite numbers, got {weights.tolist()}; use 0 to switch a reward off",
            )
        )
    return problems


def _number_problems(
    where: str, what: str, values: FloatArray, given: Sequence[object]
) -> list[Problem]:
    n = values.shape[1]
    if len(given) == n:
        return []
    return [Problem(where, f"expected one {what} for each of the {n} rewards, got {given!r}")]


def _one_of(literal: object) -> str:
    return " or ".join(repr(choice) for choice in get_args(literal))
