"""Reads a run's TOML file into its sections, and says what is wrong with its structure."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from grpo_core.convert import in_words
from grpo_core.errors import ConfigError, Problem, listed, near
from grpo_core.sections import (
    DataSection,
    EvalSection,
    ModelSection,
    PluginsSection,
    RecordSection,
    RewardSection,
    RunConfig,
    RunSection,
    ScoringSection,
    Section,
)

# Keys of the design that this version refuses, by section.
NOT_YET = {"model": ("quantization", "chat_template")}


# What stands for a wrong value while the other keys are looked at; the section is lost where a key
# is wrong that is not named here. Without a limit a function may have no end.
_STAND_IN: dict[str, dict[str, Any]] = {
    "model": dict.fromkeys(("dtype", "attn", "lora")),
    "data": {"limit": 1000, **dict.fromkeys(("seed", "chat", "system"))},
    "eval": {
        "limit": 1000,
        **dict.fromkeys(("seed", "chat", "system", "every", "num_generations")),
    },
}


@dataclass(frozen=True)
class Draft:
    """What could be read of a config file.

    Attributes:
        source: The file.
        sections: `[model]`, `[data]`, `[eval]`, `[run]`, `[plugins]`, `[scoring]` and `[record]`,
            by name; None where one could not be read, absent where the file has none.
        rewards: The `[rewards.<name>]` that could be read, by name.
        train: `[train]`.
        problems: What is wrong with the structure.
    """

    source: Path
    sections: dict[str, Any]
    rewards: dict[str, RewardSection]
    train: dict[str, Any]
    problems: tuple[Problem, ...]

    def config(self) -> RunConfig:
        """The whole config.

        Raises:
            ConfigError: Something is wrong with the structure; all problems at once.
        """
        if self.problems:
            raise ConfigError(self.problems, str(self.source))
        return RunConfig(
            source=self.source, rewards=self.rewards, train=self.train, **self.sections
        )


def read_config(path: str | Path, overrides: Collection[str] = ()) -> RunConfig:
    """Reads a TOML file and checks its structure.

    Args:
        path: The file.
        overrides: `section.key=value` texts; the value is read as TOML, else as text.

    Raises:
        ConfigError: The file cannot be read, or its structure is wrong; all problems at once.
    """
    return read_draft(path, overrides).config()


def read_draft(path: str | Path, overrides: Collection[str] = ()) -> Draft:
    """Reads a TOML file as far as its structure allows, so that all else can be checked too.

    Args:
        path: The file.
        overrides: `section.key=value` texts; the value is read as TOML, else as text.

    Raises:
        ConfigError: The file cannot be read.
    """
    source = Path(path)
    return make_draft(_read_toml(source), source, overrides)


def make_draft(raw: dict[str, Any], source: Path, overrides: Collection[str] = ()) -> Draft:
    """Makes a draft of what a TOML file holds.

    Args:
        raw: Its tables; changed by the overrides.
        source: The file, or what stands for it.
        overrides: `section.key=value` texts; the value is read as TOML, else as text.
    """
    problems: list[Problem] = []
    for text in overrides:
        _override(raw, text, problems)
    sections: dict[str, type[Section]] = {
        "model": ModelSection,
        "data": DataSection,
        "eval": EvalSection,
        "run": RunSection,
        "plugins": PluginsSection,
        "scoring": ScoringSection,
        "record": RecordSection,
    }
    known = [*sections, "rewards", "train"]
    raw = _known_keys(raw, known, "", "", problems)
    parsed: dict[str, Any] = {}
    for name, kind in sections.items():
        if name in raw:
            parsed[name] = parse_section(kind, raw[name], name, name, problems)
        elif name in ("model", "data"):
            problems.append(Problem(name, f"the section [{name}] is missing"))
    rewards = _parse_rewards(raw.get("rewards"), problems)
    train = _parse_train(raw.get("train", {}), problems)
    return Draft(source, parsed, rewards, train, tuple(problems))


def parse_section(
    kind: type[Section], raw: object, where: str, section: str, problems: list[Problem]
) -> Any:
    """Makes a section of a table; problems are added to the list.

    Args:
        kind: Class of the section.
        raw: The table.
        where: Path of the table.
        section: Key in `NOT_YET`.
        problems: Where problems go.

    Returns:
        The section without its unknown keys, and with stand-ins for wrong values; None if a value
        without one keeps it from being made.
    """
    if not isinstance(raw, Mapping):
        problems.append(Problem(where, f"expected a table, got {_shown(raw)}"))
        return None
    table = _known_keys(raw, list(kind.model_fields), where, section, problems)
    try:
        return kind(**table)
    except ValidationError as exc:
        errors = exc.errors(include_url=False)
        for error in errors:
            # Where a value may be a number or a table, pydantic adds which one it took it for.
            loc = [key for key in map(str, error["loc"]) if key not in ("<number>", "<table>")]
            at = ".".join([where, *loc])
            if error["type"] == "missing":
                problems.append(Problem(at, "is missing"))
            elif error["type"] == "extra_forbidden":
                known = _nested_keys(kind.model_fields[loc[0]].annotation)
                hint = near(loc[-1], known)
                problems.append(Problem(at, f"unknown key.{hint} Keys are {listed(known)}"))
            else:
                problems.append(Problem(at, f"{in_words(error)}, got {_shown(error['input'])}"))
        wrong = {str(error["loc"][0]) for error in errors}
        stand_in = _STAND_IN.get(section, {})
        if wrong <= stand_in.keys():
            return kind(**{**table, **{key: stand_in[key] for key in wrong}})
    return None


def _nested_keys(annotation: object) -> list[str]:
    """Keys of the table that a field of this type holds."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return list(annotation.model_fields)
    return [key for member in get_args(annotation) for key in _nested_keys(member)]


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
        elif section == "rewards" and key in ScoringSection.model_fields:
            problems.append(Problem(at, "belongs into [scoring], since it is of all rewards"))
        elif section == "scoring" and key in RewardSection.model_fields:
            problems.append(Problem(at, "belongs into [rewards.<name>], since it is of one reward"))
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
        found: list[Problem] = []
        section = parse_reward(table, where, found)
        lacking = Problem(f"{where}.use", "is missing")
        if lacking in found:  # a name that an override misspells
            hint = near(name, [n for n, t in raw.items() if isinstance(t, Mapping) and "use" in t])
            text = f"{lacking.message}.{hint}" if hint else lacking.message
            found[found.index(lacking)] = Problem(lacking.where, text)
        problems += found
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
    section = parse_section(RewardSection, raw, where, "rewards", problems)
    return section if isinstance(section, RewardSection) else None


def _parse_train(raw: object, problems: list[Problem]) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        problems.append(Problem("train", f"expected a table, got {_shown(raw)}"))
        return {}
    kept = {}
    for key, value in raw.items():
        if key in ScoringSection.model_fields:
            problems.append(Problem(f"train.{key}", "belongs into [scoring], not into [train]"))
        else:
            kept[key] = value
    return kept


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
