"""Reads a run's TOML file into a `RunConfig`, and finds all that is wrong with it at once."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from grpo_core.batch import batch_problems as batch_problems
from grpo_core.catalog import Catalog, Resolved
from grpo_core.errors import (
    ConfigError,
    PluginError,
    Problem,
    UnknownRewardError,
    listed,
    near,
)
from grpo_core.inputs import plan_inputs
from grpo_core.options import build
from grpo_core.scoring.inline import SampleReward
from grpo_core.scoring.trl_style import TrlFunction
from grpo_core.sections import DataSection, PluginsSection, RunSection, Section
from grpo_core.sections import ModelSection as ModelSection
from grpo_core.sections import RewardSection as RewardSection
from grpo_core.sections import RunConfig as RunConfig

# Keys of the design that this version refuses, by section.
NOT_YET = {
    "": ("eval", "record"),
    "model": ("quantization", "chat_template"),
    "data": ("split", "name", "limit", "seed"),
    "rewards": (
        "transform",
        "requires",
        "otherwise",
        "shadow",
        "modes",
        "isolation",
        "timeout_s",
        "retries",
        "concurrency",
        "rate",
        "on_error",
        "on_timeout",
    ),
    "train": ("max_failed", "batch_timeout_s"),
}

# They would collide with columns and metrics of the trainer.
REFUSED_NAMES = ("prompt", "completion", "step", "advantage", "reward", "total", "image", "images")


def read_config(path: str | Path, overrides: Collection[str] = ()) -> RunConfig:
    """Reads a TOML file and checks its structure.

    Args:
        path: The file.
        overrides: `section.key=value` texts; the value is read as TOML, else as text.

    Raises:
        ConfigError: The file cannot be read, or its structure is wrong; all problems at once.
    """
    source = Path(path)
    raw = _read_toml(source)
    problems: list[Problem] = []
    for text in overrides:
        _override(raw, text, problems)
    sections: dict[str, type[Section]] = {
        "model": ModelSection,
        "data": DataSection,
        "run": RunSection,
        "plugins": PluginsSection,
    }
    known = [*sections, "rewards", "train"]
    raw = _known_keys(raw, known, "", "", problems)
    parsed: dict[str, Any] = {"source": source}
    for name, kind in sections.items():
        if name in raw:
            parsed[name] = parse_section(kind, raw[name], name, name, problems)
        elif name in ("model", "data"):
            problems.append(Problem(name, f"the section [{name}] is missing"))
    parsed["rewards"] = _parse_rewards(raw.get("rewards"), problems)
    parsed["train"] = _parse_train(raw.get("train", {}), problems)
    if problems:
        raise ConfigError(problems, str(source))
    return RunConfig(**parsed)


def parse_section(
    kind: type[Section], raw: object, where: str, section: str, problems: list[Problem]
) -> Any:
    """Makes a section of a table; problems are added to the list, and None comes back.

    Args:
        kind: Class of the section.
        raw: The table.
        where: Path of the table.
        section: Key in `NOT_YET`.
        problems: Where problems go.
    """
    if not isinstance(raw, Mapping):
        problems.append(Problem(where, f"expected a table, got {_shown(raw)}"))
        return None
    before = len(problems)
    table = _known_keys(raw, list(kind.model_fields), where, section, problems)
    try:
        made = kind(**table)
    except ValidationError as exc:
        for error in exc.errors(include_url=False):
            at = ".".join([where, *map(str, error["loc"])])
            if error["type"] == "missing":
                problems.append(Problem(at, "is missing"))
            elif error["type"] == "extra_forbidden":
                known = _nested_keys(kind, str(error["loc"][0]))
                hint = near(str(error["loc"][-1]), known)
                problems.append(Problem(at, f"unknown key.{hint} Keys are {listed(known)}"))
            else:
                problems.append(Problem(at, f"{error['msg']}, got {_shown(error['input'])}"))
        return None
    return made if len(problems) == before else None


def _nested_keys(kind: type[Section], field: str) -> list[str]:
    """Keys of the table that a field of the section holds."""
    for member in get_args(kind.model_fields[field].annotation):
        if isinstance(member, type) and issubclass(member, Section):
            return list(member.model_fields)
    return []


def validate(config: RunConfig, catalog: Catalog, columns: Collection[str] | None) -> list[Problem]:
    """Finds what is wrong beyond structure: names, options, inputs, weights, batch arithmetic.

    Args:
        config: The config.
        catalog: The installed plugins.
        columns: The columns of the data, or None if it could not be read.
    """
    problems = []
    for name, section in config.rewards.items():
        problems += check_reward(
            section,
            catalog,
            where=f"rewards.{name}",
            name=name,
            columns=columns,
            folder=config.folder,
        ).problems
    problems += weight_problems({n: s.weight for n, s in config.rewards.items()})
    problems += batch_problems(config.train)
    return problems


class Checked(NamedTuple):
    """A reward's section, looked at.

    Attributes:
        resolved: What its name led to, or None.
        runner: The reward, ready to be called; None if it could not be built.
        input_files: SHA-256 of each file an input was read from, by path.
        problems: All that is wrong.
    """

    resolved: Resolved | None
    runner: SampleReward | TrlFunction | None
    input_files: Mapping[str, str]
    problems: list[Problem]


def check_reward(
    section: RewardSection,
    catalog: Catalog,
    *,
    where: str,
    name: str = "",
    columns: Collection[str] | None = None,
    folder: Path | None = None,
) -> Checked:
    """Resolves and builds one reward and checks its name, options and inputs.

    Args:
        section: The reward's section.
        catalog: The installed plugins.
        where: Path of the section, for the problems.
        name: Instance name.
        columns: Columns of the data, or None if they are not known.
        folder: What relative paths are relative to; default: the working directory.
    """
    problems = []
    if name in REFUSED_NAMES:
        problems.append(
            Problem(where, f"a reward cannot be called {name!r}; the trainer logs under that name")
        )
    try:
        resolved = catalog.resolve(section.use, folder=folder)
    except (UnknownRewardError, PluginError) as exc:
        return Checked(None, None, {}, [*problems, Problem(f"{where}.use", str(exc))])
    except ConfigError as exc:  # async, for one
        return Checked(None, None, {}, [*problems, *exc.problems])
    if resolved.info is None:
        return _check_function(section, resolved, problems, where, name, columns)
    runner = None
    plan, found = plan_inputs(
        resolved.info, section.inputs, columns=columns, folder=folder, where=f"{where}.inputs"
    )
    try:
        built = build(resolved.info, section.options, f"{where}.options")
        runner = SampleReward(built.function, plan, built.low, built.high, built.needs)
    except ConfigError as exc:
        problems += exc.problems
    return Checked(resolved, runner, plan.files, problems + found)


def _check_function(
    section: RewardSection,
    resolved: Resolved,
    problems: list[Problem],
    where: str,
    name: str,
    columns: Collection[str] | None,
) -> Checked:
    """The part of `check_reward` for an untagged function."""
    for key, given in (("options", section.options), ("inputs", section.inputs)):
        if given:
            problems.append(
                Problem(
                    f"{where}.{key}",
                    f"{resolved.name!r} is an untagged function and takes no {key}; put @reward "
                    f"above it",
                )
            )
    try:
        function = TrlFunction(resolved.target, name or resolved.name)
    except ConfigError as exc:
        found = [Problem(f"{where}.use", p.message) for p in exc.problems]
        return Checked(resolved, None, {}, problems + found)
    if columns is not None:
        problems += function.problems(columns, where)
    return Checked(resolved, function, {}, problems)


def weight_problems(weights: Mapping[str, float]) -> list[Problem]:
    """Weights that are not finite, or are all 0."""
    problems = [
        Problem(f"rewards.{name}.weight", f"expected a finite number, got {weight!r}")
        for name, weight in weights.items()
        if not math.isfinite(weight)
    ]
    if weights and all(weight == 0 for weight in weights.values()):
        problems.append(
            Problem("rewards", "every weight is 0, so nothing can be learnt; set one above 0")
        )
    return problems


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        # Some editors put a byte order mark in front, which TOML has no place for.
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path} is not UTF-8 text: {exc}") from exc
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise ConfigError(f"{path} is not TOML: {exc}") from exc


def _override(raw: dict[str, Any], text: str, problems: list[Problem]) -> None:
    """Sets `a.b.c=value` in the tables; the value is read as TOML, else taken as text."""
    path, equals, value_text = text.partition("=")
    keys = _dotted(path)
    if not equals or not all(keys):
        problems.append(
            Problem("--set", f"expected section.key=value, got {text!r}, e.g. train.max_steps=10")
        )
        return
    value: Any = value_text
    try:
        parsed = tomllib.loads(f"value = {value_text}")
        if len(parsed) == 1:  # more than one: the text holds a line end
            value = parsed["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        pass
    table: Any = raw
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            problems.append(Problem("--set", f"{text!r}: {key!r} is a value, not a table"))
            return
    table[keys[-1]] = value


def _dotted(path: str) -> list[str]:
    """The keys of a dotted path; a key that holds a dot stands in quotes, as in TOML."""
    try:
        table: Any = tomllib.loads(f"{path} = 0")
    except tomllib.TOMLDecodeError:  # such as rewards.format/tags.weight
        return [k.strip() for k in path.split(".")]
    keys = []
    while isinstance(table, dict):
        key, table = next(iter(table.items()))
        keys.append(key)
    return keys


def _known_keys(
    raw: Mapping[str, Any], known: list[str], where: str, section: str, problems: list[Problem]
) -> dict[str, Any]:
    """Returns the known keys; a problem for each that is unknown or not supported yet."""
    kept = {}
    not_yet = NOT_YET[section] if section in NOT_YET else ()
    for name, value in raw.items():
        key = str(name)  # in a script it may be anything
        at = f"{where}.{key}" if where else key
        if key in known:
            kept[key] = value
        elif key in not_yet:
            problems.append(Problem(at, "is not supported yet; leave it out"))
        elif section == "rewards":
            problems.append(
                Problem(
                    at,
                    f"unknown key.{near(key, known)} A reward's own options sit in "
                    f"options = {{ {key} = … }}; keys here are {listed(known)}",
                )
            )
        else:
            hint = near(key, known) or near(key, not_yet)
            problems.append(Problem(at, f"unknown key.{hint} Keys are {listed(known)}"))
    return kept


def _parse_rewards(raw: object, problems: list[Problem]) -> dict[str, Any]:
    if raw is None or raw == {}:
        problems.append(Problem("rewards", "no reward is configured; add a [rewards.<name>]"))
        return {}
    if not isinstance(raw, Mapping):
        problems.append(Problem("rewards", f"expected tables [rewards.<name>], got {_shown(raw)}"))
        return {}
    parsed = {}
    for name, table in raw.items():
        where = f"rewards.{name}"
        section = parse_reward(table, where, problems)
        if not name.strip():
            problems.append(Problem(where, "a reward needs a name, got a blank one"))
        if section is not None:
            if not isinstance(section.use, str):
                problems.append(
                    Problem(f"{where}.use", f"expected a reward's name, got {section.use!r}")
                )
            parsed[name] = section
    return parsed


def parse_reward(raw: object, where: str, problems: list[Problem]) -> RewardSection | None:
    """Makes a reward's section of its table; problems are added to the list."""
    if isinstance(raw, Mapping) and isinstance(raw.get("weight"), Mapping):
        problems.append(
            Problem(f"{where}.weight", "schedules are not supported yet; give a number")
        )
        raw = {k: v for k, v in raw.items() if k != "weight"}
    section = parse_section(RewardSection, raw, where, "rewards", problems)
    return section if isinstance(section, RewardSection) else None


def _parse_train(raw: object, problems: list[Problem]) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        problems.append(Problem("train", f"expected a table, got {_shown(raw)}"))
        return {}
    kept = {}
    for key, value in raw.items():
        if key in NOT_YET["train"]:
            problems.append(Problem(f"train.{key}", "is not supported yet; leave it out"))
        else:
            kept[key] = value
    return kept


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
