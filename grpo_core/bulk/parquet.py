"""Parquet files: rows out of one, and rows with their scores into one. Needs pyarrow."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from grpo_core.errors import DataError, MissingExtraError
from grpo_core.files import cut_times, lost_time

Row = dict[str, Any]

_READ_ROWS = 256  # rows held as Python objects at once
# A row group is held whole until it is written; small ones make large, slow files.
_GROUP_ROWS = 8192
_GROUP_BYTES = 32 * 2**20


def read_rows(path: Path, skip: int = 0) -> Iterator[tuple[int, Row]]:
    """Number and columns of each row, but of the first `skip`.

    Raises:
        DataError: The file is broken, has two columns of one name or a time in nanoseconds.
        MissingExtraError: pyarrow is not installed.
    """
    number = 0
    for batch in _batches(path, _READ_ROWS):
        start = min(max(skip - number, 0), batch.num_rows)
        with _readable(path):
            rest = batch.slice(start)
            rows, cut = rest.to_pylist(), cut_times(rest)
        for i, row in enumerate(rows):
            if i in cut:
                raise lost_time(*cut[i], f"data file {path}, row {number + start + i}")
            yield number + start + i, row
        number += batch.num_rows


def binary_columns(path: Path) -> list[str]:
    """Columns that hold bytes at some depth, for which JSON has no form."""
    with _readable(path):
        file = _pyarrow().parquet.ParquetFile(path)
        schema = file.schema_arrow
    return [f.name for f in schema if "binary" in str(f.type)]


class ColumnTypes:
    """Arrow types of JSON columns, found row by row.

    A column that holds objects or lists becomes JSON text, since Arrow would give each the keys of
    all others. Chats stay chats: the columns named when this is made are left to Arrow.
    """

    def __init__(self, path: Path, chats: Sequence[str]) -> None:
        """Begins without columns.

        Args:
            path: The data file, for errors.
            chats: Columns that may hold chats.
        """
        self._path = path
        self._chats = frozenset(chats)
        self._types: dict[str, Any] = {}
        self._nested: dict[str, str] = {}  # column: the first row with a nested value
        self._plain: dict[str, str] = {}
        self._wide: set[str] = set()

    def add(self, rows: Sequence[tuple[str, Row]]) -> None:
        """Takes rows with their places into account.

        Raises:
            DataError: A column mixes kinds of values.
        """
        pa = _pyarrow()
        for column in dict.fromkeys(c for _, row in rows for c in row):
            values = [row.get(column) for _, row in rows]
            if column not in self._chats:
                self._note(column, rows)
                if column in self._nested:
                    self._types[column] = pa.string()
                    continue
            try:
                found = pa.array(values).type
                known = self._types.get(column, found)
                self._types[column] = _unified(pa, known, found)
                self._check_integers(pa, column, values)
            except (pa.ArrowException, ArithmeticError) as exc:
                raise DataError(
                    f"{self._path}: column {column!r} mixes kinds of values in or before "
                    f"{rows[-1][0]}, which parquet cannot hold; write JSONL ({exc})"
                ) from exc

    def schema(self) -> Any:
        """The Arrow schema of all columns."""
        pa = _pyarrow()
        null = pa.null()  # not every reader knows a column of this type
        return pa.schema([(c, pa.string() if t == null else t) for c, t in self._types.items()])

    def _check_integers(self, pa: Any, column: str, values: Sequence[Any]) -> None:
        """Raises if a column of decimals would round an integer."""
        if column not in self._wide and any(type(v) is int and abs(v) > 2**53 for v in values):
            self._wide.add(column)
        if column in self._wide and self._types[column] == pa.float64():
            raise OverflowError("an integer of more than 53 bits among decimals")

    def _note(self, column: str, rows: Sequence[tuple[str, Row]]) -> None:
        for where, row in rows:
            value = row.get(column)
            if value is not None:
                kind = self._nested if isinstance(value, dict | list) else self._plain
                kind.setdefault(column, where)
        if column in self._nested and column in self._plain:
            raise DataError(
                f"{self._path}: column {column!r} mixes kinds: {self._nested[column]} holds an "
                f"object or a list, {self._plain[column]} does not; write JSONL"
            )


def write_joined(
    out: Path, data: Path, types: ColumnTypes | None, rows: Iterable[Row], scores: Iterable[Row]
) -> None:
    """Writes each row with its scores to a new parquet file.

    Args:
        out: The file.
        data: Where the rows are from; parquet is copied as it is.
        types: Types of the columns of JSON rows; None if `data` is parquet.
        rows: The rows, if they are JSON.
        scores: The columns to add, in order of the rows.
    """
    pa = _pyarrow()
    scores = iter(scores)
    if types is None:
        tables: Iterator[Any] = (pa.Table.from_batches([b]) for b in _batches(data, _READ_ROWS))
    else:
        tables = _tables(pa, types.schema(), iter(rows))
    try:
        with contextlib.ExitStack() as stack:
            writer = None
            for table in _row_groups(pa, tables, scores):
                if writer is None:
                    writer = stack.enter_context(pa.parquet.ParquetWriter(out, table.schema))
                writer.write_table(table)
    except (pa.ArrowException, OSError) as exc:
        raise DataError(f"{out} cannot be written: {exc}") from exc


def _row_groups(pa: Any, tables: Iterable[Any], scores: Iterator[Row]) -> Iterator[Any]:
    """Small tables with their scores, put together."""
    held: list[Any] = []
    n_rows = n_bytes = 0
    for table in tables:
        added = list(islice(scores, table.num_rows))
        for column, kind in _score_types(pa, added[0]).items():
            values = [_cell(row[column]) for row in added]
            table = table.append_column(column, pa.array(values, kind))
        held.append(table)
        n_rows += table.num_rows
        n_bytes += table.nbytes
        if n_rows >= _GROUP_ROWS or n_bytes >= _GROUP_BYTES:
            yield pa.concat_tables(held)
            held, n_rows, n_bytes = [], 0, 0
    if held:
        yield pa.concat_tables(held)


def _tables(pa: Any, schema: Any, rows: Iterator[Row]) -> Iterator[Any]:
    while chunk := list(islice(rows, _READ_ROWS)):
        columns = [
            pa.array([_as_type(pa, row.get(f.name), f.type) for row in chunk], f.type)
            for f in schema
        ]
        yield pa.Table.from_arrays(columns, schema=schema)


def _as_type(pa: Any, value: Any, kind: Any) -> Any:
    nested = isinstance(value, dict | list) and kind == pa.string()
    return json.dumps(value, ensure_ascii=False) if nested else value


def _score_types(pa: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    text = ("/status", "/reason", "/metrics")
    return {c: pa.string() if c.endswith(text) else pa.float64() for c in row}


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _unified(pa: Any, first: Any, second: Any) -> Any:
    if first == second:
        return first
    schemas = [pa.schema([("x", first)]), pa.schema([("x", second)])]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type


def _batches(path: Path, n_rows: int) -> Iterator[Any]:
    pa = _pyarrow()
    with _readable(path):
        # Buffered: else every column chunk of a row group is read whole.
        file = pa.parquet.ParquetFile(path, buffer_size=2**20, pre_buffer=False)
        names = file.schema_arrow.names
    with file:
        if twice := [n for i, n in enumerate(names) if n in names[:i]]:
            raise DataError(f"data file {path} has two columns {twice[0]!r}; rename one")
        batches = file.iter_batches(batch_size=n_rows)
        while True:
            with _readable(path):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Makes what pyarrow raises on a broken file a DataError."""
    pa = _pyarrow()
    try:
        yield
    except OverflowError as exc:
        raise DataError(
            f"data file {path} holds a value that Python has no form for: {exc}"
        ) from exc
    except (pa.ArrowException, OSError, UnicodeDecodeError) as exc:
        first = str(exc).split("\n", 1)[0]
        raise DataError(f"data file {path} is no parquet, or broken or cut off: {first}") from exc


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as exc:
        raise MissingExtraError("parquet", "train") from exc
    return pyarrow
