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
_MERGED = re.compile(r"(step|eval)-(\d+)-(\d+)-r(\d+)\.parquet")
_WORDS: dict[Mode, str] = {"train": "step", "eval": "eval"}
_MODES: dict[str, Mode] = {"step": "train", "eval": "eval"}


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


class MergedName(NamedTuple):
    """What the name of a file says into which those of many generations were merged.

    Attributes:
        mode: "train" or "eval".
        first: The first step.
        last: The last step.
        rank: The process that wrote it.
    """

    mode: Mode
    first: int
    last: int
    rank: int

    @property
    def file(self) -> str:
        """The name, such as `step-000001-000256-r0.parquet`."""
        return f"{_WORDS[self.mode]}-{self.first:06d}-{self.last:06d}-r{self.rank}.parquet"


def name_of(path: Path) -> RecordName | MergedName | None:
    """What a file's name says; None if it is none of the record's."""
    if match := _NAME.fullmatch(path.name):
        return RecordName(int(match[2]), _MODES[match[1]], int(match[3] or 1), int(match[4]))
    if match := _MERGED.fullmatch(path.name):
        return MergedName(_MODES[match[1]], int(match[2]), int(match[3]), int(match[4]))
    return None


def files_of(folder: Path) -> Iterator[tuple[RecordName, Path]]:
    """The files of a generation each, by step, generation and rank."""
    found = ((name_of(path), path) for path in folder.glob("*.parquet"))
    yield from sorted((name, path) for name, path in found if isinstance(name, RecordName))


def merged_of(folder: Path) -> Iterator[tuple[MergedName, Path]]:
    """The files of many generations."""
    found = ((name_of(path), path) for path in folder.glob("*.parquet"))
    yield from sorted((name, path) for name, path in found if isinstance(name, MergedName))


def set_aside(path: Path) -> None:
    """Moves a file to `superseded`, where it overwrites none."""
    folder = path.parent / SUPERSEDED
    folder.mkdir(exist_ok=True)
    target, n = folder / path.name, 2
    while target.exists():
        target, n = folder / f"{path.stem}.{n}{path.suffix}", n + 1
    path.replace(target)
