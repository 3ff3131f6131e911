"""The trainer's checkpoints on disk: which are whole, and of which run each is."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import shutil
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


def run_of(checkpoint: Path) -> Path | None:
    """The directory of a checkpoint's run; None if it is not known or not there."""
    try:
        way = json.loads((checkpoint / MARK).read_text(encoding="utf-8"))["run"]
        run = (checkpoint / str(way)).resolve()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return run if run.is_dir() else None


def steps_of(checkpoint: Path) -> tuple[int, int] | None:
    """Steps done and steps of the whole run; None if the checkpoint is not whole.

    The trainer writes its state behind weights, optimizer and random state.
    """
    try:
        state = json.loads((checkpoint / _STATE).read_text(encoding="utf-8"))
        return int(state["global_step"]), int(state["max_steps"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def last_whole(folder: Path, run: Path | None = None) -> Path | None:
    """The last whole checkpoint.

    Args:
        folder: A folder of checkpoints.
        run: Only those of this run, and those in its own directory, too.
    """
    found = [
        (steps, path)
        for path in {*_checkpoints(folder), *(() if run is None else _checkpoints(run))}
        if (steps := steps_of(path)) and (run is None or run_of(path) == run.resolve())
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
