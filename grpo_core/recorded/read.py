"""Reads the completions that a run recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from grpo_core.errors import DataError
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.columns import from_table
from grpo_core.recorded.names import COMPLETIONS, files_of
from grpo_core.sections import Mode


def read_record(run: Path, mode: Mode | None = None) -> Iterator[RecordedBatch]:
    """The generations of a run, in order; those that were set aside are left out.

    Args:
        run: The run's directory.
        mode: Only those of training, or of evaluations.

    Raises:
        DataError: A file is broken, or none of this version.
    """
    for name, path in files_of(run / COMPLETIONS):
        if mode is not None and name.mode != mode:
            continue
        try:
            with path.open("rb") as file:
                table = pa.parquet.read_table(file)
            yield from_table(table)
        except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
            first = str(exc).split("\n", 1)[0]
            raise DataError(f"{path} cannot be read: {first}") from exc
