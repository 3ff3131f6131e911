"""Rows of a JSONL file, one after the other; `open_source` also knows parquet."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from grpo_core.bulk import parquet
from grpo_core.errors import DataError
from grpo_core.files import parse_json

Row = dict[str, Any]

# A line is held in memory whole, and parsed it may take ten times its size.
MAX_LINE_BYTES = 64 * 2**20

# First bytes of what people name .jsonl by mistake, with what to do.
_OTHERS = {
    b"\x1f\x8b": "is gzip-compressed; name it .jsonl.gz",
    b"PAR1": "is parquet; name it .parquet",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"PK\x03\x04": "is a zip archive; unpack it",
}


class Located(NamedTuple):
    """One row and where it stands.

    Attributes:
        row: Its columns.
        number: Its number, from 0.
        line: Its line in the file, from 1; 0 in a file without lines.
        n_bytes: Size of its line; 0 where it is not known.
    """

    row: Row
    number: int
    line: int = 0
    n_bytes: int = 0

    @property
    def where(self) -> str:
        """How errors name it."""
        return f"row {self.number} (line {self.line})" if self.line else f"row {self.number}"


class Source(Protocol):
    """A file of rows.

    Attributes:
        path: The file.
    """

    @property
    def path(self) -> Path: ...  # noqa: D102  # the class says it

    def rows(self, skip: int = 0) -> Iterator[Located]:
        """The rows in order, but the first `skip`."""
        ...


def open_source(path: Path) -> Source:
    """The rows of a file, by its name: `.jsonl`, `.jsonl.gz` or `.parquet`.

    Raises:
        DataError: There is no such file, it cannot be read, its name ends otherwise, or its first
            bytes are of another kind.
        MissingExtraError: It is parquet, and pyarrow is not installed.
    """
    try:
        mode = path.stat().st_mode
        regular = stat.S_ISREG(mode)
        if regular:  # opening a pipe would wait for its other end
            with path.open("rb") as file:
                start = file.read(4)
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except OSError as exc:
        raise DataError(f"data file {path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:  # a NUL in the name
        raise DataError(f"there is no data file {str(path)!r}: {exc}") from exc
    if stat.S_ISDIR(mode):
        raise DataError(f"data file {path} is a folder; name a file in it")
    if not regular:
        raise DataError(f"data file {path} is no regular file, which is read more than once")
    if path.suffix == ".parquet":
        return ParquetSource(path)
    if path.name.endswith(".jsonl"):
        for magic, what in _OTHERS.items():
            if start.startswith(magic):
                raise DataError(f"data file {path} {what}")
    elif not path.name.endswith(".jsonl.gz"):
        raise DataError(f"data file {path}: expected a name in .jsonl, .jsonl.gz or .parquet")
    return JsonlSource(path)


@dataclass(frozen=True)
class ParquetSource:
    """A parquet file.

    Attributes:
        path: The file.
    """

    path: Path

    def rows(self, skip: int = 0) -> Iterator[Located]:
        """The rows in order, but the first `skip`.

        Raises:
            DataError: The file is broken or has two columns of one name.
            MissingExtraError: pyarrow is not installed.
        """
        for number, row in parquet.read_rows(self.path, skip):
            yield Located(row, number)


@dataclass(frozen=True)
class JsonlSource:
    """A JSONL file, gzip-compressed or not: one object a line, blank lines left out.

    Attributes:
        path: The file.
    """

    path: Path

    def rows(self, skip: int = 0) -> Iterator[Located]:
        """The rows in order, but the first `skip`, which are not parsed.

        Raises:
            DataError: The file or a line cannot be read; the text names the line.
        """
        number = 0
        with self._open() as file:
            for line_number, line in enumerate(self._lines(file), start=1):
                if not line.strip():
                    continue
                if number >= skip:
                    row = self._parsed(line, line_number)
                    yield Located(row, number, line_number, len(line))
                number += 1

    def _open(self) -> gzip.GzipFile | BufferedReader:
        return gzip.open(self.path) if self.path.suffix == ".gz" else self.path.open("rb")

    def _lines(self, file: gzip.GzipFile | BufferedReader) -> Iterator[bytes]:
        number = 1
        while True:
            try:
                line = file.readline(MAX_LINE_BYTES + 1)
            except (gzip.BadGzipFile, EOFError, zlib.error) as exc:
                raise DataError(
                    f"{self.path}, line {number}: no gzip data, or it is broken or cut off: {exc}"
                ) from exc
            except OSError as exc:
                raise DataError(f"{self.path} cannot be read: {exc.strerror}") from exc
            if not line:
                return
            if len(line) > MAX_LINE_BYTES:
                raise DataError(
                    f"{self.path}, line {number}: longer than {MAX_LINE_BYTES // 2**20} MiB; "
                    f"expected one row a line, not one array in one line"
                )
            yield line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            number += 1

    def _parsed(self, line: bytes, number: int) -> Row:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise DataError(f"{self.path}, line {number}: not UTF-8 text: {exc}") from exc
        try:
            row = parse_json(text)
        except (ValueError, RecursionError) as exc:
            why = f" ({exc})"
        else:
            if isinstance(row, dict):
                return row
            why = ""
        raise DataError(
            f"{self.path}, line {number}: expected a JSON object, got {_shown(text)}{why}"
        )


def _shown(text: str) -> str:
    text = text[:200].strip()
    return text if len(text) <= 80 else text[:77] + "..."
