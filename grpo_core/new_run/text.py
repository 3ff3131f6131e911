"""Writes the config: every line that can be known, and comments on the rest.

Whatever columns, values and docstrings hold, a comment is one line of characters that can be seen.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from grpo_core.errors import counted
from grpo_core.new_run.data import Data
from grpo_core.new_run.model import Model
from grpo_core.new_run.rewards import Chosen, Other
from grpo_core.new_run.training import Training
from grpo_core.record import toml_key, toml_value
from grpo_core.reward import Parameter

_COLUMN = 36  # where the comments behind settings begin
_MOST = 30  # columns or rewards that are listed


def config_text(
    data: Data, model: Model, training: Training, rewards: Sequence[Chosen], others: Sequence[Other]
) -> str:
    """The text of the config.

    Args:
        data: What it is trained on.
        model: What is trained.
        training: The numbers.
        rewards: The rewards.
        others: Installed rewards that are listed in comments.
    """
    blocks = [_reward(one, data) for one in rewards]
    if not any(one.reads for one in rewards):
        blocks.append(_own_reward(data))
    if others:
        blocks.append(_others(others))
    return _template("run.toml").substitute(
        model="\n".join(_model(model)),
        data="\n".join(_data(data, model, rewards)),
        eval="\n".join(_eval(data, training)),
        rewards="\n\n".join("\n".join(block) for block in blocks),
        train="\n".join(_train(training, model)),
    )


def _template(name: str) -> string.Template:
    return string.Template(_file(name))


def _file(name: str) -> str:
    return resources.files("grpo_core").joinpath("templates", name).read_text(encoding="utf-8")


def visible(text: str, most: int = 100) -> str:
    """The text on one line, what cannot be seen as escapes, cut off behind some characters."""
    shown = _escaped(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _escaped(text: str) -> str:
    """The text with escapes of TOML for what cannot be seen, such as line ends."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _line(setting: str, comment: str = "") -> str:
    return f"{setting:<{_COLUMN - 1}} # {visible(comment)}" if comment else setting


def _set(key: str, value: Any, comment: str = "") -> str:
    return _line(_escaped(f"{toml_key(key)} = {toml_value(value)}"), comment)


def _model(model: Model) -> list[str]:
    lora = "lora = { r = 16 }"
    return [
        _set("name", model.name, "a folder or a hub id"),
        _line(lora, "an adapter; without this line all weights are trained")
        if model.lora
        else _line(f"# {lora}", "an adapter instead of all weights: less memory"),
        _line('# dtype = "bfloat16"', "half the memory; not set: float32"),
    ]


def _data(data: Data, model: Model, rewards: Sequence[Chosen]) -> list[str]:
    section = data.section
    lines = [_set("path", section.path)]
    lines += [_set(k, v) for k in ("name", "split") if (v := getattr(section, k)) is not None]
    if section.template is not None:
        lines.append(_set("template", section.template, "{column}; {{ and }} are literal braces"))
    elif section.prompt is not None:
        lines.append(_set("prompt", section.prompt, "the column that holds the prompt"))
    else:
        lines.append("# The column `prompt` is the prompt.")
    if data.others:
        names = ", ".join(toml_value(name) for name in data.others)
        lines.append(f"# {visible(f'A guess; it could also be {names}.')}")
    lines += [*_chat(data, model, rewards), _line("# limit = 100", "only the first rows"), "#"]
    lines.append(
        f"# {counted(data.n_rows, 'row')} with these columns, of which the first value is shown:"
    )
    for column in data.columns[:_MOST]:
        role = "the prompt" if column == data.prompt else ""
        role = "the gold answer, it seems" if column.name == data.gold else role
        name = visible(toml_value(column.name), 40)
        what = f"{column.kind}, {role}" if role else column.kind
        lines.append(f"#   {name}: {what}: {visible(column.example, 70)}")
    if len(data.columns) > _MOST:
        lines.append(f"#   … and {len(data.columns) - _MOST} more")
    return lines


def _chat(data: Data, model: Model, rewards: Sequence[Chosen]) -> list[str]:
    """What makes chats of texts, which a chat model has been trained on; the system message."""
    said: Mapping[str, str] = tomllib.loads(_file("system.toml"))
    hints = [said[one.use] for one in rewards if one.use in said]
    text = hints[0] if hints else "You are a helpful assistant."
    system = f"# system = {toml_value(text)}"
    if data.prompt.kind == "chat":
        return [_line(system, "in front of chats that have none")]
    if not model.chat:
        how = "has" if model.seen else "seems to have"
        return [_line(system, f"the model {how} no chat template")]
    if hints:
        return [_set("system", text, "makes a chat of the text")]
    return [_set("chat", True, "each text is a user's message"), _line(system, "in front of it")]


