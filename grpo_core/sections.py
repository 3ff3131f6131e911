"""`RunConfig` and its sections: what a run's TOML file may say, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Missing = Literal["neutral", "zero", "drop"]


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


class RewardSection(Section):
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


class RunSection(Section):
    """`[run]`: where the run's files go.

    Attributes:
        dir: Directory to create; it must not exist. Relative to the working directory.
    """

    dir: str = Field(min_length=1)


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
    source: Path

    @property
    def folder(self) -> Path:
        """What the paths in the config are relative to."""
        return self.source.parent
