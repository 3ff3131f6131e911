"""The config of a run with which the run can be trained again, from any folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grpo_core.sections import RunConfig
from grpo_core.source import locate
from grpo_core.training.backends import FILES
from grpo_core.user_code import resolved_function


def portable(config: RunConfig) -> dict[str, Any]:
    """The config's tables, with absolute paths where they were relative to the config.

    `[run]` is left out: a run never overwrites another. Names of plugins, modules and the hub stay,
    but a module beside the config becomes its file.

    Args:
        config: A config in which nothing is wrong.
    """
    folder = config.folder.resolve()
    tables = config.model_dump(mode="json", exclude={"source", "run"}, exclude_none=True)
    model = folder / config.model.name
    if model.is_dir():
        tables["model"]["name"] = str(model.resolve())
    for name in ("data", "eval"):
        if "path" in tables.get(name, {}):
            tables[name]["path"] = _data(tables[name]["path"], folder)
    for name in FILES:
        if isinstance(file := tables["train"].get(name), str):
            tables["train"][name] = _path(file, folder)
    for reward in tables["rewards"].values():
        reward["use"] = _code(reward["use"], folder)
        inputs: dict[str, Any] = reward["inputs"]
        for name, source in inputs.items():
            if isinstance(source, dict) and "file" in source:
                inputs[name] = {"file": _path(source["file"], folder)}
    return tables


def _data(path: str, folder: Path) -> str:
    kind, found = locate(path, folder)
    if kind != "function":
        return found
    code = _code(path, folder)
    return resolved_function(path, folder) if code == path else code


def _code(name: str, folder: Path) -> str:
    file, colon, attr = name.strip().rpartition(":")
    return f"{_path(file, folder)}:{attr}" if colon and file.endswith(".py") else name


def _path(path: str, folder: Path) -> str:
    return str(folder / Path(path).expanduser())
