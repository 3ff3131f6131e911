"""The trainer's checkpoints on disk: which are whole, and of which run each is."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from grpo_core.errors import RunDirError
from grpo_core.training.ranks import of_an_exchange

# In each checkpoint: where its run's directory lies.
MARK = "grpo_run.json"
_STATE = "trainer_state.json"
_NAME = re.compile(re.escape(PREFIX_CHECKPOINT_DIR) + r"-(\d+)")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_HEADER = 100 * 2**20  # bytes; the longest header that safetensors itself reads
_LITTLE = 2**20  # bytes; a checkpoint takes more


def checkpoint_of(folder: Path, step: int) -> Path:
    """Where the trainer saves the checkpoint of a step."""
    return folder / f"{PREFIX_CHECKPOINT_DIR}-{step}"


def begin(checkpoint: Path, run: Path) -> None:
    """Makes the folder of a checkpoint, with the mark of its run.

    Not once it is written: the trainer removes the older ones before it returns.
    """
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / _STATE).unlink(missing_ok=True)  # another run's, which would make it whole
    mark(checkpoint, run)


def mark(checkpoint: Path, run: Path) -> None:
    """Notes in a checkpoint which run it is of."""
    way = os.path.relpath(run.resolve(), checkpoint.resolve())
    (checkpoint / MARK).write_text(json.dumps({"run": way}) + "\n", encoding="utf-8")


def leave_behind(folder: Path, step: int) -> None:
    """Parts the checkpoints of later steps from their run, which goes on behind an earlier one.

    They stay, but no run goes on with them by itself: its steps are others now.

    Args:
        folder: A folder of checkpoints.
        step: The step of the checkpoint that is gone on with; of its run are those meant.
    """
    run = run_of(checkpoint_of(folder, step))
    for path in _checkpoints(folder):
        steps = steps_of(path)
        if run is not None and steps is not None and steps[0] > step and run_of(path) == run:
            (path / MARK).write_text(json.dumps({"run": None}) + "\n", encoding="utf-8")


def _is_left(checkpoint: Path) -> bool:
    try:
        return bool(json.loads((checkpoint / MARK).read_text(encoding="utf-8"))["run"] is None)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def run_of(checkpoint: Path) -> Path | None:
    """The directory of a checkpoint's run; None if it is not known or not there."""
    try:
        way = json.loads((checkpoint / MARK).read_text(encoding="utf-8"))["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    run = (checkpoint / str(way)).resolve()
    return run if way is not None and run.is_dir() else None


def steps_of(checkpoint: Path) -> tuple[int, int] | None:
    """Steps done and steps of the whole run; None if the checkpoint is not whole.

    The trainer writes its state behind weights, optimizer and random state. But where the machine
    crashed, each of the files may be cut off.
    """
    if any(_is_cut_off(path) for path in checkpoint.glob("*.*")):
        return None
    try:
        state = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
        return int(state["global_step"]), int(state["max_steps"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_cut_off(file: Path) -> bool:
    """True if the end of a file of weights or of state is missing."""
    if file.suffix == ".safetensors":
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            try:
                header = json.loads(opened.read(min(length, _HEADER)))
                ends = [
                    t["data_offsets"][1] for name, t in header.items() if name != "__metadata__"
                ]
            except (ValueError, KeyError, TypeError, AttributeError):
                return True
        return file.stat().st_size < 8 + length + max(ends, default=0)
    return file.suffix in (".pt", ".pth") and not zipfile.is_zipfile(file)


def last_whole(folder: Path, run: Path | None = None) -> Path | None:
    """The last whole checkpoint that was not left behind.

    Args:
        folder: A folder of checkpoints.
        run: Only those of this run, and those in its own directory, too.
    """
    found = [
        (steps, path)
        for path in {*_checkpoints(folder), *(() if run is None else _checkpoints(run))}
        if (steps := steps_of(path))
        and (run_of(path) == run.resolve() if run is not None else not _is_left(path))
    ]
    return max(found)[1] if found else None


def remove_behind(folder: Path, step: int) -> list[Path]:
    """Removes the checkpoints of later steps and those that are not whole; returns these."""
    broken = []
    for path in _checkpoints(folder):
        steps = steps_of(path)
        if steps is None or not (path / MARK).is_file():
            broken.append(path)
        elif steps[0] <= step:
            continue
        shutil.rmtree(path)
    return broken


@contextlib.contextmanager
def written_whole(folder: Path, *, remove: bool = True) -> Iterator[None]:
    """Removes a folder that could not be finished.

    Args:
        folder: The folder.
        remove: False where another process removes it, which may be writing to it.

    Raises:
        RunDirError: It could not be written. On a full disk each library has an error of its own,
            and torch's speaks of positions.
    """
    try:
        yield
    except BaseException as exc:  # Ctrl-C too: a part of a checkpoint would be taken for one
        full = is_full(exc) or _free(folder) < _LITTLE
        if remove:
            shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(exc, OSError | RuntimeError | SafetensorError) or of_an_exchange(exc):
            raise
        why = os.strerror(errno.ENOSPC) if full else str(exc)
        raise RunDirError(f"{folder} cannot be written: {why}") from exc


def is_full(exc: BaseException) -> bool:
    """True if an error says that a disk had no room."""
    return (isinstance(exc, OSError) and exc.errno in _FULL) or (
        os.strerror(errno.ENOSPC) in str(exc)
    )


def _free(folder: Path) -> float:
    """Bytes that are free on the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


def _checkpoints(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [p for p in folder.iterdir() if _NAME.fullmatch(p.name) and p.is_dir()]
