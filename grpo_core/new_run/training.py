"""The numbers of a run that fit its rows: whole groups, full batches, rows to evaluate on."""

from __future__ import annotations

from dataclasses import dataclass

_GROUP = 8
_BATCHES = 4  # of one group each, in a step
_FEW = 50  # rows, of which none are held out
_LONG = 200  # steps, more than which a first run need not take
_REPLY = 256


@dataclass(frozen=True)
class Training:
    """Numbers of `[train]` and `[eval]`.

    Attributes:
        n_rows: Rows there are.
        fraction: Share of them to hold out, or None.
        n_held: How many that are.
        generations: Completions per prompt.
        per_device: Completions at once.
        accumulation: Times that, in a step.
        epoch_steps: Steps in which each row comes once.
        max_steps: Steps of a first run, or None for whole epochs.
        reply: Most tokens of a completion.
    """

    n_rows: int
    fraction: float | None
    n_held: int
    generations: int
    per_device: int
    accumulation: int
    epoch_steps: int
    max_steps: int | None
    reply: int


def plan_training(n_rows: int, positions: int | None, *, hold_out: bool = True) -> Training:
    """Chooses numbers with which a run is valid and ends soon.

    Args:
        n_rows: Rows of the data, at least 1.
        positions: How many tokens the model takes, or None if that is not known.
        hold_out: Whether rows are held out to evaluate on, if there are enough.
    """
    fraction, held = None, 0
    if hold_out and n_rows >= _FEW:
        fraction = float(f"{min(64, max(8, n_rows // 20)) / n_rows:.2g}")
        held = max(1, round(n_rows * fraction))  # as the loader draws them
    left = n_rows - held
    accumulation = min(_BATCHES, left)  # a group each, so as many prompts
    epoch = left // accumulation
    return Training(
        n_rows=n_rows,
        fraction=fraction,
        n_held=held,
        generations=_GROUP,
        per_device=_GROUP,
        accumulation=accumulation,
        epoch_steps=epoch,
        max_steps=_LONG if 3 * epoch > _LONG else None,
        reply=_REPLY if positions is None else max(1, min(_REPLY, positions // 2)),
    )
