"""Looks at every row of a file before the first is scored."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grpo_core.bulk.parquet import ColumnTypes
from grpo_core.bulk.sources import Located, Source
from grpo_core.completion import Completion
from grpo_core.copying import own_copy
from grpo_core.errors import DataError, listed, near

GROUP = "group"

# Every row is filled up to all columns; a file with more has ids where its keys should be.
_MAX_COLUMNS = 1000
# A group is held in memory whole.
_MAX_GROUP_ROWS = 65_536
# Rows worked on at once: a call of a function in TRL's style gets as many.
CHUNK_ROWS = 256
CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Columns:
    """Which columns of a file mean what.

    Attributes:
        completion: Holds the completion, a text or a chat.
        prompt: Holds the prompt; a file without it has empty prompts, unless it was asked for.
        prompt_asked_for: True if a person named that column.
        group: Rows of one group have the same value here; None: "group", if the file has it; ""
            for no groups.
        added: Names of the columns that scoring adds.
    """

    completion: str = "completion"
    prompt: str = "prompt"
    group: str | None = None
    added: frozenset[str] = frozenset()
    prompt_asked_for: bool = False


@dataclass(frozen=True)
class Facts:
    """What is known of a file whose every row was looked at.

    Attributes:
        n_rows: Its rows.
        columns: All columns that a row has.
        group: The column of the groups, or None.
        n_groups: How many groups it has; 0 without that column.
    """

    n_rows: int
    columns: tuple[str, ...]
    group: str | None
    n_groups: int


def check_rows(
    source: Source,
    columns: Columns,
    types: ColumnTypes | None,
    progress: Callable[[int], None],
) -> Facts:
    """Reads the file once.

    Args:
        source: The file.
        columns: Which columns mean what.
        types: Is told all rows, or None.
        progress: Called with the number of rows read.

    Raises:
        DataError: A row cannot be read or scored, or the rows of a group are not neighbours.
    """
    known: dict[str, None] = {}
    groups: _Groups | None = None
    n_rows = 0
    chunk: list[Located] = []
    n_bytes = 0
    for located in source.rows():
        if n_rows == 0:
            group = columns.group
            if group is None:
                group = GROUP if GROUP in located.row else ""
            groups = _Groups(source, group) if group else None
        _check_columns(source, located, columns, known)
        if groups is not None:
            groups.add(located)
        elif columns.group is None and GROUP in located.row:
            raise DataError(
                f"{source.path}, {located.where} has a column {GROUP!r}, which row 0 lacks; give "
                f"it to all rows or to none"
            )
        n_rows += 1
        chunk.append(located)
        n_bytes += located.n_bytes
        if len(chunk) == CHUNK_ROWS or n_bytes > CHUNK_BYTES:
            _note(chunk, types)
            chunk, n_bytes = [], 0
            progress(n_rows)
    if n_rows == 0:
        raise DataError(f"data file {source.path} has no rows")
    if columns.prompt_asked_for and columns.prompt not in known:
        raise DataError(
            f"{source.path} has no column {columns.prompt!r}.{near(columns.prompt, known)} "
            f"Columns are {listed(known)}"
        )
    _note(chunk, types)
    progress(n_rows)
    if groups is not None:
        groups.finish()
    return Facts(
        n_rows,
        tuple(known),
        groups.column if groups else None,
        len(groups.hashes) if groups else 0,
    )


def completion_of(source: Source, located: Located, columns: Columns) -> Completion:
    """The completion of a row, with the row as its columns.

    Raises:
        DataError: The completion or the prompt is neither text nor chat.
    """
    row = located.row
    completion, prompt = row[columns.completion], row.get(columns.prompt)
    try:
        # Copies: a reward may reach what lies deep in a message.
        return Completion.from_data(own_copy(completion), own_copy(prompt), columns=row)
    except TypeError as exc:
        raise DataError(f"{source.path}, {located.where}: {exc}") from exc


def _note(chunk: Sequence[Located], types: ColumnTypes | None) -> None:
    if types is not None and chunk:
        types.add([(each.where, each.row) for each in chunk])


def _check_columns(
    source: Source, located: Located, columns: Columns, known: dict[str, None]
) -> None:
    row = located.row
    if columns.completion not in row:
        raise DataError(
            f"{source.path}, {located.where} has no column {columns.completion!r}."
            f"{near(columns.completion, row)} Columns are {listed(row)}. Name the column with "
            f"--completion-column"
        )
    for column in (columns.completion, columns.prompt):
        value = row.get(column)
        if value is not None and not isinstance(value, str | list | dict):
            raise DataError(
                f"{source.path}, {located.where}: expected text or a chat in column {column!r}, "
                f"got {type(value).__name__} {value!r}"
            )
    if not isinstance(row[columns.completion], str) or not isinstance(
        row.get(columns.prompt), str | None
    ):
        completion_of(source, located, columns)
    if not columns.added.isdisjoint(row):
        twice = sorted(columns.added.intersection(row))[0]
        raise DataError(
            f"{source.path}, {located.where} has a column {twice!r}, which scoring adds; set "
            f"another --prefix, such as --prefix new/"
        )
    if not known.keys() >= row.keys():
        known.update(dict.fromkeys(row))
        if len(known) > _MAX_COLUMNS:
            raise DataError(
                f"{source.path}, {located.where}: the rows have more than {_MAX_COLUMNS} different "
                f"columns; put what varies into one column"
            )


class _Groups:
    """Checks that the rows of a group are neighbours; 8 bytes of memory for each group."""

    def __init__(self, source: Source, column: str) -> None:
        self.column = column
        self.hashes = array("q")
        self._source = source
        self._last: Any = None
        self._size = 0

    def add(self, located: Located) -> None:
        value = group_of(self._source, located, self.column)
        if value == self._last and self.hashes:
            self._size += 1
            if self._size > _MAX_GROUP_ROWS:
                raise DataError(
                    f"{self._source.path}, {located.where}: group {value!r} has more than "
                    f"{_MAX_GROUP_ROWS} rows; is {self.column!r} the right column?"
                )
            return
        self.hashes.append(hash(value))
        self._last, self._size = value, 1

    def finish(self) -> None:
        """Raises if a group comes back after another.

        Raises:
            DataError: Its text names the rows.
        """
        values, counts = np.unique(np.frombuffer(self.hashes, np.int64), return_counts=True)
        if doubtful := set(values[counts > 1].tolist()):
            self._name_rows(doubtful)

    def _name_rows(self, doubtful: Collection[int]) -> None:
        """Reads the file again; two groups may also share a hash."""
        ended: dict[Any, Located] = {}
        before: Located | None = None
        for located in self._source.rows():
            value = located.row[self.column]
            if before is not None and before.row[self.column] != value:
                if hash(before.row[self.column]) in doubtful:
                    ended[before.row[self.column]] = Located({}, *before[1:])
                if value in ended:
                    raise DataError(
                        f"{self._source.path}: group {value!r} ends with {ended[value].where} and "
                        f"comes back in {located.where}; sort the rows by {self.column!r}, or "
                        f'score without groups: --group-column ""'
                    )
            before = located


def group_of(source: Source, located: Located, column: str) -> str | int:
    """The group of a row.

    Raises:
        DataError: The row has none, or no text or integer.
    """
    value = located.row.get(column)
    if type(value) is str or type(value) is int:
        return value
    what = "no column" if column not in located.row else f"{value!r} in column"
    raise DataError(
        f"{source.path}, {located.where} has {what} {column!r}; expected the group of the row, a "
        f'text or an integer. To score without groups: --group-column ""'
    )


def filled(rows: Iterable[Located], columns: Collection[str]) -> list[Located]:
    """The rows with None for each column that others have, as a table would have it."""
    blank = dict.fromkeys(columns)
    return [
        each if len(each.row) == len(columns) else each._replace(row={**blank, **each.row})
        for each in rows
    ]
