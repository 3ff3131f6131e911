"""Group-relative advantages: the numbers TRL's GRPOTrainer computes, as one pure function.

Shapes: P prompts, G completions per prompt, B = P * G rows, K rewards. The G rows of a group are
neighbours. Let r be a row's weighted total. Over the rows that have one:

    scale="group"  (r - mean of the group) / (std of the group + 1e-4)   DeepSeekMath, 2402.03300
    scale="batch"  (r - mean of the group) / (std of the batch + 1e-4)   PPO Lite, 2508.08221
    scale="none"    r - mean of the group                                Dr. GRPO, 2503.20783

`aggregate="normalize_then_sum"` (GDPO, 2601.05242) scales each reward within its group as
scale="group" does, adds the results up with the weights and scales the sums over the batch. Std is
the sample std (divisor n - 1); 1e-4 is TRL's. The numbers are arXiv ids.

**Why float32.** TRL computes in float32, and 1e-4 is so small that rounding shows: in a group whose
totals are all 0.7 and G = 8 the rounded mean misses 0.7 by 6e-8, which becomes an advantage of 6e-4
instead of 0. With `normalize_then_sum` and a batch in which no group differs in any reward, such
noise is scaled once more and reaches size 1. A recorded advantage should be the one that was
trained on, so the steps here are TRL's, in float32, and sums add in the order of torch's CPU kernel
(`aten/src/ATen/native/cpu/SumKernel.cpp`, torch 2.13). On x86 this agrees to 1e-6, up to about
32,000 values a sum, where torch begins to share a sum among threads.

**What cannot agree to 1e-5.** A GPU, and a CPU with another vector width, add in another order:
groups that are constant up to rounding get other noise of the same size (about 1e-3 times the
total, up to size 1 in the GDPO case above). Scaled groups whose std is above a twentieth of their
largest total agreed in every order tried, on a CPU with G up to 64. And torch's square root may
miss the last bit: with `normalize_then_sum` it shows, by up to 3e-3, where the weighted sums cancel
in the whole batch, as for two rewards x and 1 - x of equal weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grpo_core.errors import ConfigError, Problem
from grpo_core.table import FloatArray

_Float32Array = NDArray[np.float32]
_Sum = Callable[[_Float32Array], _Float32Array]  # over the first axis

_EPS = np.float32(1e-4)  # TRL's, in GRPOTrainer._generate_and_score_completions
_LANES = 8  # float32 numbers in a vector of torch's sum kernel on x86, with AVX2 and with AVX512
_CHAINS = 4  # partial sums the kernel keeps side by side (its ilp_factor)
_SCALES = ("group", "batch", "none")
_AGGREGATES = ("sum_then_normalize", "normalize_then_sum")


def group_relative_advantages(
    values: FloatArray,
    weights: FloatArray,
    group_size: int,
    scale: Literal["group", "batch", "none"] = "group",
    aggregate: Literal["sum_then_normalize", "normalize_then_sum"] = "sum_then_normalize",
) -> FloatArray:
    """TRL's advantage of each completion over the others of its group.

    Deterministic. Nothing is filled: `grpo_core.totals.effective_values` comes before.

    Args:
        values: Effective values, shape (B, K), finite in float32; NaN where missing. A row without
            any value gets advantage 0 and enters no mean and no std.
        weights: One per reward, shape (K,), finite in float32, of any sign.
        group_size: Completions per prompt (G); must divide B. With 1 (evaluation) all are 0.
        scale: What the difference to the group's mean is divided by; see the module. Without
            effect for `"normalize_then_sum"`, as in TRL.
        aggregate: Whether rewards are added before or after they are normalized.

    Returns:
        Advantages, shape (B,), never NaN. Positive is better than the mean of the group (of the
        batch, for `"normalize_then_sum"`). A row that alone was scored in its group gets 0 (its
        rewards all normalize to 0, for `"normalize_then_sum"`).

    Raises:
        ConfigError: Wrong shape, infinite or too large number, unknown scale or aggregate.
    """
    values = np.asarray(values, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    problems = _problems(values, weights, group_size, scale, aggregate)
    if problems:
        raise ConfigError(problems)
    with np.errstate(all="ignore"):  # NaN is data here; overflow ends in 0 or the largest float32
        cells = values.astype(np.float32)
        weights32 = weights.astype(np.float32)
        unscored: NDArray[np.bool_] = np.asarray(np.isnan(cells).all(axis=1))
        if aggregate == "normalize_then_sum":
            by_rank = cells.reshape(-1, group_size, cells.shape[1]).swapaxes(0, 1)
            std = _std(by_rank, _sum_columns)
            scaled = (by_rank - _mean(by_rank, _sum_columns)) / (std + _EPS)
            totals = _totals(scaled.swapaxes(0, 1).reshape(cells.shape) * weights32, unscored)
            advantages = (totals - _mean(totals, _sum_vector)) / (_std(totals, _sum_vector) + _EPS)
        else:
            totals = _totals(cells * weights32, unscored)
            grouped = totals.reshape(-1, group_size).T
            advantages = (grouped - _mean(grouped, _sum_vector)).T.reshape(-1)
            if scale == "group":
                advantages /= np.repeat(_std(grouped, _sum_vector), group_size) + _EPS
            elif scale == "batch":
                advantages /= _std(totals, _sum_vector) + _EPS
    return np.nan_to_num(advantages, nan=0.0).astype(np.float64)


def _totals(products: _Float32Array, unscored: NDArray[np.bool_]) -> _Float32Array:
    """Sum of each row's products, shape (B,); NaN where the row was not scored."""
    totals = _sum_vector(np.where(np.isnan(products), np.float32(0), products).T)
    totals[unscored] = np.nan
    return totals


