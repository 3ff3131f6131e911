"""The run directory: created once, never overwritten; holds the manifest, config and metrics."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from grpo_core.errors import RunDirError

MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
SUPERSEDED_METRICS = "metrics.superseded.jsonl"
CONFIG = "config.toml"

# Libraries whose versions change what a run computes.
_LIBRARIES = (
    "grpo-core",
    "trl",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "torch",
    "numpy",
)

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class RunDir:
    """A run directory that this process created, or in which it goes on.

    Attributes:
        path: The directory.
        changed: Of a run that goes on, what is not as it was before; else None.
    """

    changed: Sequence[str] | None = None

    def __init__(self, path: Path) -> None:
        """Creates the directory.

        Raises:
            RunDirError: It exists already, or cannot be created.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as exc:  # FileExistsError too: a file lies where a folder is needed
            raise RunDirError(
                f"{path} cannot be created: {path.parent} cannot be made a folder ({exc.strerror})"
            ) from exc
        try:
            path.mkdir()
        except FileExistsError:
            raise RunDirError(
                f"{path} exists already and a run never overwrites another; free is "
                f"{next_free(path)}"
            ) from None
        except OSError as exc:
            raise RunDirError(f"{path} cannot be created: {exc.strerror}") from exc
        self.path = path

    @classmethod
    def numbered(cls, parent: Path, stem: str) -> RunDir:
        """Creates `parent/stem-001`, or the next number that is free."""
        while True:
            path = next_free(parent / stem)
            try:
                return cls(path)
            except RunDirError:
                if not os.path.lexists(path):  # not a race for the number, but a real refusal
                    raise

    @classmethod
    def opened(cls, path: Path, changed: Sequence[str] = ()) -> RunDir:
        """Goes on in the directory of a run.

        Args:
            path: The directory.
            changed: What is not as it was before; the manifest keeps it.
        """
        run = cls.__new__(cls)
        run.path, run.changed = path, tuple(changed)
        return run

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes from going on in the directory; a killed one lets it go.

        Raises:
            RunDirError: A process has it.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        held = os.open(self.path, os.O_RDONLY)  # the folder itself, so that no file stays
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise RunDirError(f"another process is training in {self.path}; end it first") from None
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.close(held)

    def begin(self, step: int) -> None:
        """Sets the metrics of later steps aside, and removes what a killed process left half done.

        Args:
            step: Steps that are done.
        """
        for name in (MANIFEST, CONFIG, METRICS):
            (self.path / f"{name}.partial").unlink(missing_ok=True)
        path = self.path / METRICS
        if not path.is_file():
            return
        lines = path.read_bytes().splitlines(keepends=True)
        steps = [_step_of(line) for line in lines]
        later = [x for x, at in zip(lines, steps, strict=True) if at is not None and at > step]
        if not later and None not in steps:
            return
        with (self.path / SUPERSEDED_METRICS).open("ab") as file:
            file.writelines(later)
        kept = [x for x, at in zip(lines, steps, strict=True) if at is not None and at <= step]
        _write_whole(path, b"".join(kept).decode("utf-8"))

    def write_manifest(self, content: Mapping[str, Any], step: int = 0) -> None:
        """Writes `manifest.json`: the content, the time and the versions of the libraries.

        Args:
            content: What else it holds.
            step: Steps that are done, of a run that goes on.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        before = read_manifest(self.path) or {}
        resumed = list(before.get("resumed", ()))
        if self.changed is not None:
            resumed.append({"time": now, "step": step, "changed": list(self.changed)})
            self.changed = None
        manifest = {
            "created": before.get("created", now),
            **({"resumed": resumed} if resumed else {}),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": {name: _version(name) for name in _LIBRARIES},
            **content,
        }
        text = json.dumps(to_json(manifest), indent=2, ensure_ascii=False)
        _write_whole(self.path / MANIFEST, text + "\n")

    def write_config(self, tables: Mapping[str, Any]) -> None:
        """Writes `config.toml`: the config as it was resolved."""
        _write_whole(self.path / CONFIG, to_toml(tables))

    def log_metrics(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends one line to `metrics.jsonl`; a number that is not finite becomes null."""
        line = {"step": step} | to_json(metrics) | {"step": step}
        path = self.path / METRICS
        try:
            # Not kept open: nobody says when the last evaluation was, or that Ctrl-C ended it.
            with path.open("ab") as file:
                start = file.tell()
                try:
                    file.write((json.dumps(line) + "\n").encode())
                    file.flush()
                except OSError:  # half of a line is no line
                    with contextlib.suppress(OSError):
                        file.truncate(start)
                    raise
        except OSError as exc:
            raise RunDirError(f"{path} cannot be written: {exc.strerror or exc}") from exc


