"""`CompletionRecord`: writes the completions of a run, a file for each generation."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet

from grpo_core.errors import RunDirError
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.columns import to_table
from grpo_core.recorded.merge import cut_out, generations, mergeable, merged
from grpo_core.recorded.names import (
    PARTIAL,
    MergedName,
    RecordName,
    files_of,
    merged_of,
    name_of,
    set_aside,
)
from grpo_core.sections import Mode, RecordSection

# Files of a generation each at which those of earlier steps are merged.
MERGE_AT = 256


class CompletionRecord:
    """The record of one process of a run.

    Attributes:
        folder: Where its files lie; made with the first of them.
        rank: The number of the process.
        world: How many processes record, each in files of its own.
    """

    def __init__(self, folder: Path, section: RecordSection, rank: int = 0, world: int = 1) -> None:
        """Takes what is to be kept; writes nothing yet.

        Raises:
            ValueError: There is no such rank among so many.
        """
        if not 0 <= rank < world:  # it would set nothing aside
            raise ValueError(f"expected a rank from 0 to {world - 1}, got {rank}")
        self.folder = folder
        self.rank = rank
        self.world = world
        self._section = section
        self._parts: Counter[tuple[Mode, int]] = Counter()
        self._n_single = 0

    def begin(self, step: int) -> None:
        """Sets aside what was recorded of later steps, which will be generated again.

        What a killed process left half done goes. The files of ranks that there were and are no
        more are shared out among those that are.

        Args:
            step: Steps that are done.

        Raises:
            RunDirError: It cannot be done, as on a full disk.
        """
        self._parts.clear()
        self._n_single = 0
        if not self.folder.is_dir():
            return
        for path in self.folder.glob(f".*.parquet{PARTIAL}"):
            name = name_of(path.with_name(path.name[1 : -len(PARTIAL)]))
            if name is not None and self._is_mine(name.rank):
                path.unlink()
        try:
            self._set_aside(step + 1)
            self._remove_merged()
        except OSError as exc:
            raise RunDirError(f"{self.folder} cannot be written: {exc.strerror or exc}") from exc

    def _is_mine(self, rank: int) -> bool:
        return rank % self.world == self.rank

    def _set_aside(self, low: int, high: float = math.inf, mode: Mode | None = None) -> None:
        """Sets aside what was recorded of steps from `low` to `high`."""
        for single, path in files_of(self.folder):
            if (
                self._is_mine(single.rank)
                and low <= single.step <= high
                and mode in (None, single.mode)
            ):
                set_aside(path)
        for whole, path in merged_of(self.folder):
            if not self._is_mine(whole.rank) or mode not in (None, whole.mode):
                continue
            if whole.last < low or whole.first > high:
                continue
            table = _merged_table(path)
            found = generations(table.schema)
            # The other steps stay. Their file is written first: what lies in two is the same.
            for kept in (
                [g for g in found if g.step < low],
                [g for g in found if g.step > high],
            ):
                if kept:
                    name = whole._replace(first=kept[0].step, last=kept[-1].step)
                    part = merged([cut_out(table, g) for g in kept])
                    _write_whole(self.folder / name.file, part)
            set_aside(path)

    def _remove_merged(self) -> None:
        """Removes files that a killed process had merged already; counts the others."""
        there = set()
        for whole, path in merged_of(self.folder):
            if self._is_mine(whole.rank):
                for g in generations(_merged_table(path, columns=[]).schema):
                    there.add(RecordName(g.step, whole.mode, g.part, whole.rank))
        for name, path in files_of(self.folder):
            if name in there:
                path.unlink()
            elif name.rank == self.rank:
                self._n_single += 1

    def _merge(self, step: int) -> None:
        """Merges the files of earlier steps; a kill leaves them, or the merged one, or both."""
        for mode in get_args(Mode):
            files = {
                path: name
                for name, path in files_of(self.folder)
                if (name.rank, name.mode) == (self.rank, mode) and name.step < step
            }
            for found in mergeable(files):
                steps = [files[path].step for path, _ in found]
                target = self.folder / MergedName(mode, steps[0], steps[-1], self.rank).file
                if target.exists():  # of an evaluation that was done once more
                    continue
                _write_whole(target, merged([table for _, table in found]))
                for path, _ in found:
                    path.unlink()
        self._n_single = 0

    def next_part(self, mode: Mode, step: int) -> int:
        """Which generation of the step is next, from 1."""
        self._parts[mode, step] += 1
        return self._parts[mode, step]

    def write(self, batch: RecordedBatch) -> None:
        """Writes a generation; its file is there whole or not at all.

        Raises:
            RunDirError: It cannot be written, as on a full disk.
        """
        keep = self._section.completions
        if keep == "off":
            return
        if keep != "all":
            batch = batch.first(keep)
        name = RecordName(batch.step, batch.mode, batch.part, batch.rank)
        path = self.folder / name.file
        try:
            self.folder.mkdir(exist_ok=True)
            if batch.mode == "eval" and batch.part == 1:
                self._set_aside(batch.step, batch.step, "eval")  # all parts of an earlier one
            elif path.exists():
                set_aside(path)
            _write_whole(path, to_table(batch, raw_text=self._section.raw_text))
            self._n_single += 1
            if self._n_single >= MERGE_AT:
                self._merge(batch.step)
        except OSError as exc:
            raise RunDirError(f"{path} cannot be written: {exc.strerror or exc}") from exc


def _merged_table(path: Path, columns: list[str] | None = None) -> Any:
    """Its table, and at least its metadata.

    Raises:
        RunDirError: It is broken.
    """
    try:
        with path.open("rb") as file:
            table = pa.parquet.read_table(file, columns=columns)
        generations(table.schema)
    except (pa.ArrowException, ValueError, KeyError) as exc:
        first = str(exc).split("\n", 1)[0]
        raise RunDirError(f"{path} cannot be read: {first}. Move it elsewhere to go on") from exc
    return table


def _write_whole(path: Path, table: Any) -> None:
    partial = path.with_name(f".{path.name}{PARTIAL}")
    try:
        with partial.open("wb") as file:
            pa.parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:  # Ctrl-C too
        partial.unlink(missing_ok=True)
        raise
