"""Reads the rows of data files: JSON lines, JSON, CSV and Parquet."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from grpo_core.errors import DataError, MissingExtraError, listed

Row = dict[str, Any]


class Place(NamedTuple):
    """Where a row is from.

    Attributes:
        source: What it was read from and what is counted there, such as "train.jsonl, line".
        number: Lines count from 1, rows from 0.
    """

    source: str
    number: int

    def __str__(self) -> str:
        return f"{self.source} {self.number}"


Rows = Iterator[tuple[Place, Row]]

# Names of splits: files or parts of file names that say so are not to be mixed.
SPLITS = ("train", "training", "test", "testing", "validation", "valid", "val", "dev", "eval")


def ending_of(path: Path) -> str | None:
    """The ending by which a file is read, such as ".jsonl.gz"; None if there is no such kind."""
    name = path.name.lower()
    return next((ending for ending in _READERS if name.endswith(ending)), None)


def read_rows(path: Path) -> Rows:
    """Reads a data file row by row; its kind is told by its ending.

    Yields:
        Each row with its place. An empty file gives none.

    Raises:
        DataError: There is no such file, it is of another kind than its name says, or a row is
            broken; the text names the line or row. Also refused, since something would be lost or
            break later: a key or column twice, NaN and Infinity (no JSON), and half of a surrogate
            pair.
        MissingExtraError: The file is Parquet and pyarrow is not installed.
    """
    ending = ending_of(path)
    if ending is None:
        raise DataError(
            f"data file {path}: expected a name that ends in {', '.join(_READERS)}, got "
            f"{path.name!r}"
        )
    try:
        yield from _READERS[ending](path)
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except (gzip.BadGzipFile, zlib.error) as exc:
        raise DataError(
            f"data file {path} is not gzip, or is damaged: {exc}; if it is plain text, take the "
            f".gz off its name"
        ) from exc
    except EOFError as exc:
        raise DataError(f"data file {path} is cut off: the gzip data has no end") from exc
    except OSError as exc:
        raise DataError(f"data file {path} cannot be read: {exc.strerror or exc}") from exc


def read_jsonl(path: Path) -> list[Row]:
    """Reads a whole JSONL file: one JSON object a line, blank lines left out.

    Raises:
        DataError: As `read_rows`; also if there is no row.
    """
    rows = [row for _, row in read_rows(path)]
    if not rows:
        raise DataError(f"{path} has no rows; expected one JSON object a line")
    return rows


def files_in(folder: Path, split: str | None = None) -> list[Path]:
    """The data files of a folder, sorted by name.

    Files of other kinds and hidden ones are left out.

    Args:
        folder: The folder.
        split: Take the folder of this name inside, or else the files whose names are it or start
            with it and one of . - _

    Raises:
        DataError: There is none, or no split was named and the names are of several.
    """
    if split is not None and (split == ".." or Path(split).name != split):
        raise DataError(
            f"folder {folder}: split {split!r} is a path; expected the name of a folder or of "
            f"files in it"
        )
    if split is not None and (folder / split).is_dir():
        return files_in(folder / split)
    found = _data_files(folder)
    if split is not None:
        chosen = [p for p in found if p.name == split or _stem(p, split)]
        if not chosen:
            raise DataError(
                f"folder {folder} has no split {split!r}: expected a folder or files of that "
                f"name, got {listed(p.name for p in found)}"
            )
        return chosen
    if not found:
        inside = listed(p.name for p in folder.iterdir() if _visible(p))
        raise DataError(
            f"folder {folder} has no data files: expected names that end in "
            f"{', '.join(_READERS)}, got {inside}"
        )
    splits = splits_in(folder)
    if len(splits) > 1:
        raise DataError(
            f"folder {folder} holds the splits {', '.join(splits)}; say which one with split"
        )
    return found


def splits_in(folder: Path) -> list[str]:
    """The splits that the names of a folder's data files begin with, sorted by these names."""
    return list(dict.fromkeys(s for p in _data_files(folder) for s in SPLITS if _stem(p, s)))


def _data_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.is_file() and ending_of(p) and _visible(p))


def _visible(path: Path) -> bool:
    return not path.name.startswith((".", "_"))


def _stem(path: Path, split: str) -> bool:
    return path.name.startswith(tuple(split + mark for mark in ".-_"))


def _jsonl(path: Path) -> Rows:
    label = f"{path}, line"
    with _opened(path) as file:
        # Lines of bytes end at \n alone: JSON strings may hold U+2028 and its like.
        for number, line in enumerate(file, start=1):
            text = _text(path, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line, number)
            text = text.strip(" \t\r\n")
            if not text:
                continue
            place = Place(label, number)
            try:
                row = parse_json(text)
            except (ValueError, RecursionError) as exc:
                raise DataError(
                    f"{place}: expected a JSON object, got {shown(text)} ({_reason(exc)})"
                    f"{_is_rather(path)}"
                ) from None
            if not isinstance(row, dict):
                raise DataError(f"{place}: expected a JSON object, got {shown(text)}")
            yield place, row


