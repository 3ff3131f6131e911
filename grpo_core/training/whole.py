"""`score_whole`: the scores of a whole batch, also where it lies on several processes.

Every process scores its own rows; where groups are split and a reward sees groups, every process
scores whole ones. Then all get all scores, so that whatever is made of them, gates and fills and
the budget of failures, comes out the same everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from grpo_core.completion import Completion
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.sections import Mode
from grpo_core.spread import Spread, joined
from grpo_core.table import ScoreTable
from grpo_core.training.ranks import Ranks

# Characters of a completion that other processes get to see, to name it in a warning.
_SHOWN = 100
# What TRL passes on that stays in its process.
_LOCAL = ("trainer_state", "log_metric")


@dataclass(frozen=True)
class Rows:
    """Some rows of a batch, before they are scored.

    Attributes:
        completions: As rewards see them.
        trl: As TRL has them.
    """

    completions: Sequence[Completion]
    trl: TrlBatch


@dataclass(frozen=True)
class WholeBatch:
    """A batch that was scored, B rows.

    Attributes:
        completions: Those of this process.
        own: Which rows of the batch they are.
        table: The scores of all B rows.
        truncated: Whether each of the B completions was cut off.
        texts: The B completions; of another process's, as much as is shown.
    """

    completions: Sequence[Completion]
    own: range
    table: ScoreTable
    truncated: Sequence[bool | None]
    texts: Sequence[str]


@dataclass(frozen=True)
class _Scores:
    """What a process tells of the rows that it holds, and of those that it scored."""

    table: ScoreTable
    truncated: list[bool | None]
    texts: list[str]
    logged: dict[str, list[Any]] = field(default_factory=dict)


class _Attempt:
    """Keeps the first error, until all processes can hear of it."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        try:
            yield
        except BaseException as exc:
            self.error = exc


def score_whole(
    ranks: Ranks,
    composite: CompositeReward,
    make: Callable[[], Rows],
    n_rows: int,
    group_size: int,
    mode: Mode,
) -> WholeBatch:
    """Scores a batch.

    Args:
        ranks: The processes.
        composite: The rewards, the same in all of them.
        make: Makes the rows of this process.
        n_rows: How many these are.
        group_size: Completions per prompt (G), neighbours in the whole batch.
        mode: The mode to score in.

    Raises:
        GrpoError: Something is wrong in one of the processes; the same in all.
    """
    if ranks.alone:
        rows = make()
        table = composite.measured(rows.completions, rows.trl, group_size=group_size, mode=mode)
        return WholeBatch(
            rows.completions,
            range(n_rows),
            table,
            [c.truncated for c in rows.completions],
            [c.text for c in rows.completions],
        )
    spread = Spread(n_rows, group_size, ranks.world)
    regroups = spread.splits_groups and composite.sees_groups(mode)
    attempt = _Attempt()
    own = given = Rows((), TrlBatch((), (), ()))
    logged: dict[str, list[Any]] = {}
    with attempt():
        own = given = make()
    if regroups:
        given = _whole_groups(ranks, spread, composite, own, attempt.error, logged)
    scores: _Scores | None = None
    if attempt.error is None:
        with attempt(), ranks.raising_stops():
            table = composite.measured(
                given.completions,
                given.trl,
                group_size=group_size if regroups or not spread.splits_groups else None,
                mode=mode,
            )
            texts = [_shown(c.text) for c in own.completions]
            truncated = [c.truncated for c in own.completions]
            scores = _Scores(table, truncated, texts, logged)
    # One without scores has an error, which is raised in all.
    parts = [
        part
        for part in ranks.exchange("exchange of scores", scores, attempt.error)
        if part is not None
    ]
    counts = [len(part.truncated) for part in parts]
    if len(set(counts)) > 1:
        raise ConfigError(f"the processes hold {counts} completions of a batch, expected as many")
    scored_by = [
        spread.whole_groups_of(rank) if regroups else spread.held_by(rank)
        for rank in range(ranks.world)
    ]
    held = spread.held_by(ranks.rank)
    if regroups:
        _hand_back(own.trl, [part.logged for part in parts], scored_by, held)
    return WholeBatch(
        own.completions,
        held,
        joined([part.table for part in parts], scored_by),
        [cut for part in parts for cut in part.truncated],
        [text for part in parts for text in part.texts],
    )


def _whole_groups(
    ranks: Ranks,
    spread: Spread,
    composite: CompositeReward,
    own: Rows,
    error: BaseException | None,
    logged: dict[str, list[Any]],
) -> Rows:
    """The groups that are this process's to score, put together from all processes."""
    if error is None and "environments" in own.trl.arguments and composite.reads("environments"):
        error = ConfigError(
            "a reward takes environments, which stay in their process, and another sees whole "
            "groups, which lie on several; let per_device_train_batch_size * steps_per_generation "
            f"be a multiple of the {spread.group_size} completions of a group"
        )
    trl = own.trl
    ids = trl.arguments.get("completion_ids")
    sent = (own.completions, trl.prompts, trl.completions, trl.rows, ids)
    parts = ranks.exchange("exchange of rows", sent, error)
    mine = spread.whole_groups_of(ranks.rank)

    def of_groups(columns: Sequence[Sequence[Any]]) -> list[Any]:
        whole = [value for column in columns for value in column]
        return [whole[row] for row in mine]

    completions, prompts, replies, rows, token_ids = zip(*parts, strict=True)
    arguments: dict[str, Any] = {k: trl.arguments[k] for k in _LOCAL if k in trl.arguments}
    if ids is not None:
        arguments["completion_ids"] = of_groups(token_ids)
    if "log_extra" in trl.arguments:

        def log_extra(column: str, values: Sequence[Any]) -> None:
            logged.setdefault(column, []).extend(values)

        arguments["log_extra"] = log_extra
    return Rows(
        of_groups(completions),
        TrlBatch(of_groups(prompts), of_groups(replies), of_groups(rows), arguments),
    )


def _hand_back(
    trl: TrlBatch,
    logged: Sequence[Mapping[str, list[Any]]],
    scored_by: Sequence[Sequence[int]],
    held: range,
) -> None:
    """Logs what functions logged of the rows of this process, wherever they were scored."""
    for column in sorted({name for of_rank in logged for name in of_rank}):
        values: dict[int, Any] = {}
        for of_rank, rows in zip(logged, scored_by, strict=True):
            values.update(zip(rows, of_rank.get(column, ()), strict=False))
        trl.arguments["log_extra"](column, [values.get(row) for row in held])


def _shown(text: str) -> str:
    """The text, or its beginning and what tells it from others with the same."""
    if len(text) <= _SHOWN:
        return text
    return text[:_SHOWN] + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
