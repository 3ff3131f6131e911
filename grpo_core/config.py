"""`RunConfig`: what a run's TOML file says, and everything that is wrong with it at once."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

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
from grpo_core.options import check_options
from grpo_core.scoring.trl_style import TrlFunction

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

Missing = Literal["neutral", "zero", "drop"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LoraSection(_Section):
    """`[model] lora`: a low-rank adapter instead of full fine-tuning.

    Attributes:
        r: Rank of the adapter.
        alpha: Scaling numerator; default: twice the rank.
        dropout: Dropout on the adapter's input, from 0 to below 1.
        target_modules: Names of the modules to adapt; default: all linear layers but the head.
    """

    r: int = Field(default=16, ge=1)
    alpha: int | None = Field(default=None, ge=1)
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0)
    target_modules: list[str] | None = None


class ModelSection(_Section):
    """`[model]`: what is trained.

    Attributes:
        name: Folder (relative to the config) or hub id.
        dtype: Type of the weights; default: the trainer's, float32.
        attn: Attention implementation, such as "sdpa" or "flash_attention_2".
        lora: Train a low-rank adapter.
    """

    name: str = Field(min_length=1)
    dtype: Literal["float32", "bfloat16", "float16", "auto"] | None = None
    attn: str | None = None
    lora: LoraSection | None = None


class DataSection(_Section):
    """`[data]`: what it is trained on.

    Attributes:
        path: JSONL file, relative to the config.
        prompt: Column that holds the prompt, as text or chat; default: "prompt".
        template: Text with {columns} that makes the prompt, instead of `prompt`.
        system: System message; text prompts become a chat with it.
    """

    path: str = Field(min_length=1)
    prompt: str | None = None
    template: str | None = None
    system: str | None = None


class RewardSection(_Section):
    """`[rewards.<name>]`: one reward of the run.

    Attributes:
        use: Full name, `package.module:attr` or `file.py:attr`; in Python also a callable.
        weight: Factor in the total.
        inputs: By input: a column's name, `{ value = … }` or `{ file = "path" }`.
        options: The reward's own options.
        missing: What a cell without a value counts as: "neutral", "zero" or "drop".
    """

    use: Any
    weight: float = 1.0
    inputs: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    missing: Missing = "neutral"


class RunSection(_Section):
    """`[run]`: where the run's files go.

    Attributes:
        dir: Directory to create; it must not exist. Relative to the working directory.
    """

    dir: str = Field(min_length=1)


class PluginsSection(_Section):
    """`[plugins]`: which distributions may be used.

    Attributes:
        allow: The only ones; default: all.
        block: Those that may not.
    """

    allow: list[str] | None = None
    block: list[str] = Field(default_factory=list)


class RunConfig(BaseModel):
    """One run, as its TOML file says.

    Attributes:
        model: `[model]`.
        data: `[data]`.
        rewards: `[rewards.<name>]`, by instance name.
        train: `[train]`: TRL's GRPOConfig fields, `kl_coef` and `clip_range`.
        run: `[run]`, or None for a numbered directory under `runs`.
        plugins: `[plugins]`.
        source: The file it was read from.
    """

    model_config = ConfigDict(frozen=True)

    model: ModelSection
    data: DataSection
    rewards: dict[str, RewardSection]
    train: dict[str, Any] = Field(default_factory=dict)
    run: RunSection | None = None
    plugins: PluginsSection = Field(default_factory=PluginsSection)
    source: Path

    @property
    def folder(self) -> Path:
        """What the paths in the config are relative to."""
        return self.source.parent


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
    sections: dict[str, type[_Section]] = {
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
    kind: type[_Section], raw: object, where: str, section: str, problems: list[Problem]
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
        problems.append(Problem(where, f"expected a table, got {raw!r}"))
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
                problems.append(Problem(at, "unknown key"))
            else:
                problems.append(Problem(at, f"{error['msg']}, got {error['input']!r}"))
        return None
    return made if len(problems) == before else None


def validate(config: RunConfig, catalog: Catalog, columns: Collection[str] | None) -> list[Problem]:
    """Finds what is wrong beyond structure: names, options, inputs, weights, batch arithmetic.

    Args:
        config: The config.
        catalog: The installed plugins.
        columns: The columns of the data, or None if it could not be read.
    """
    problems = []
    for name, section in config.rewards.items():
        where = f"rewards.{name}"
        problems += check_reward(
            section, catalog, where=where, name=name, columns=columns, folder=config.folder
        )[1]
    problems += weight_problems({n: s.weight for n, s in config.rewards.items()})
    problems += batch_problems(config.train)
    return problems


def check_reward(
    section: RewardSection,
    catalog: Catalog,
    *,
    where: str,
    name: str = "",
    columns: Collection[str] | None = None,
    folder: Path | None = None,
) -> tuple[Resolved | None, list[Problem]]:
    """Resolves one reward and checks its name, options and inputs.

    Returns:
        The reward, or None if its name leads nowhere, and all problems found.
    """
    problems = []
    if name in REFUSED_NAMES:
        problems.append(
            Problem(where, f"a reward cannot be called {name!r}; the trainer logs under that name")
        )
    try:
        resolved = catalog.resolve(section.use, folder=folder)
    except (UnknownRewardError, PluginError) as exc:
        return None, [*problems, Problem(f"{where}.use", str(exc))]
    if resolved.info is not None:
        problems += check_options(resolved.info, section.options, f"{where}.options")[1]
        problems += plan_inputs(
            resolved.info,
            section.inputs,
            columns=columns,
            folder=folder,
            where=f"{where}.inputs",
        )[1]
        return resolved, problems
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
        function = TrlFunction(resolved.target, resolved.name)
    except ConfigError as exc:
        return resolved, [*problems, *exc.problems]
    if columns is not None:
        problems += function.problems(columns, where)
    return resolved, problems


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


def batch_problems(train: Mapping[str, Any], world_size: int = 1) -> list[Problem]:
    """Batch sizes that do not hold whole groups, with values that do.

    Args:
        train: The `[train]` table; keys that are absent have the defaults of `GRPOConfig`.
        world_size: Number of processes.
    """
    per_device = train.get("per_device_train_batch_size", 8)
    accumulation = train.get("gradient_accumulation_steps", 4)
    generations = train.get("num_generations", 4)
    steps = train.get("steps_per_generation", accumulation)
    numbers = (per_device, accumulation, generations, steps)
    if any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in numbers):
        return []  # of the wrong type; the trainer's own check names the field
    if generations < 2:
        return [
            Problem(
                "train.num_generations",
                f"a group needs at least 2 completions to compare, got {generations}",
            )
        ]
    batch = train.get("generation_batch_size", per_device * steps * world_size)
    if not isinstance(batch, int) or batch % generations == 0:
        return []
    valid = [g for g in range(2, batch + 1) if batch % g == 0]
    unit = generations // math.gcd(generations, steps * world_size)
    return [
        Problem(
            "train.num_generations",
            f"{generations} does not divide the {batch} completions of a batch "
            f"(per_device_train_batch_size {per_device} x {steps} x {world_size} process"
            f"{'es' if world_size > 1 else ''}). Valid with this batch: "
            f"num_generations = {listed_numbers(valid)}; or keep {generations} and set "
            f"per_device_train_batch_size = {listed_numbers([unit, 2 * unit, 3 * unit])}",
        )
    ]


def listed_numbers(numbers: Collection[int], limit: int = 12) -> str:
    """Returns the numbers joined by commas, cut after `limit`; "none" when empty."""
    shown = [str(n) for n in list(numbers)[:limit]]
    return ", ".join(shown) + (", …" if len(numbers) > limit else "") if shown else "none"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path} is not UTF-8 text: {exc}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path} is not TOML: {exc}") from exc


def _override(raw: dict[str, Any], text: str, problems: list[Problem]) -> None:
    """Sets `a.b.c=value` in the tables; the value is read as TOML, else taken as text."""
    path, equals, value_text = text.partition("=")
    keys = [k.strip() for k in path.split(".")]
    if not equals or not all(keys):
        problems.append(
            Problem("--set", f"expected section.key=value, got {text!r}, e.g. train.max_steps=10")
        )
        return
    try:
        value: Any = tomllib.loads(f"value = {value_text}")["value"]
    except tomllib.TOMLDecodeError:
        value = value_text
    table: Any = raw
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            problems.append(Problem("--set", f"{text!r}: {key!r} is a value, not a table"))
            return
    table[keys[-1]] = value


def _known_keys(
    raw: Mapping[str, Any], known: list[str], where: str, section: str, problems: list[Problem]
) -> dict[str, Any]:
    """Returns the known keys; a problem for each that is unknown or not supported yet."""
    kept = {}
    not_yet = NOT_YET[section] if section in NOT_YET else ()
    for key, value in raw.items():
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
            problems.append(
                Problem(at, f"unknown key.{near(key, [*known, *not_yet])} Keys are {listed(known)}")
            )
    return kept


def _parse_rewards(raw: object, problems: list[Problem]) -> dict[str, Any]:
    if raw is None or raw == {}:
        problems.append(Problem("rewards", "no reward is configured; add a [rewards.<name>]"))
        return {}
    if not isinstance(raw, Mapping):
        problems.append(Problem("rewards", f"expected tables [rewards.<name>], got {raw!r}"))
        return {}
    parsed = {}
    for name, table in raw.items():
        where = f"rewards.{name}"
        section = parse_reward(table, where, problems)
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
        problems.append(Problem("train", f"expected a table, got {raw!r}"))
        return {}
    kept = {}
    for key, value in raw.items():
        if key in NOT_YET["train"]:
            problems.append(Problem(f"train.{key}", "is not supported yet; leave it out"))
        else:
            kept[key] = value
    return kept
