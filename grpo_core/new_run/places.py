"""Paths as people type them, in a shell, and as the config has them: relative to itself."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from grpo_core.errors import ConfigError
from grpo_core.source import locate


def data_path(path: str, folder: Path) -> str:
    """`[data] path` for what leads to the data from here.

    Args:
        path: File, folder, hub name or function.
        folder: The config's folder.

    Raises:
        DataError: It leads nowhere.
    """
    kind = locate(path, Path()).kind
    if kind == "function":
        return code_path(path, folder)
    return path if kind == "hub" else _relative(path, folder)


def code_path(name: str, folder: Path) -> str:
    """The name of a function or reward; `file.py:attr` as seen from the config's folder."""
    file, colon, attr = name.strip().rpartition(":")
    return f"{_relative(file, folder)}:{attr}" if colon and file.endswith(".py") else name


def model_name(name: str, folder: Path) -> str:
    """`[model] name` for a folder as seen from here, or a hub id as it is.

    A folder that is not there stays a folder, so that it is missed and not looked for on the hub.
    """
    if Path(name).expanduser().is_dir():
        return _relative(name, folder)
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        made = _relative(name, folder)
        return made if made.startswith((".", "/")) else f"./{made}"
    return name


def _relative(path: str, folder: Path) -> str:
    """The way from the config's folder; an absolute path stays."""
    place = Path(path).expanduser()
    if not place.is_absolute():
        # Behind a link to a folder, .. leads elsewhere than the text says.
        whole = place.parent.resolve() / place.name if ".." in place.parts else place.absolute()
        place = Path(os.path.relpath(whole, folder.resolve()))
    try:
        str(place).encode("utf-8")
    except UnicodeEncodeError:
        text = f"the path {str(place)!r} is no UTF-8, as TOML has to be; rename the file or folder"
        raise ConfigError(text) from None
    return str(place)


def check_free(path: Path) -> None:
    """Refuses a place where no new file can be made.

    Raises:
        ConfigError: Something is there already, or the folder is not.
    """
    if not path.parent.is_dir():
        text = f"{path} cannot be written: there is no folder {path.parent}; make it first"
        raise ConfigError(text)
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name the new file in it: {path / 'run.toml'}")
    if os.path.lexists(path):
        numbered = (path.with_name(f"{path.stem}-{i}{path.suffix}") for i in itertools.count(2))
        free = next(p for p in numbered if not os.path.lexists(p))
        raise ConfigError(f"{path} exists already and is not overwritten; free is {free}")


def write_new(path: Path, text: str) -> None:
    """Writes a new file, whole or not at all.

    Raises:
        ConfigError: Something is there by now, or it cannot be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        try:
            os.link(partial, path)  # fails where a rename would overwrite
        except FileExistsError:
            check_free(path)
            raise
        except OSError:  # a file system without hard links
            check_free(path)
            partial.rename(path)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror or exc}") from exc
    finally:
        partial.unlink(missing_ok=True)