def _eval(data: Data, training: Training) -> list[str]:
    if data.eval_split is not None:
        rows = [_set("split", data.eval_split, "of [data] path"), _set("limit", 64, "rows")]
    elif training.fraction is None:
        return [
            _line(
                "# [eval]",
                f"too few ({counted(training.n_rows, 'row')}) to hold some out; other rows:",
            ),
            '# path = "test.jsonl"',
        ]
    else:
        held = f"{training.n_held} of {training.n_rows} rows are evaluated on, not trained on"
        rows = [_set("fraction", training.fraction, held)]
    return [
        "[eval]",
        *rows,
        _set("every", 50, "steps; also before the first and after the last"),
        _set("num_generations", 2, "completions of a prompt; fewer than in training are cheaper"),
    ]


def _reward(one: Chosen, data: Data) -> list[str]:
    lines = [f"[rewards.{toml_key(one.name)}]"]
    if one.info is None:
        lines.append("# A function in TRL's style: it gets the columns that its parameters name.")
    elif one.info.summary:
        lines.append(f"# {visible(one.info.summary)}")
    lines += [f"# {text}" for text in one.why]
    lines += [_set("use", one.use), _set("weight", one.weight)]
    missing = ", ".join(f"{p.name} ({p.type_name})" for p in one.unbound)
    if one.inputs:
        rest = [toml_value(g) for g in data.golds if g not in one.inputs.values()]
        more = f"; there is also {', '.join(rest)}" if rest else ""
        more += f"; missing: {missing}" if missing else ""
        lines.append(_set("inputs", one.inputs, f"input = column; a guess{more}"))
    elif missing:
        blank = ", ".join(f'{p.name} = "<column>"' for p in one.unbound)
        lines.append(_line(f"# inputs = {{ {blank} }}", f"needed, no column looks like {missing}"))
    if one.requires:
        lines.append(_set("requires", one.requires, "counts only where that reward gave as much"))
    if one.info is not None and one.info.options:
        lines.append(f"[rewards.{toml_key(one.name)}.options]")
        lines += [_set(name, value) for name, value in one.options.items()]
        lines += [_option(o) for o in one.info.options if o.name not in one.options]
    if one.info is not None and one.info.options and not one.requires:
        lines.append("# A reward that is 0 for every completion teaches nothing; to try one:")
        lines.append(f"# {visible(f'grpo score {one.use} --text TEXT --option name=value')}")
    return lines


def _option(option: Parameter) -> str:
    kind = visible(option.type_name)
    if option.required:
        return _line(f"# {toml_key(option.name)} = …", f"must be given: {kind}")
    if option.default is None:
        return _line(f"# {toml_key(option.name)} = …", f"{kind}; not set: None")
    return _line(visible(f"# {toml_key(option.name)} = {toml_value(option.default)}"), kind)


def _own_reward(data: Data) -> list[str]:
    gold = data.gold or "<column>"
    return [
        "# No reward here looks at a gold answer. A function of your own could, in rewards.py",
        "# beside this file; docs/how-to/write-a-reward.md shows how.",
        "# [rewards.correct]",
        '# use = "rewards.py:is_answer"',
        "# weight = 0.5                      # and gate others on it: requires = { correct = 1.0 }",
        "# " + visible(f"inputs = {{ answer = {toml_value(gold)} }}"),
    ]


def _others(others: Sequence[Other]) -> list[str]:
    lines = ["# Also installed; `grpo plugins show NAME` says more:"]
    for other in others[:_MOST]:
        lines.append(f"#   {visible(f'{other.name}: {other.summary}', 140)}")
        if other.why:
            lines.append(f"#     {visible(f'not as it is: {other.why}', 140)}")
    if len(others) > _MOST:
        lines.append(f"#   … and {len(others) - _MOST} more: grpo plugins")
    return lines


def _train(training: Training, model: Model) -> list[str]:
    epochs = f"num_train_epochs = 3 would be about {training.epoch_steps * 3} steps"
    if training.max_steps is not None:
        first = _set("max_steps", training.max_steps, f"a first look; {epochs}")
    else:
        first = _set("num_train_epochs", 3, f"about {training.epoch_steps * 3} steps")
    group, batch, steps = training.generations, training.per_device, training.accumulation
    a_step = f"{steps} x {batch} completions a step, of {batch * steps // group} prompts"
    return [
        first,
        _set("num_generations", group, "completions of a prompt, compared with each other"),
        _set("per_device_train_batch_size", batch, "completions at once; half takes less memory"),
        _set("gradient_accumulation_steps", steps, a_step),
        _set("max_completion_length", training.reply, "tokens; a longer reply is cut off"),
        _line("learning_rate = 5e-5", "for an adapter; all weights want about 1e-6")
        if model.lora
        else _line("learning_rate = 1e-6", "for all weights; an adapter wants about 5e-5"),
        _set("kl_coef", 0.02, "holds the model near its beginning; 0: no hold, less to compute"),
        _line("# temperature = 0.7", "of sampling"),
        _line("# logging_steps = 10", "steps from line to line"),
        _line("# seed = 42"),
    ]
