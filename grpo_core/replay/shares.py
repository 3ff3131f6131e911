"""Which reward decides: the share of the advantage's variance that is each reward's."""

from __future__ import annotations

import numpy as np

from grpo_core.recorded.batch import Scale
from grpo_core.table import FloatArray
from grpo_core.totals import Aggregate

_EPS = 1e-4  # TRL's


def parts_of_advantages(
    effective: FloatArray,
    weights: FloatArray,
    group_size: int,
    scale: Scale,
    aggregate: Aggregate,
) -> FloatArray:
    """What each reward adds to each advantage, shape (B, N); a row's sum is its advantage.

    An advantage is linear in the rewards' values once its divisor is known. A missing cell adds
    nothing.

    Args:
        effective: Values as the trainer is handed them, shape (B, N); NaN where missing.
        weights: Weights in force, shape (N,).
        group_size: Completions per prompt (G); divides B.
        scale: What advantages are divided by.
        aggregate: How rewards are combined.
    """
    n_rows, n_rewards = effective.shape
    unscored = np.isnan(effective).all(axis=1)
    grouped = effective.reshape(-1, group_size, n_rewards)
    with np.errstate(all="ignore"):
        if aggregate == "normalize_then_sum":
            parts = (grouped - _mean(grouped, 1)) / (_std(grouped, 1) + _EPS)
            parts = np.nan_to_num(parts).reshape(n_rows, n_rewards) * weights
            parts[unscored] = np.nan
            totals = np.where(unscored, np.nan, parts.sum(axis=1))
            parts = (parts - _mean(parts, 0)) / (_std(totals, 0) + _EPS)
        else:
            parts = np.where(np.isnan(grouped), 0.0, grouped) * weights
            parts[unscored.reshape(-1, group_size)] = np.nan
            totals = np.where(
                unscored, np.nan, np.nan_to_num(parts).reshape(n_rows, -1).sum(axis=1)
            )
            parts = parts - _mean(parts, 1)
            if scale == "group":
                parts = parts / (_std(totals.reshape(-1, group_size, 1), 1) + _EPS)
            elif scale == "batch":
                parts = parts / (_std(totals, 0) + _EPS)
    made: FloatArray = np.nan_to_num(parts).reshape(n_rows, n_rewards)
    return made


def shares(parts: FloatArray) -> FloatArray:
    """Share of the advantages' variance by reward, shape (N,); they add up to 1.

    A reward's share is the covariance of its part with the advantage over the variance of the
    advantage. It is negative where the reward mostly pulls against the others. NaN where all
    advantages are 0.
    """
    advantages = parts.sum(axis=1, keepdims=True)
    power = float((advantages**2).sum())
    if power == 0.0:
        return np.full(parts.shape[1], np.nan)
    found: FloatArray = (parts * advantages).sum(axis=0) / power
    return found


def _mean(x: FloatArray, axis: int) -> FloatArray:
    present = ~np.isnan(x)
    found: FloatArray = np.where(present, x, 0.0).sum(axis=axis, keepdims=True) / present.sum(
        axis=axis, keepdims=True
    )
    return found


def _std(x: FloatArray, axis: int) -> FloatArray:
    """Sample std over what is present; NaN for one or none."""
    n = (~np.isnan(x)).sum(axis=axis, keepdims=True)
    squares = np.where(np.isnan(x), 0.0, (x - _mean(x, axis)) ** 2).sum(axis=axis, keepdims=True)
    found: FloatArray = np.sqrt(squares / np.where(n > 1, n - 1, np.nan))
    return found
