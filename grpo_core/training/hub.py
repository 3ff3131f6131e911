"""Data sets of the library `datasets`: from the hub, and from a folder of `save_to_disk`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets

from grpo_core.errors import DataError


def from_hub(path: str, name: str | None, split: str) -> Any:
    """A split of a data set of the hub, from the cache where it is there.

    Raises:
        DataError: There is none, or it cannot be reached.
    """
    try:
        return datasets.load_dataset(path, name, split=split)
    except (datasets.exceptions.DatasetsError, OSError, ValueError, RuntimeError) as exc:
        first = str(exc).strip().split("\n", 1)[0]
        raise DataError(
            f"{path!r} is neither a file or folder here nor a hub data set that can be loaded "
            f"(configuration {name or 'default'}, split {split}): {type(exc).__name__}: {first}"
        ) from exc


def from_disk(folder: Path) -> Any:
    """What `save_to_disk` left in a folder: a data set, or a dictionary of them by split.

    Raises:
        DataError: A file of it is missing or damaged.
    """
    try:
        return datasets.load_from_disk(str(folder))
    except (OSError, ValueError, KeyError, TypeError) as exc:
        first = str(exc).strip().split("\n", 1)[0]
        raise DataError(f"{folder} cannot be loaded: {type(exc).__name__}: {first}") from exc
