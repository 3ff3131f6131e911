"""`RunConfig` and its sections: what a run's TOML file may say, as data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from grpo_core.reward import Isolation, OnError, OnTimeout

Missing = Literal["neutral", "zero", "drop"]
Mode = Literal["train", "eval"]
Finite = Annotated[float, Field(allow_inf_nan=False)]

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def calls_per_second(rate: float | str) -> float:
    """The number behind a `rate`: a number of calls a second, or a text such as "60/min".

    Raises:
        ValueError: It is neither, or not above 0.
    """
    calls: object = rate
    seconds = 1.0
    if isinstance(rate, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|min|h)\s*", rate)
        calls, seconds = (float(match[1]), _SECONDS[match[2]]) if match else (None, 1.0)
    number = _number(calls)
    if number is None or number <= 0:
        raise ValueError(
            'expected calls a second above 0, or a text such as "5/s", "60/min", "9/h"'
        )
    return number / seconds


def _number(value: object) -> float | None:
    """The value as a float, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _number_or(*words: str) -> BeforeValidator:
    """Takes the words and finite numbers, with one text for all else."""

    def check(value: object) -> object:
        if value is None or (isinstance(value, str) and value in words):
            return value
        if _number(value) is None:
            raise ValueError(f"expected {', '.join(map(repr, words))} or a number")
        return value

    return BeforeValidator(check)


def _rate(value: Any) -> Any:
    if value is not None:
        calls_per_second(value)
    return value


def _pair(value: object) -> object:
    """Two numbers as a tuple, which TOML has not."""
    numbers = [_number(v) for v in value] if isinstance(value, list | tuple) else []
    match numbers:
        case [float(low), float(high)] if low < high:
            return low, high
    raise ValueError("expected two numbers [low, high], the lower first")


Pair = Annotated[tuple[float, float], BeforeValidator(_pair)]


def _some(modules: list[str]) -> list[str]:
    if not modules:
        raise ValueError("expected a name at least; leave it out to adapt all linear layers")
    return modules


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text; leave it out for no system message")
    return text


SystemMessage = Annotated[str, AfterValidator(_filled)]


