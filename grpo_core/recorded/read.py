"""Reads the completions that a run recorded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from grpo_core.errors import DataError
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.columns import from_table
from grpo_core.recorded.join import TornError, joined
from grpo_core.recorded.names import COMPLETIONS, files_of
from grpo_core.sections import Mode


def read_record(
    run: Path, mode: Mode | None = None, torn: list[str] | None = None
) -> Iterator[RecordedBatch]:
    """The generations of a run, in order, each whole; those that were set aside are left out.

    Args:
        run: The run's directory.
        mode: Only those of training, or of evaluations.
        torn: Gets a line for each generation that is left out, since not all of its processes'
            files are there: its groups would be others.

    Raises:
        DataError: A file is broken, or none of this version.
    """
    files = (
        (name, path) for name, path in files_of(run / COMPLETIONS) if mode in (None, name.mode)
    )
    for _, of_generation in groupby(files, lambda found: found[0][:3]):
        found = list(of_generation)
        try:
            yield joined([_read(path) for _, path in found])
        except TornError as exc:
            if torn is not None:
                torn.append(f"{found[0][1].name}: {exc}")


def _read(path: Path) -> RecordedBatch:
    try:
        with path.open("rb") as file:
            table = pa.parquet.read_table(file)
        return from_table(table)
    except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
        first = str(exc).split("\n", 1)[0]
        raise DataError(
            f"{path} cannot be read: {first}. Move it elsewhere to read the others"
        ) from exc
