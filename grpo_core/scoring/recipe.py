"""`Recipe`: how a worker process builds a reward, by name and value."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog, Resolved
from grpo_core.discovery import PluginFilter
from grpo_core.errors import ConfigError
from grpo_core.options import build
from grpo_core.scoring.calls import Callee


@dataclass(frozen=True)
class Recipe:
    """What builds the same reward in another process; picklable.

    Attributes:
        use: Name that `Catalog.resolve` takes there: full, `module:attr`, or `file.py:attr` with
            an absolute path.
        options: The reward's options, as the config gave them.
        constants: Inputs that are the same for every row, by name; sent once, not with each call.
        chosen: Which distributions may be used.
        source_sha256: Hash of the file that holds the code, or None; a worker that starts later
            refuses another.
    """

    use: str
    options: Mapping[str, Any]
    constants: Mapping[str, Any]
    chosen: PluginFilter
    source_sha256: str | None = None

    def build(self) -> Callee:
        """Finds and builds the reward.

        Raises:
            GrpoError: It cannot be found or built here.
        """
        resolved = Catalog(self.chosen).resolve(self.use)
        if resolved.info is None:
            raise ConfigError(f"{self.use!r} is no tagged reward")
        if self.source_sha256 not in (None, file_sha256(resolved.target)):
            raise ConfigError(
                f"{self.use!r}: its file was changed since the run began, so that one run would "
                f"be scored by two rewards; start the run anew"
            )
        built = build(resolved.info, self.options)
        return Callee(
            built.function, resolved.info.scope, built.low, built.high, dict(self.constants)
        )


def importable(resolved: Resolved, use: object, folder: Path | None) -> str | None:
    """The name that leads to the reward in another process, or None if no name does.

    Args:
        resolved: The reward.
        use: What the config or the script gave: a name, or the function itself.
        folder: What a relative file is relative to.
    """
    if not isinstance(use, str):
        return _name_of(resolved.target)
    path, _, attr = resolved.name.rpartition(":")
    if path.endswith(".py"):
        return f"{((folder or Path.cwd()) / Path(path).expanduser()).resolve()}:{attr}"
    return resolved.name


def file_sha256(target: Callable[..., Any]) -> str | None:
    """SHA-256 of the file that holds a function or class, or None where there is none."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(target))
        return None if file is None else hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except (TypeError, OSError):  # a builtin, or code typed at a prompt
        return None


def _name_of(target: Callable[..., Any]) -> str | None:
    """`module:attr` of a function, if importing the module anew gives the same code."""
    name, attr = getattr(target, "__module__", None), getattr(target, "__qualname__", "<")
    module = sys.modules.get(str(name))
    file = getattr(module, "__file__", None)
    if module is None or file is None or name == "__main__" or "<" in attr:
        return None
    found: Any = module
    for part in attr.split("."):
        found = getattr(found, part, None)
    if found is not target:  # replaced by a decorator, or a copy
        return None
    path = None
    parts = str(name).split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), path)
        if spec is None:  # a module made by hand, which no other process can import
            return None
        path = spec.submodule_search_locations
    return f"{name}:{attr}" if spec is not None and spec.origin == file else None
