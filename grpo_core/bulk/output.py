"""The file of scores: it grows beside its place and appears there whole or not at all.

`OUT.partial` holds a line for each row; `OUT.partial.json` says what it is made of and how far it
is whole. A parquet file cannot grow after a crash, so its scores lie in JSONL until the end too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import IO, Any

from grpo_core.errors import DataError

_READ_BYTES = 2**20
_SAVE_S = 1.0  # at most this much work is lost beside that on one chunk


class Output:
    """A file that is being written.

    Attributes:
        path: Where it will be.
        partial: What there is until then.
        n_rows: Rows in it that are whole.
        state: What the caller gave with them.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        """Creates the partial file, or opens that of a run that was stopped.

        Args:
            path: Where the file will be; its name ends in `.jsonl` or `.parquet`.
            identity: What the scores depend on, as JSON.
            resume: Go on with the partial file, which must be there.

        Raises:
            DataError: There is a file already, the partial one is of something else or in use, or
                nothing can be written there.
        """
        self.path = path
        self.partial = path.with_name(path.name + ".partial")
        self._sidecar = path.with_name(path.name + ".partial.json")
        self._identity = identity
        self.n_rows = 0
        self.state: Any = None
        self._n_bytes = 0
        self._hash = hashlib.sha256()
        self._saved = monotonic()
        _check_free(path)
        try:
            self._file: IO[bytes] = self.partial.open("r+b" if resume else "xb")
        except FileExistsError:
            raise DataError(
                f"{self.partial} is there from a run that was stopped: go on with --resume, or "
                f"remove it"
            ) from None
        except FileNotFoundError:
            what = f"there is no {self.partial}" if path.parent.is_dir() else "its folder is absent"
            raise DataError(f"{path} cannot be {'resumed' if resume else 'written'}: {what}") from (
                None
            )
        except OSError as exc:
            raise DataError(f"{path} cannot be written: {exc.strerror}") from exc
        try:
            _lock(self._file, self.partial)
            if resume:
                self._restore()
            self.save()
        except BaseException:
            self._file.close()
            raise

    def write(self, lines: Sequence[str], state: Any) -> None:
        """Appends lines; from time to time they are made safe.

        Args:
            lines: One for each row, without their ends.
            state: What the caller wants back when it goes on after them.
        """
        # A reward may give half of a surrogate pair as a reason, which no text file can hold.
        data = ("\n".join(lines) + "\n").encode("utf-8", "replace")
        try:
            self._file.write(data)
        except OSError as exc:
            raise self._cannot_write(exc) from exc
        self._hash.update(data)
        self._n_bytes += len(data)
        self.n_rows += len(lines)
        self.state = state
        if monotonic() - self._saved >= _SAVE_S:
            self.save()

    def save(self) -> None:
        """Makes what was written safe against an end of this process."""
        saved = {
            "rows": self.n_rows,
            "bytes": self._n_bytes,
            "sha256": self._hash.hexdigest(),
            "identity": self._identity,
            "state": self.state,
        }
        saved["seal"] = _seal(saved)
        new = self._sidecar.with_name(self._sidecar.name + ".new")
        try:
            self._file.flush()
            new.write_text(json.dumps(saved, ensure_ascii=False, indent=1), encoding="utf-8")
            new.replace(self._sidecar)
        except OSError as exc:
            raise self._cannot_write(exc) from exc
        self._saved = monotonic()

    def lines(self) -> Iterator[dict[str, Any]]:
        """What was written, line by line."""
        self._file.flush()
        with self.partial.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def finish(self, made: Path | None = None) -> None:
        """Puts the file in its place and removes the rest.

        Args:
            made: The finished file, if it is not the partial one.

        Raises:
            DataError: There is a file by now; the partial one stays.
        """
        self._file.close()
        source = self.partial if made is None else made
        try:
            os.link(source, self.path)  # fails where a rename would overwrite
        except FileExistsError:
            _check_free(self.path)
        except OSError:  # a file system without hard links
            _check_free(self.path)
            source.rename(self.path)
        for path in (source, self.partial, self._sidecar):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leaves the partial file for a later run."""
        if not self._file.closed:
            self.save()
            self._file.close()

    def discard(self) -> None:
        """Removes the partial file."""
        self._file.close()
        self.partial.unlink(missing_ok=True)
        self._sidecar.unlink(missing_ok=True)

    def _restore(self) -> None:
        try:
            saved = json.loads(self._sidecar.read_text(encoding="utf-8"))
            seal = saved.pop("seal")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
            raise DataError(
                f"{self.partial} cannot be resumed: {self._sidecar} cannot be read ({exc}); remove "
                f"both"
            ) from exc
        if seal != _seal(saved):
            raise DataError(
                f"{self.partial} cannot be resumed: {self._sidecar} was changed since it was "
                f"written; remove both"
            )
        wrong = _differences(saved["identity"], self._identity)
        if wrong:
            raise DataError(
                f"{self.partial} cannot be resumed: it was made of something else: "
                f"{'; '.join(wrong)}. Call as before, or remove it"
            )
        self.n_rows, self._n_bytes, self.state = saved["rows"], saved["bytes"], saved["state"]
        if self.partial.stat().st_size < self._n_bytes:
            raise DataError(f"{self.partial} cannot be resumed: it was cut off; remove it")
        for start in range(0, self._n_bytes, _READ_BYTES):
            self._hash.update(self._file.read(min(_READ_BYTES, self._n_bytes - start)))
        if self._hash.hexdigest() != saved["sha256"]:
            raise DataError(
                f"{self.partial} cannot be resumed: it was changed since it was written; remove it"
            )
        self._file.truncate(self._n_bytes)
        self._file.seek(self._n_bytes)

    def _cannot_write(self, exc: OSError) -> DataError:
        return DataError(
            f"{self.partial} cannot be written: {exc.strerror}; make room and go on with --resume"
        )


def _seal(saved: Mapping[str, Any]) -> str:
    """Tells a sidecar that was edited, or half of it lost, from one that was written here."""
    return hashlib.sha256(json.dumps(saved, sort_keys=True).encode()).hexdigest()


def _check_free(path: Path) -> None:
    if os.path.lexists(path):
        raise DataError(f"{path} exists already and is not overwritten; choose another name")


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuses a file that another process is writing; it is free again when that ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        raise DataError(f"{path} is being written by another process") from exc


def _differences(before: Any, now: Any, where: str = "") -> list[str]:
    """What differs between two JSON values, as texts."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            text
            for key in dict.fromkeys([*before, *now])
            for text in _differences(
                before.get(key), now.get(key), f"{where}.{key}" if where else key
            )
        ]
    if before == now:
        return []
    return [f"{where} was {_shown(before)} and is {_shown(now)}"]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
