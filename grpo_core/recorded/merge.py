"""Many generations in one file: thousands of small files are slow to list, copy and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from grpo_core.recorded.columns import about_of, with_about
from grpo_core.recorded.names import RecordName

# In the metadata of a merged file: its generations, in order.
_GENERATIONS = "generations"
# What tells the generations of one file apart; all else is the same.
_OWN = ("step", "part", "size")
# Bytes of a merged file, which is in memory at once; and of a file that is not small.
_LARGE = 32 * 2**20
_NOT_SMALL = _LARGE // 8


class Generation(NamedTuple):
    """Where a generation lies in a merged file.

    Attributes:
        step: Its step.
        part: Which generation of the step.
        size: Completions of the rank in the generation.
        rows: Rows that the file has of it.
        start: The first of them.
    """

    step: int
    part: int
    size: int
    rows: int
    start: int


def generations(schema: Any) -> list[Generation]:
    """What a merged file holds, in order.

    Raises:
        ValueError: It is no merged file.
        KeyError: It is none.
    """
    found, start = [], 0
    for step, part, size, rows in about_of(schema)[_GENERATIONS]:
        found.append(Generation(step, part, size, rows, start))
        start += rows
    return found


def cut_out(table: Any, generation: Generation) -> Any:
    """The table of one generation, as it was before it was merged."""
    about = about_of(table.schema)
    del about[_GENERATIONS]
    own = {key: getattr(generation, key) for key in _OWN}
    return with_about(table.slice(generation.start, generation.rows), {**about, **own})


def merged(tables: Sequence[Any]) -> Any:
    """One table of those of generations that are alike, in order."""
    abouts = [about_of(t.schema) for t in tables]
    listed = [[a[k] for k in _OWN] + [t.num_rows] for a, t in zip(abouts, tables, strict=True)]
    whole = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
    return with_about(whole.unify_dictionaries(), {**abouts[0], _GENERATIONS: listed})


def mergeable(files: Mapping[Path, RecordName]) -> Iterator[list[tuple[Path, Any]]]:
    """Files that are better merged, with their tables; two at least.

    A step stays whole. Those differ that a run with other rewards wrote.

    Args:
        files: Files of a generation each, in order, of one mode and rank.
    """
    n_bytes, chunk, last = 0, 0, -1

    def of(found: tuple[Path, Any]) -> tuple[Any, ...]:
        nonlocal n_bytes, chunk, last
        path, table = found
        step = files[path].step
        if n_bytes > _LARGE and step != last:
            n_bytes, chunk = 0, chunk + 1
        n_bytes += path.stat().st_size
        last = step
        return (_alike(about_of(table.schema)), table.schema.names, chunk)

    for _, group in groupby(_readable(files), of):
        found = list(group)
        if len(found) > 1:
            yield found


def _readable(paths: Iterable[Path]) -> Iterator[tuple[Path, Any]]:
    """The small ones with their tables; whoever reads the record is told of a broken one."""
    for path in paths:
        try:
            if path.stat().st_size > _NOT_SMALL:
                continue
            with path.open("rb") as file:
                table = pa.parquet.read_table(file)
            about_of(table.schema)
        except (pa.ArrowException, OSError, ValueError):
            continue
        yield path, table


def _alike(about: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in about.items() if key not in _OWN}