class Section(BaseModel):
    """A table of the config: unknown keys and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LoraSection(Section):
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
    target_modules: Annotated[list[str], AfterValidator(_some)] | None = None


class ModelSection(Section):
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


class DataSection(Section):
    """`[data]`: what it is trained on.

    Attributes:
        path: File or folder (relative to the config), hub name, or `package.module:function`.
        split: Which part, where the data has several.
        name: Configuration of a hub data set.
        limit: Most rows to take; default: all.
        seed: Shuffle the rows with this seed before the limit; default: their own order.
        prompt: Column that holds the prompt, as text or chat; default: "prompt".
        template: Text with {columns} that makes the prompt, instead of `prompt`.
        chat: Make a user's message of a prompt that is text; default: only with `system`.
        system: System message; text prompts become a chat with it.
    """

    path: str = Field(min_length=1)
    split: str | None = Field(default=None, min_length=1)
    name: str | None = Field(default=None, min_length=1)
    limit: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=0)
    prompt: str | None = None
    template: str | None = None
    chat: bool | None = None
    system: SystemMessage | None = None


class EvalSection(Section):
    """`[eval]`: what the model is evaluated on during training.

    Attributes:
        fraction: Share of the training rows to hold out, instead of rows of its own.
        path: As in `[data]`; default: the same, if another split or name is given.
        split: As in `[data]`.
        name: As in `[data]`.
        limit: As in `[data]`.
        seed: As in `[data]`; with `fraction` it draws the rows, and its default is 0.
        prompt: As in `[data]`; default: the same, and so for `template`, `chat` and `system`.
        template: As in `[data]`.
        chat: As in `[data]`.
        system: As in `[data]`.
        every: Steps between evaluations; default: after each epoch.
        num_generations: Completions per prompt; default: as in training.
    """

    fraction: float | None = Field(default=None, gt=0.0, lt=1.0)
    path: str | None = Field(default=None, min_length=1)
    split: str | None = Field(default=None, min_length=1)
    name: str | None = Field(default=None, min_length=1)
    limit: int | None = Field(default=None, ge=1)
    seed: int | None = Field(default=None, ge=0)
    prompt: str | None = None
    template: str | None = None
    chat: bool | None = None
    system: SystemMessage | None = None
    every: int | None = Field(default=None, ge=1)
    num_generations: int | None = Field(default=None, ge=1)


class WeightSchedule(Section):
    """`[rewards.<name>] weight` as a table: a weight that moves during the run.

    It stays at `start` up to `begin` and reaches `end` after `steps`, or after a share of the run.

    Attributes:
        start: Weight until `begin`.
        end: Weight behind that.
        steps: How long it moves, in steps; either this or `share`.
        share: How long it moves, as a share of the run.
        shape: How the weight moves between the two: "linear", along a "cosine", or in one "step"
            at its end.
        begin: Where it begins to move, in the unit of `steps` or `share`.
    """

    start: Finite
    end: Finite
    steps: int | None = Field(default=None, ge=1)
    share: float | None = Field(default=None, gt=0.0, le=1.0)
    shape: Literal["linear", "step", "cosine"] = "linear"
    begin: Finite = Field(default=0.0, ge=0.0)

    @model_validator(mode="after")
    def _check_end_point(self) -> WeightSchedule:
        if (self.steps is None) == (self.share is None):
            raise ValueError("expected a length, either steps = … or share = …")
        return self


class TransformSection(Section):
    """`[rewards.<name>] transform`: what is done to a value before all else.

    Attributes:
        clip: Lowest and highest value; what lies outside becomes the nearer one.
        rescale: The reward's range is mapped onto this one, after `clip`.
    """

    clip: Pair | None = None
    rescale: Pair | None = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> TransformSection:
        if self.clip is None and self.rescale is None:
            raise ValueError("expected clip = [low, high], rescale = [low, high] or both")
        return self


def _kind_of_weight(value: object) -> str:
    return "<table>" if isinstance(value, Mapping | WeightSchedule) else "<number>"


Weight = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[WeightSchedule, Tag("<table>")],
    Discriminator(_kind_of_weight),
]


class RewardSection(Section):
    """`[rewards.<name>]`: one reward of the run.

    Of a setting that the reward's author may suggest, None means as the author says.

    Attributes:
        use: Full name, `package.module:attr` or `file.py:attr`; in Python also a callable.
        weight: Factor in the total, or how it moves during the run.
        inputs: By input: a column's name, `{ value = … }`, `{ file = "path" }` or
            `{ reward = "name" }`.
        options: The reward's own options.
        transform: What is done to a value before all else.
        requires: By instance name of a gate, the value from which on it is open.
        otherwise: The value while a gate is closed; default: the low end of the range.
        missing: What a cell without a value counts as: "neutral", "zero" or "drop".
        shadow: Measured and logged, without any part in the total.
        modes: When it is called: "train", "eval" or both.
        isolation: Where it runs.
        timeout_s: Seconds a call may take.
        on_timeout: What a late call counts as: "low" is the low end of the range.
        on_error: What a failed call counts as.
        retries: Further tries of a call that raised.
        concurrency: Calls at once; default: 8, or 1 where no worker can find the reward.
        rate: Calls a second at most, or a text such as "60/min"; default: no limit.
        cache: Keep values by what they were computed from; default: as the reward allows.
    """

    use: Any
    weight: Weight = 1.0
    inputs: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    transform: TransformSection | None = None
    requires: dict[str, Finite] = Field(default_factory=dict)
    otherwise: Finite | None = None
    missing: Missing = "neutral"
    shadow: bool = False
    modes: list[Mode] = Field(default=["train", "eval"], min_length=1)
    isolation: Isolation | None = None
    timeout_s: Finite | None = Field(default=None, gt=0.0)
    on_timeout: Annotated[OnTimeout | None, _number_or("low", "missing")] = None
    on_error: Annotated[OnError | None, _number_or("missing", "raise")] = None
    retries: int = Field(default=0, ge=0)
    concurrency: int | None = Field(default=None, ge=1)
    rate: Annotated[float | str | None, BeforeValidator(_rate)] = None
    cache: bool | None = None

    @property
    def weight_ends(self) -> tuple[float, float]:
        """The weight at the start and at the end of the run, the same if it does not move."""
        if isinstance(self.weight, WeightSchedule):
            return self.weight.start, self.weight.end
        return self.weight, self.weight


class ScoringSection(Section):
    """`[scoring]`: limits of scoring as a whole.

    Attributes:
        max_failed: Share of a batch's cells of one reward that may fail before the run stops.
        batch_timeout_s: Seconds that scoring a batch may take.
        workers: Worker processes; default: as many as this process may use CPUs.
        memory_mb: Memory that one of them may take, in MiB; default: 4096.
    """

    max_failed: float = Field(default=0.5, ge=0.0, le=1.0)
    batch_timeout_s: Finite = Field(default=300.0, gt=0.0)
    workers: int | None = Field(default=None, ge=1)
    memory_mb: int | None = Field(default=None, ge=64)


class RunSection(Section):
    """`[run]`: where the run's files go.

    Attributes:
        dir: Directory to create; it must not exist. Relative to the working directory.
    """

    dir: str = Field(min_length=1)


def _completions(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value in ("all", "off") or whole:
        return value
    raise ValueError('expected "all", "off" or how many of a step, at least 1')


class RecordSection(Section):
    """`[record]`: what the run directory keeps of the completions.

    Attributes:
        completions: "all", "off", or how many of each generation, rounded up to whole groups.
        raw_text: Keep the texts with their special tokens, too.
    """

    completions: Annotated[Literal["all", "off"] | int, BeforeValidator(_completions)] = "all"
    raw_text: bool = False


class PluginsSection(Section):
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
        eval: `[eval]`, or None for a run without evaluation.
        rewards: `[rewards.<name>]`, by instance name.
        train: `[train]`: TRL's GRPOConfig fields, `kl_coef` and `clip_range`.
        run: `[run]`, or None for a numbered directory under `runs`.
        plugins: `[plugins]`.
        scoring: `[scoring]`.
        record: `[record]`.
        source: The file it was read from.
    """

    model_config = ConfigDict(frozen=True)

    model: ModelSection
    data: DataSection
    eval: EvalSection | None = None
    rewards: dict[str, RewardSection]
    train: dict[str, Any] = Field(default_factory=dict)
    run: RunSection | None = None
    plugins: PluginsSection = Field(default_factory=PluginsSection)
    scoring: ScoringSection = Field(default_factory=ScoringSection)
    record: RecordSection = Field(default_factory=RecordSection)
    source: Path

    @property
    def folder(self) -> Path:
        """What the paths in the config are relative to."""
        return self.source.parent
