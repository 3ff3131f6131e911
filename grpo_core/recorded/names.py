"""Names of the record's files, and which of them a run that goes on leaves behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grpo_core.sections import Mode

COMPLETIONS = "completions"
SUPERSEDED = "superseded"
PARTIAL = ".partial"

_NAME = re.compile(r"(step|eval)-(\d+)(?:-g(\d+))?-r(\d+)\.parquet")
_WORDS: dict[Mode, str] = {"train": "step", "eval": "eval"}


class RecordName(NamedTuple):
    """What the name of one of the record's files says.

    Attributes:
        step: The step that is trained on it; of an evaluation the steps done before it.
        mode: "train" or "eval".
        part: Which generation of the step, from 1.
        rank: The process that wrote it.
    """

    step: int
    mode: Mode
    part: int
    rank: int

    @property
    def file(self) -> str:
        """The name, such as `step-000120-r0.parquet`, or `step-000120-g2-r0.parquet`."""
        part = f"-g{self.part}" if self.part > 1 else ""
        return f"{_WORDS[self.mode]}-{self.step:06d}{part}-r{self.rank}.parquet"


def name_of(path: Path) -> RecordName | None:
    """What a file's name says; None if it is none of the record's."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    mode: Mode = "train" if match[1] == "step" else "eval"
    return RecordName(int(match[2]), mode, int(match[3] or 1), int(match[4]))


def files_of(folder: Path) -> Iterator[tuple[RecordName, Path]]:
    """The record's files, by step, generation and rank."""
    found = [(name, path) for path in folder.glob("*.parquet") if (name := name_of(path))]
    yield from sorted(found)


def set_aside(path: Path) -> None:
    """Moves a file to `superseded`, where it overwrites none."""
    folder = path.parent / SUPERSEDED
    folder.mkdir(exist_ok=True)
    target, n = folder / path.name, 2
    while target.exists():
        target, n = folder / f"{path.stem}.{n}{path.suffix}", n + 1
    path.replace(target)
