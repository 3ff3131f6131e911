"""Reads the completions that a run recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from grpo_core.errors import DataError
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.columns import about_of, from_table
from grpo_core.recorded.join import TornError, joined
from grpo_core.recorded.merge import Generation, cut_out, generations
from grpo_core.recorded.names import COMPLETIONS, MergedName, RecordName, files_of, merged_of
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
    folder = run / COMPLETIONS
    places = _places(folder)
    open_files: dict[int, tuple[Path, Any]] = {}  # the merged file that is read of each rank
    for key in sorted(places):
        if mode not in (None, key.mode):
            continue
        parts = []
        for rank, place in sorted(places[key].items()):
            try:
                parts.append(_read(place, key, rank, open_files))
            except FileNotFoundError:  # a run that goes on has merged it meanwhile
                now = _places(folder).get(key, {}).get(rank)
                if now is not None:
                    parts.append(_read(now, key, rank, open_files))
        try:
            if parts:
                yield joined(parts)
        except TornError as exc:
            if torn is not None:
                name = RecordName(key.step, key.mode, key.part, parts[0].rank)
                torn.append(f"{name.file}: {exc}")


class _Key(NamedTuple):
    """A generation of the run."""

    step: int
    mode: Mode
    part: int


class _Place(NamedTuple):
    """Where a rank's rows of a generation lie; in a file of their own if `within` is None."""

    path: Path
    within: Generation | None


def _places(folder: Path) -> Mapping[_Key, Mapping[int, _Place]]:
    """Where each generation lies, by rank.

    One that lies in a file of its own and in a merged one, since a process was killed between
    two steps of a merge, is the same in both.
    """
    places: dict[_Key, dict[int, _Place]] = {}
    for merged, path in merged_of(folder):
        for g in _generations(merged, path):
            place = _Place(path, g)
            places.setdefault(_Key(g.step, merged.mode, g.part), {})[merged.rank] = place
    for name, path in files_of(folder):
        key = _Key(name.step, name.mode, name.part)
        places.setdefault(key, {})[name.rank] = _Place(path, None)
    return places


def _generations(name: MergedName, path: Path) -> list[Generation]:
    try:
        with path.open("rb") as file:
            schema = pa.parquet.read_schema(file)
        about = about_of(schema)
        found = generations(schema)
    except FileNotFoundError:  # set aside meanwhile
        return []
    except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
        raise _broken(path, exc) from exc
    if (about["mode"], about["rank"]) != (name.mode, name.rank):
        raise DataError(_misnamed(path, about))
    return found


def _read(
    place: _Place, key: _Key, rank: int, open_files: dict[int, tuple[Path, Any]]
) -> RecordedBatch:
    path, within = place
    try:
        if within is not None and rank in open_files and open_files[rank][0] == path:
            table = open_files[rank][1]
        else:
            with path.open("rb") as file:
                table = pa.parquet.read_table(file)
        if within is not None:
            open_files[rank] = (path, table)
            table = cut_out(table, within)
        batch = from_table(table)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
        raise _broken(path, exc) from exc
    if (batch.step, batch.mode, batch.part, batch.rank) != (*key, rank):
        raise DataError(_misnamed(path, vars(batch)))
    return batch


def _broken(path: Path, exc: Exception) -> DataError:
    first = str(exc).split("\n", 1)[0].rstrip(".")
    return DataError(f"{path} cannot be read: {first}. Move it elsewhere to read the others")


def _misnamed(path: Path, about: Mapping[str, Any]) -> str:
    name = RecordName(about["step"], about["mode"], about["part"], about["rank"])
    return f"{path} is another file than its name says: it was {name.file}. Move it elsewhere"
