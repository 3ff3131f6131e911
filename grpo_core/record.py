"""The run directory: created once, never overwritten; holds the manifest, config and metrics."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

from grpo_core.errors import RunDirError

MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
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
    """A run directory that this process created.

    Attributes:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        """Creates the directory.

        Raises:
            RunDirError: It exists already, or cannot be created.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError:
            raise RunDirError(
                f"{path} exists already and a run never overwrites another; free is "
                f"{next_free(path)}"
            ) from None
        except OSError as exc:
            raise RunDirError(f"{path} cannot be created: {exc.strerror}") from exc
        self.path = path
        self._metrics: TextIO | None = None

    @classmethod
    def numbered(cls, parent: Path, stem: str) -> RunDir:
        """Creates `parent/stem-001`, or the next number that is free."""
        while True:
            path = next_free(parent / stem)
            try:
                return cls(path)
            except RunDirError:
                if not path.exists():  # not a race for the number, but a real refusal
                    raise

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Writes `manifest.json`: the content, the time and the versions of the libraries."""
        manifest = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": {name: _version(name) for name in _LIBRARIES},
            **content,
        }
        # Values of options may be anything a script hands over; their repr is kept then.
        text = json.dumps(manifest, indent=2, ensure_ascii=False, default=repr)
        _write_whole(self.path / MANIFEST, text + "\n")

    def write_config(self, tables: Mapping[str, Any]) -> None:
        """Writes `config.toml`: the config as it was resolved."""
        _write_whole(self.path / CONFIG, to_toml(tables))

    def log_metrics(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Appends one line to `metrics.jsonl`; a number that is not finite becomes null."""
        if self._metrics is None:
            self._metrics = (self.path / METRICS).open("a", encoding="utf-8")
        clean = {k: _finite(v) for k, v in metrics.items()}
        self._metrics.write(json.dumps({"step": step, **clean}, default=repr) + "\n")
        self._metrics.flush()

    def close(self) -> None:
        """Closes the metrics file; logging reopens it."""
        if self._metrics is not None:
            self._metrics.close()
            self._metrics = None


def next_free(path: Path) -> Path:
    """The first of `path-001`, `path-002`, … that does not exist."""
    taken = re.compile(re.escape(path.name) + r"-(\d+)")
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    last = max((int(m[1]) for m in map(taken.fullmatch, names) if m), default=0)
    return path.with_name(f"{path.name}-{last + 1:03d}")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_toml(tables: Mapping[str, Any]) -> str:
    """Writes nested dictionaries as TOML; None is left out, since TOML has none."""
    lines: list[str] = []
    _toml_table(tables, (), lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml_table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    nested = {k: v for k, v in table.items() if isinstance(v, Mapping) and v}
    plain = {k: v for k, v in table.items() if v is not None and k not in nested}
    if path and (plain or not nested):
        lines.append(f"\n[{'.'.join(map(_toml_key, path))}]")
    lines.extend(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in plain.items())
    for key, value in nested.items():
        _toml_table(value, (*path, key), lines)


def _toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        # JSON's escapes are TOML's, save that TOML also wants DEL escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_toml_key(str(k))} = {_toml_value(v)}" for k, v in value.items() if v is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml_value(v) for v in value if v is not None) + "]"
    return _toml_value(str(value))


def _finite(value: Any) -> Any:
    # NaN and the infinities are no JSON; readers of the file would stumble over them.
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _write_whole(path: Path, text: str) -> None:
    """Writes the file so that a reader never meets half of it."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