def read_manifest(run: Path) -> dict[str, Any] | None:
    """The manifest of a run; None if there is none.

    Raises:
        RunDirError: It cannot be read.
    """
    path = run / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        raise RunDirError(f"{path} cannot be read: {exc}") from exc
    if not isinstance(found, dict):
        raise RunDirError(f"{path} cannot be read: expected an object, got {found!r}")
    return found


def _step_of(line: bytes) -> int | None:
    """The step of a line of metrics; None where only half of it was written."""
    try:
        return int(json.loads(line)["step"]) if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None


def next_free(path: Path) -> Path:
    """The first of `path-001`, `path-002`, … after all that exist."""
    if path.name in ("", ".."):  # "." and the like have no name to put a number behind
        path = path.resolve()
    return path.parent / f"{path.name}-{max(_taken(path), default=0) + 1:03d}"


def last_taken(path: Path) -> Path | None:
    """The last of `path-001`, `path-002`, … that exist."""
    taken = _taken(path)
    return path.parent / taken[max(taken)] if taken else None


def _taken(path: Path) -> dict[int, str]:
    pattern = re.compile(re.escape(path.name) + r"-(\d+)")
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    return {int(m[1]): m[0] for m in map(pattern.fullmatch, names) if m}


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_json(value: Any) -> Any:
    """Returns the value as JSON can hold it, whatever a script handed over.

    A number that is not finite becomes None (NaN is no JSON, and readers of the file would stumble
    over it), an array a list, a set a sorted list; of what JSON does not know the repr is kept.
    """
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((to_json(v) for v in value), key=repr)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "ndim") and hasattr(value, "tolist"):  # numpy's, torch's; scalars too
        return to_json(value.tolist())
    return repr(value)


def to_toml(tables: Mapping[str, Any]) -> str:
    """Writes nested dictionaries as TOML; None is left out, since TOML has none."""
    lines: list[str] = []
    _toml_table(tables, (), lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    nested = {k: v for k, v in table.items() if isinstance(v, Mapping) and v}
    plain = {k: v for k, v in table.items() if v is not None and k not in nested}
    if path and (plain or not nested):
        lines.append(f"\n[{'.'.join(map(toml_key, path))}]")
    lines.extend(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in plain.items())
    for key, value in nested.items():
        _toml_table(value, (*path, str(key)), lines)


def toml_key(key: str) -> str:
    """The key as TOML has it: bare, or in quotes."""
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def toml_value(value: Any) -> str:
    """The value as TOML, on one line; None inside of it is left out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return repr(int(value))  # subclasses have a repr of their own
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, str):
        # JSON's escapes are TOML's, save that TOML also wants DEL escaped. Half of a surrogate
        # pair, from a file name that is no UTF-8, can be written in neither.
        text = value.encode("utf-8", "replace").decode("utf-8")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{toml_key(str(k))} = {toml_value(v)}" for k, v in value.items() if v is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple | set | frozenset):
        items = value if isinstance(value, list | tuple) else sorted(value, key=repr)
        return "[" + ", ".join(toml_value(v) for v in items if v is not None) + "]"
    return toml_value(str(value))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _write_whole(path: Path, text: str) -> None:
    """Writes the file so that a reader never meets half of it.

    Raises:
        RunDirError: It cannot be written, as on a full disk.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        # A file name that is no UTF-8 holds halves of surrogate pairs; JSON writes them as escapes.
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        partial.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise RunDirError(f"{path} cannot be written: {exc.strerror or exc}") from exc