def _mean(x: _Float32Array, total: _Sum) -> _Float32Array:
    """Mean of the values that are not NaN, over the first axis (`torch.nanmean`)."""
    absent = np.isnan(x)
    counts: _Float32Array = (~absent).sum(axis=0).astype(np.float32)
    return total(np.where(absent, np.float32(0), x)) / counts


def _std(x: _Float32Array, total: _Sum) -> _Float32Array:
    """Sample std of the values that are not NaN, NaN for one or none (TRL's `nanstd`).

    TRL sets 0 for groups of one; NaN leads to the same advantage, 0.
    """
    counts = (~np.isnan(x)).sum(axis=0).astype(np.float32)
    variance = _mean(np.square(x - _mean(x, total)), total)
    correction = np.where(counts > 1, counts / (counts - np.float32(1)), np.float32(np.nan))
    std: _Float32Array = np.sqrt(variance * correction)
    return std


def _sum_vector(x: _Float32Array) -> _Float32Array:
    """Sum over the first axis as torch adds numbers that lie next to each other."""
    n = len(x) // _LANES
    if n == 0:
        return _sum_chains(x)
    lanes = _sum_chains(x[: n * _LANES].reshape(n, _LANES, *x.shape[1:]))
    return _sum_in_order([*x[n * _LANES :], *lanes])


def _sum_columns(x: _Float32Array) -> _Float32Array:
    """Sum over the first axis of (G, P, K) as torch does when the K numbers lie together."""
    k = x.shape[-1]
    if k == 1:
        return _sum_vector(x)
    width = _CHAINS if k < _LANES else _CHAINS * _LANES  # columns the kernel takes at once
    n = k // width * width
    return np.concatenate([_sum_cascade(x[..., :n]), _sum_chains(x[..., n:])], axis=-1)


def _sum_chains(x: _Float32Array) -> _Float32Array:
    """Sum in four interleaved chains; what is left over goes to the first (`row_sum`)."""
    n = len(x) // _CHAINS
    first, *others = _sum_cascade(x[: n * _CHAINS].reshape(n, _CHAINS, *x.shape[1:]))
    return _sum_in_order([first, *x[n * _CHAINS :], *others])


def _sum_cascade(x: _Float32Array) -> _Float32Array:
    """Sum in order, with blocks of blocks of at least 16 numbers summed apart (`multi_row_sum`)."""
    power = max(4, (len(x) - 1).bit_length() // 4)
    step = 1 << power
    levels = np.zeros((4, *x.shape[1:]), np.float32)
    for block in range(len(x) // step):
        levels[0] = _sum_in_order([levels[0], *x[block * step : (block + 1) * step]])
        for level in (1, 2, 3):
            levels[level] += levels[level - 1]
            levels[level - 1] = 0
            if (block + 1) * step & (step - 1) << level * power:
                break
    levels[0] = _sum_in_order([levels[0], *x[len(x) // step * step :]])
    return _sum_in_order(list(levels))


def _sum_in_order(terms: list[_Float32Array]) -> _Float32Array:
    total = np.zeros_like(terms[0])
    for term in terms:
        total = total + term
    return total


def _problems(
    values: FloatArray, weights: FloatArray, group_size: int, scale: str, aggregate: str
) -> list[Problem]:
    where = "group_relative_advantages"
    if values.ndim != 2 or values.shape[1] == 0:
        expected = "expected shape (B, K): a row per completion, a column per reward, K at least 1"
        return [Problem(f"{where}.values", f"{expected}; got {values.shape}")]
    n_rows, n_rewards = values.shape
    limit = float(np.finfo(np.float32).max)  # larger numbers become inf on TRL's side
    found = {}
    for row, column in np.argwhere(np.abs(values) > limit)[:1]:
        found[f"values[{row}, {column}]"] = (
            f"expected NaN for missing or a number within {limit:.1e}, "
            f"got {values[row, column]}; clip the reward or return None"
        )
    if weights.shape != (n_rewards,) or not (np.abs(weights) <= limit).all():
        found["weights"] = (
            f"expected shape ({n_rewards},), one finite number per column of values, "
            f"got {weights.tolist()}; use 0 to switch a reward off"
        )
    if group_size < 1 or n_rows % group_size:
        found["group_size"] = (
            f"expected a divisor of the {n_rows} rows of values, got {group_size!r}; "
            "pass whole groups of neighbouring rows"
        )
    if scale not in _SCALES:
        found["scale"] = f"expected 'group', 'batch' or 'none', got {scale!r}"
    if aggregate not in _AGGREGATES:
        found["aggregate"] = f"expected one of {', '.join(_AGGREGATES)}, got {aggregate!r}"
    return [Problem(f"{where}.{name}", message) for name, message in found.items()]
