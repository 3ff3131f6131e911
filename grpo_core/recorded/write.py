"""`CompletionRecord`: writes the completions of a run, a file for each generation."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from grpo_core.errors import RunDirError
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.columns import to_table
from grpo_core.recorded.names import PARTIAL, RecordName, files_of, name_of, set_aside
from grpo_core.sections import Mode, RecordSection


class CompletionRecord:
    """The record of one process of a run.

    Attributes:
        folder: Where its files lie; made with the first of them.
        rank: The number of the process.
        world: How many processes record, each in files of its own.
    """

    def __init__(self, folder: Path, section: RecordSection, rank: int = 0, world: int = 1) -> None:
        """Takes what is to be kept; writes nothing yet."""
        self.folder = folder
        self.rank = rank
        self.world = world
        self._section = section
        self._parts: Counter[tuple[Mode, int]] = Counter()

    def begin(self, step: int) -> None:
        """Sets aside what was recorded of later steps, which will be generated again.

        What a killed process left half written goes. The files of ranks that there were and are
        no more are shared out among those that are.

        Args:
            step: Steps that are done.
        """
        self._parts.clear()
        if not self.folder.is_dir():
            return
        for path in self.folder.glob(f".*.parquet{PARTIAL}"):
            name = name_of(path.with_name(path.name[1 : -len(PARTIAL)]))
            if name is not None and self._is_mine(name):
                path.unlink()
        for name, path in files_of(self.folder):
            if self._is_mine(name) and name.step > step:
                set_aside(path)

    def _is_mine(self, name: RecordName) -> bool:
        return name.rank % self.world == self.rank

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
            if path.exists():
                set_aside(path)
            _write_whole(path, to_table(batch, raw_text=self._section.raw_text))
        except OSError as exc:
            raise RunDirError(f"{path} cannot be written: {exc.strerror or exc}") from exc


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
