"""Finds and reads what `[data]` names: a file, a folder, a hub data set or a function."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from grpo_core.errors import DataError, MissingExtraError, listed, near
from grpo_core.files import Place, Row, Rows, cut_times, files_in, lost_time, read_rows, shown
from grpo_core.sections import DataSection
from grpo_core.user_code import call_function, is_function, resolved_function

_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")
# What is called so is meant as a file, even if it is none that can be read.
_FILE_ENDING = re.compile(
    r"\.(jsonl?|ndjson|parquet|csv|tsv|txt|arrow|xlsx?|gz|zip|zst|xz|bz2|pkl|py|toml|ya?ml)$",
    re.IGNORECASE,
)
# A slice of a split of the hub that is all of it.
_ALL = re.compile(r"\[(0%?)?:(100%)?\]$")
# What `datasets.save_to_disk` leaves: of several splits, of one.
_SAVED = (("dataset_dict.json",), ("dataset_info.json", "state.json"))


class Datasets(Protocol):
    """What needs the library `datasets`; the module grpo_core.training.hub is one."""

    def from_hub(self, path: str, name: str | None, split: str) -> Any:
        """A split of a data set of the hub."""

    def from_disk(self, folder: Path) -> Any:
        """What was saved in a folder with `save_to_disk`."""


class Located(NamedTuple):
    """What a path leads to.

    Attributes:
        kind: What it is.
        path: The file or folder, as a path; else the name as it was given.
    """

    kind: Literal["file", "folder", "saved", "hub", "function"]
    path: str


class Loaded(NamedTuple):
    """Rows, in the order they are used in.

    Attributes:
        rows: The rows.
        places: Where each is from.
        fingerprint: What the manifest keeps of the data.
    """

    rows: list[Row]
    places: list[Place]
    fingerprint: dict[str, Any]


def locate(path: str, folder: Path) -> Located:
    """Decides what a path is: what exists goes first, and only a hub name may be downloaded.

    Args:
        path: The path, as the config has it.
        folder: What relative paths are relative to.

    Raises:
        DataError: It looks like a path and leads nowhere, or looks like nothing known.
    """
    if "\0" in path:
        raise DataError(f"there can be no data file {path!r}")
    try:
        place = folder / Path(path).expanduser()
        exists = os.path.lexists(place)
        place.parent.is_dir()
    except (OSError, RuntimeError) as exc:  # a name that is too long, a home that does not exist
        raise DataError(f"there can be no data file {path[:200]!r}: {exc}") from exc
    if exists:
        if not place.is_dir():
            return Located("file", str(place))
        saved = any(all((place / name).is_file() for name in names) for names in _SAVED)
        return Located("saved" if saved else "folder", str(place))
    if "://" in path:
        raise DataError(
            f"{path!r} is a URL, and none is read; save it beside the config, or name a hub data "
            f"set: <owner>/<name>"
        )
    if is_function(path):
        return Located("function", path)
    if not _HUB_NAME.fullmatch(path) or _FILE_ENDING.search(path):
        raise DataError(_nothing(path, place))
    if place.parent.is_dir() and place.parent != folder:
        raise DataError(_nothing(path, place) + "; no hub name, since its folder exists")
    if Path(path).exists():  # `datasets` would take it for what was meant
        raise DataError(
            f"{_nothing(path, place)}; there is one in the working directory, but paths are "
            f"relative to the config: write {str(Path(path).absolute())!r}"
        )
    return Located("hub", path)


def identity(section: DataSection, folder: Path) -> tuple[str, ...]:
    """What a section reads, limit and seed aside; equal however it is spelt.

    Args:
        section: The section.
        folder: What relative paths are relative to.

    Raises:
        DataError: It leads nowhere.
    """
    kind, path = locate(section.path, folder)
    if kind == "function":
        path = resolved_function(path, folder)
    elif kind != "hub":
        path = os.path.realpath(path)
    # Without a split the rows are mostly those of "train".
    return kind, path, section.name or "default", _ALL.sub("", section.split or "train")


def _nothing(path: str, place: Path) -> str:
    beside = [p.name for p in place.parent.iterdir()] if place.parent.is_dir() else []
    text = f"there is no data file {place}"
    if hint := near(place.name, beside):
        text += f".{hint}"
    elif "/" not in path and not _FILE_ENDING.search(path):
        text += "; a hub name is <owner>/<name>"
    return text


def load(section: DataSection, folder: Path, datasets: Datasets | None, where: str) -> Loaded:
    """Reads the rows that a section names.

    Args:
        section: The section.
        folder: What relative paths are relative to.
        datasets: Loads from the hub and from `save_to_disk`; None if that is not installed.
        where: Path of the section, for the errors.

    Raises:
        DataError: It leads nowhere, cannot be read or has no rows.
        MissingExtraError: A library is needed that is not installed.
    """
    found = locate(section.path, folder)
    if section.name is not None and found.kind != "hub":
        raise DataError(f"{where}.name: only hub data sets have configurations; leave it out")
    if found.kind in ("file", "folder"):
        try:
            loaded = _from_files(found, section)
        except OSError as exc:  # a folder that cannot be listed
            raise DataError(f"{found.path} cannot be read: {exc.strerror or exc}") from exc
    elif found.kind == "function":
        limit = section.limit if section.seed is None else None
        made = call_function(found.path, folder, limit)
        loaded = _from_object(made, f"{found.path}, row", section, {"path": found.path})
    else:
        if datasets is None:
            raise MissingExtraError(f"reading {found.path}", "train")
        if found.kind == "hub":
            split = section.split or "train"
            made = datasets.from_hub(found.path, section.name, split)
            chosen = {"path": found.path, "name": section.name, "split": split}
            section = section.model_copy(update={"split": None})
            loaded = _from_object(made, f"{found.path}, row", section, chosen)
        else:
            made = datasets.from_disk(Path(found.path))
            chosen = {"path": found.path, "split": section.split}
            loaded = _from_object(made, f"{found.path}, row", section, chosen)
    if not loaded.rows:
        raise DataError(f"{found.path} has no rows")
    return loaded


def chosen_rows(n: int, limit: int | None, seed: int | None) -> Sequence[int]:
    """Numbers of the rows that are used, in order: shuffled if there is a seed, then cut off."""
    order: Sequence[int] = range(n)
    if seed is not None:
        order = random.Random(seed).sample(order, n)
    return order[:limit]


def held_out(n: int, fraction: float, seed: int) -> list[int]:
    """Draws the numbers of the rows to hold out of n, in ascending order; at least one."""
    k = max(1, round(n * fraction))
    return sorted(random.Random(seed).sample(range(n), k))


def _from_files(found: Located, section: DataSection) -> Loaded:
    path = Path(found.path)
    if found.kind == "file":
        if section.split is not None:
            raise DataError(f"{path} is a file and has no split {section.split!r}; leave it out")
        files = [path]
    else:
        files = files_in(path, section.split)
    rows = _picked(itertools.chain.from_iterable(map(read_rows, files)), section)
    hashes = {str(p.relative_to(path) if p != path else p): _sha256(p) for p in files}
    fingerprint: dict[str, Any] = {"path": str(path)}
    if found.kind == "file":
        fingerprint["sha256"] = hashes[str(path)]
    else:
        fingerprint |= {"split": section.split, "files": hashes}
    return Loaded([row for _, row in rows], [place for place, _ in rows], fingerprint)


def _picked(rows: Rows, section: DataSection) -> list[tuple[Place, Row]]:
    if section.seed is None:  # what is behind the limit is not even read
        return list(itertools.islice(rows, section.limit))
    every = list(rows)
    return [every[i] for i in chosen_rows(len(every), section.limit, section.seed)]


def _from_object(
    made: Any, label: str, section: DataSection, fingerprint: dict[str, Any]
) -> Loaded:
    """Rows of a `datasets.Dataset` (or a dictionary of them by split) or of any iterable."""
    made = _split_of(made, section, fingerprint["path"])
    if _is_dataset(made):
        order = chosen_rows(len(made), section.limit, section.seed)
        fingerprint |= {"fingerprint": getattr(made, "_fingerprint", None)}
        _once(made.column_names, fingerprint["path"])
        chosen = made.select(order)
        places = [Place(label, i) for i in order]
        if "time64[ns]" in str(getattr(chosen, "features", "")):
            for i, (column, value) in cut_times(chosen.with_format("arrow")[:]).items():
                raise lost_time(column, value, places[i])
        return Loaded(chosen.to_list(), places, fingerprint)
    if isinstance(made, str | bytes | Mapping) or not isinstance(made, Iterable):
        raise DataError(
            f"{fingerprint['path']} returned {type(made).__name__}: {shown(repr(made))}; expected "
            f"rows (a list of dictionaries) or a datasets.Dataset"
        )
    picked = _picked(_checked(made, label), section)
    digest = hashlib.sha256()
    for _, row in picked:
        digest.update(json.dumps(row, default=repr).encode() + b"\n")
    fingerprint["sha256_of_rows"] = digest.hexdigest()
    return Loaded([row for _, row in picked], [place for place, _ in picked], fingerprint)


def _checked(rows: Iterable[Any], label: str) -> Rows:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or not all(isinstance(key, str) for key in row):
            raise DataError(
                f"{Place(label, i)}: expected a dictionary with texts as keys, got "
                f"{shown(repr(row))}"
            )
        yield Place(label, i), dict(row)


def _is_dataset(made: Any) -> bool:
    return all(hasattr(made, name) for name in ("column_names", "select", "to_list"))


def _split_of(made: Any, section: DataSection, path: str) -> Any:
    splits = (
        made
        if isinstance(made, Mapping) and made and all(map(_is_dataset, made.values()))
        else None
    )
    if splits is None:
        if section.split is not None:
            raise DataError(f"{path} has no split {section.split!r}; leave it out")
        return made
    if section.split is not None and section.split not in splits:
        raise DataError(
            f"{path} has no split {section.split!r}.{near(section.split, splits)} Splits are "
            f"{listed(splits)}."
        )
    if section.split is None and len(splits) > 1:
        raise DataError(f"{path} has the splits {listed(splits)}; say which one with split")
    return splits[section.split] if section.split is not None else next(iter(splits.values()))


def _once(names: Sequence[str], where: str) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise DataError(f"{where}: the column {twice[0]!r} is there twice; rename one")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