def _json(path: Path) -> Rows:
    label = f"{path}, row"
    with _opened(path) as file:
        text = _text(path, file.read().removeprefix(codecs.BOM_UTF8))
    if not text.strip():
        return
    try:
        rows = parse_json(text)
    except (ValueError, RecursionError) as exc:
        advice = "; one object a line is .jsonl" if "Extra data" in str(exc) else ""
        raise DataError(f"{path} is not JSON: {exc}{advice}") from None
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of objects, got {shown(text.strip())}")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(
                f"{Place(label, number)}: expected a JSON object, got {shown(json.dumps(row))}"
            )
        yield Place(label, number), row


def _csv(path: Path) -> Rows:
    """Rows of texts under the names of the first line; an empty cell is None."""
    label = f"{path}, line"
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # 128 KB would be too few
    with _opened(path) as file:
        lines = csv.reader(
            io.TextIOWrapper(file, encoding="utf-8-sig", newline=""),
            strict=True,
        )
        start = 1
        try:
            header = next(lines, [])
            _once(header, f"{path}, line 1")
            start = lines.line_num + 1
            for cells in lines:
                place, start = Place(label, start), lines.line_num + 1
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise DataError(
                        f"{place}: expected {len(header)} cells ({listed(header)}), got "
                        f"{len(cells)}"
                    )
                yield place, {k: v or None for k, v in zip(header, cells, strict=True)}
        except csv.Error as exc:
            raise DataError(f"{Place(label, start)}: the CSV is broken: {exc}") from exc
        except UnicodeDecodeError as exc:
            raise DataError(f"{path} is not UTF-8 text: {exc}{_is_rather(path)}") from exc


def _parquet(path: Path) -> Rows:
    label = f"{path}, row"
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(f"reading {path}", "train") from None
    with path.open("rb") as raw:
        number = 0
        try:
            file = pyarrow.parquet.ParquetFile(raw)
            _once(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(batch_size=1024):
                cut = cut_times(batch)
                for i, row in enumerate(batch.to_pylist()):
                    place = Place(label, number)
                    if i in cut:
                        raise lost_time(*cut[i], place)
                    yield place, row
                    number += 1
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as exc:
            if isinstance(exc, DataError):
                raise
            at = f" after row {number - 1}" if number else ""
            first = str(exc).split("\n", 1)[0]
            raise DataError(
                f"data file {path} is not Parquet, or is damaged{at}: {first}{_is_rather(path)}"
            ) from exc


def cut_times(table: Any) -> dict[int, tuple[str, str]]:
    """Column and value of the times of day that Python's `time` would cut off, by row.

    Args:
        table: Rows of Arrow. Its other times become values of pandas, which keep nanoseconds.
    """
    found = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if str(column.type) == "time64[ns]":
            for i, value in enumerate(column.cast("int64").to_pylist()):
                if value is not None and value % 1000:
                    found[i] = (name, str(column[i].cast("string")))
    return found


def lost_time(column: str, value: object, place: object) -> DataError:
    """The error for a time that ends in nanoseconds."""
    return DataError(
        f"column {column!r}, {place}: expected a time in microseconds at most, got {value}; round "
        f"the column, or write it as a text or an integer"
    )


_READERS: dict[str, Callable[[Path], Rows]] = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _jsonl,
    ".json": _json,
    ".json.gz": _json,
    ".csv": _csv,
    ".csv.gz": _csv,
    ".parquet": _parquet,
}


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    try:
        if path.name.lower().endswith(".gz"):
            return gzip.open(path, "rb")
        return path.open("rb")
    except ValueError as exc:  # a path that no file can have
        raise DataError(f"there can be no data file {str(path)!r}: {exc}") from exc


def _text(path: Path, data: bytes, line: int | None = None) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        at = "" if line is None else f", line {line}"
        raise DataError(f"{path}{at} is not UTF-8 text: {exc}{_is_rather(path)}") from exc


def _is_rather(path: Path) -> str:
    """What the first bytes of a file say that it is."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b" and not path.name.lower().endswith(".gz"):
        return "; it is gzip: put .gz behind its name"
    if start == b"PAR1" and path.suffix.lower() != ".parquet":
        return "; it is Parquet: let its name end in .parquet"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "; it is UTF-16: save it as UTF-8"
    if start.lstrip()[:1] in (b"{", b"[") and path.suffix.lower() == ".parquet":
        return "; it is JSON: let its name end in .jsonl or .json"
    return ""


def _reason(exc: Exception) -> str:
    """What a line lacks to be JSON; the parser's own count of lines would only confuse."""
    if isinstance(exc, json.JSONDecodeError):
        return f"{exc.msg} at column {exc.colno}"
    return str(exc)


def _once(names: list[str], where: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DataError(f"{where}: the column {name!r} is there twice; rename one")


def parse_json(text: str) -> Any:
    """The value of a JSON text, which may hold nothing that would be lost on the way.

    Raises:
        ValueError: It is no JSON, a key is there twice, a number is NaN, infinite or beyond any
            float, or a text holds half of a surrogate pair.
    """
    value = json.loads(
        text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite
    )
    if "\\u" in text:  # the only way to write half of a surrogate pair
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _object(pairs: list[tuple[str, Any]]) -> Row:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} is there twice")
    return made


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON; write null or leave the row out")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is beyond any float")
    return number


def shown(text: str) -> str:
    """The text as errors quote it: cut off behind 80 characters."""
    return text if len(text) <= 80 else text[:77] + "..."
