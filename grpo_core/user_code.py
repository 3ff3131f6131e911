"""Calls a function that a config names, such as one that returns the rows of `[data]`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grpo_core.errors import DataError, near

_FUNCTION = re.compile(r"(?P<module>[A-Za-z_][\w.]*|.+\.py):(?P<name>[A-Za-z_]\w*)")


def is_function(path: str) -> bool:
    """True if the text has the form `package.module:function` or `file.py:function`."""
    return _FUNCTION.fullmatch(path) is not None


def resolved_function(path: str, folder: Path) -> str:
    """The function with the file it is in, where that is known without importing it."""
    match = _FUNCTION.fullmatch(path)
    assert match is not None
    module = match["module"]
    if module.endswith(".py"):
        files = [folder / Path(module).expanduser()]
    else:
        files = _beside(module, folder)
    found = (os.path.realpath(file) for file in files if file.is_file())
    return f"{next(found, module)}:{match['name']}"


def call_function(path: str, folder: Path, limit: int | None = None) -> Any:
    """Calls a function without arguments.

    Modules beside the config can be imported, and those beside the file of `file.py:function`.

    Args:
        path: `package.module:function` or `file.py:function`.
        folder: The config's folder.
        limit: Most items to take of a generator, or of another iterable without length.

    Returns:
        What it returns; a generator as a list, since it is the user's code that runs in it.

    Raises:
        DataError: It cannot be imported, is not there or raises.
    """
    match = _FUNCTION.fullmatch(path)
    assert match is not None
    folders = [folder]
    if match["module"].endswith(".py"):
        folders.append(_root(folder / Path(match["module"]).expanduser()))
    with _importable(folders):
        module = _module(match["module"], folder, path)
        function = getattr(module, match["name"], None)
        if not callable(function):
            names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            raise DataError(
                f"{path}: {match['module']} has no function {match['name']!r}."
                f"{near(match['name'], names)}"
            )
        return _guarded(lambda: _drained(function(), limit), f"{path} raised")


def _drained(made: Any, limit: int | None) -> Any:
    lazy = isinstance(made, Iterable) and not isinstance(made, Sized)
    if not lazy:
        return made
    # A generator may yield one dictionary again and again, with other values in it.
    rows = itertools.islice(made, limit)
    return [dict(row) if isinstance(row, dict) else row for row in rows]


def _beside(module: str, folder: Path) -> list[Path]:
    """The files that a module beside the config can be."""
    beside = folder.joinpath(*module.split("."))
    return [beside.with_name(beside.name + ".py"), beside / "__init__.py"]


def _root(file: Path) -> Path:
    """The folder of a file; of a package's, that in which the package lies."""
    folder = file.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _module(name: str, folder: Path, path: str) -> Any:
    if not name.endswith(".py"):
        module = _guarded(
            lambda: importlib.import_module(name), f"{path}: {name} cannot be imported"
        )
        loaded = getattr(module, "__file__", None)
        for file in _beside(name, folder):
            if file.is_file() and (loaded is None or file.resolve() != Path(loaded).resolve()):
                raise DataError(
                    f"{path}: {name} was imported from {loaded}, not from {file}; write "
                    f"'{file.name}:…' for the file, or give it another name"
                )
        return module
    file = folder / Path(name).expanduser()
    if not file.is_file():
        raise DataError(f"{path}: there is no file {file}")
    digest = hashlib.sha256(str(file.resolve()).encode() + b"\0" + file.read_bytes()).hexdigest()
    spec = importlib.util.spec_from_file_location(f"grpo_data_{digest[:12]}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    loader = spec.loader
    try:
        _guarded(lambda: loader.exec_module(module), f"{path}: {file} cannot be imported")
    except DataError:
        del sys.modules[spec.name]
        raise
    return module


def _guarded(call: Callable[[], Any], what: str) -> Any:
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # the code is the user's; whatever it raises is the reason
        raise DataError(f"{what}: {type(exc).__name__}: {exc}") from exc


@contextmanager
def _importable(folders: Iterable[Path]) -> Iterator[None]:
    """Lets modules in the folders be imported, as those beside a script are."""
    entries = [str(folder.resolve()) for folder in folders]
    sys.path[:0] = entries
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for entry in entries:
            sys.path.remove(entry)
