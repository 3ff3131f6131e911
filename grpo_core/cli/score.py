"""`grpo score`: one reward on one text, or one or several on the rows of a file; no model."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from grpo_core.cli.pairs import read_files, read_pairs
from grpo_core.convert import convert
from grpo_core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from grpo_core.catalog import Catalog
    from grpo_core.discovery import PluginFilter
    from grpo_core.scoring.single import SingleReward

# One name for each argument, so that the command's signature can be read.
_Texts = list[str] | None
_Name = Annotated[
    str, typer.Argument(help="Full or bare name, or file.py:attr; for a file also a TOML file.")
]
_Text = Annotated[str | None, typer.Option(help="A completion; - reads standard input.")]
_Prompt = Annotated[str, typer.Option(help="The prompt of --text.")]
_Inputs = Annotated[_Texts, typer.Option("--input", help="An input, as name=value; repeatable.")]
_InputFiles = Annotated[
    _Texts, typer.Option("--input-file", help="An input's file, as name=path; repeatable.")
]
_Options = Annotated[
    _Texts, typer.Option("--option", help="An option, as name=value; lists as JSON; repeatable.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Allow = Annotated[_Texts, typer.Option(help="Use only this distribution; repeatable.")]
_Block = Annotated[_Texts, typer.Option(help="Do not use this distribution; repeatable.")]
_Data = Annotated[Path | None, typer.Option(help="A .jsonl, .jsonl.gz or .parquet file to score.")]
_Out = Annotated[Path | None, typer.Option("--out", "-o", help="New file for the scored rows.")]
_Resume = Annotated[bool, typer.Option("--resume", help="Go on with OUT.partial.")]
_Explain = Annotated[int | None, typer.Option(min=0, help="Score this row only, from 0.")]
_InputColumns = Annotated[
    _Texts,
    typer.Option("--input-column", help="An input's column, as input=column; repeatable."),
]
_Completion = Annotated[str | None, typer.Option(help="Column; default: completion.")]
_PromptColumn = Annotated[str | None, typer.Option(help="Column; default: prompt.")]
_Group = Annotated[str | None, typer.Option(help='Column; default: group; "": no groups.')]
_Prefix = Annotated[str | None, typer.Option(help="In front of the names of added columns.")]
_Set = Annotated[
    _Texts, typer.Option("--set", help="Override a setting of the TOML file; repeatable.")
]

# Flags of one form, with the parameter that holds each.
_FOR_FILES = {
    "out": "--out",
    "explain": "--explain",
    "input_columns": "--input-column",
    "completion_column": "--completion-column",
    "prompt_column": "--prompt-column",
    "group_column": "--group-column",
    "prefix": "--prefix",
    "overrides": "--set",
}


def score(
    name: _Name,
    text: _Text = None,
    prompt: _Prompt = "",
    data: _Data = None,
    out: _Out = None,
    resume: _Resume = False,
    explain: _Explain = None,
    inputs: _Inputs = None,
    input_files: _InputFiles = None,
    input_columns: _InputColumns = None,
    completion_column: _Completion = None,
    prompt_column: _PromptColumn = None,
    group_column: _Group = None,
    prefix: _Prefix = None,
    options: _Options = None,
    overrides: _Set = None,
    as_json: _Json = False,
    allow_plugin: _Allow = None,
    block_plugin: _Block = None,
) -> None:
    """Score one text with one reward, or the rows of a file with one or several.

    Exit code: 0 if the rewards ran (whatever they gave), 1 if one failed on the text or broke its
    contract on a row, 2 if the call or the data is wrong.
    """
    given = dict(locals())
    _check_form(given)
    from grpo_core.discovery import PluginFilter

    chosen = PluginFilter.from_environment().with_lists(allow_plugin, block_plugin or ())
    if data is None:
        texts = _OneText(text or "", prompt, inputs or (), input_files or (), options or ())
        _score_text(name, texts, chosen, as_json=as_json)
        return
    from grpo_core.cli.score_file import Call, score_rows

    known = {k: v for k, v in given.items() if k in Call.__dataclass_fields__ and v is not None}
    score_rows(Call(chosen=chosen, **known), explain, as_json=as_json)


def _check_form(given: dict[str, Any]) -> None:
    """Refuses flags that do not belong together.

    Raises:
        ConfigError: Some do not; all at once.
    """
    if (given["text"] is None) == (given["data"] is None):
        raise ConfigError("give a completion as --text TEXT, or a file of them as --data FILE")
    problems = []
    if given["text"] is not None:
        wrong = [flag for key, flag in _FOR_FILES.items() if given[key] is not None]
        problems += [Problem(flag, "goes with --data, not with --text") for flag in wrong]
        if given["resume"]:
            problems.append(Problem("--resume", "goes with --data, not with --text"))
        if given["name"].endswith(".toml"):
            problems.append(Problem("--text", "is scored by one reward; name it instead of a file"))
    else:
        if given["prompt"]:
            problems.append(Problem("--prompt", "goes with --text; a file has a column of prompts"))
        if given["explain"] is not None and (given["out"] or given["resume"]):
            problems.append(Problem("--explain", "writes nothing; leave out -o and --resume"))
        from_config = given["name"].endswith(".toml")
        flags = {
            "inputs": "--input",
            "input_files": "--input-file",
            "input_columns": "--input-column",
            "options": "--option",
        }
        for key, flag in flags.items() if from_config else ():
            if given[key]:
                problems.append(Problem(flag, "goes with one reward; a TOML file has its own"))
        if given["overrides"] and not from_config:
            problems.append(Problem("--set", "goes with a TOML file; use --option"))
    if problems:
        raise ConfigError(problems, "the command")


class _OneText(NamedTuple):
    """A completion, and what the flags say beside it."""

    text: str
    prompt: str
    inputs: Sequence[str]
    input_files: Sequence[str]
    options: Sequence[str]


def _score_text(name: str, given: _OneText, chosen: PluginFilter, *, as_json: bool) -> None:
    from grpo_core.catalog import Catalog

    catalog = Catalog(chosen)
    # What a reward prints must not get between the lines, or into the JSON, of the result.
    with contextlib.redirect_stdout(sys.stderr):
        reward, inputs = _prepared(catalog, name, given)
        outcome = reward(_standard_input() if given.text == "-" else given.text, **inputs)
    if as_json:
        shown = {
            "reward": reward.name,
            "value": outcome.value,
            "status": outcome.status,
            "reason": outcome.reason,
            "metrics": dict(outcome.metrics),
        }
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        value = "-" if outcome.value is None else f"{outcome.value:g}"
        typer.echo(f"{reward.name}  {value}  {outcome.status}")
        if outcome.reason:
            typer.echo(f"  {outcome.reason}")
        for metric, number in outcome.metrics.items():
            typer.echo(f"  {metric} = {number:g}")
    if outcome.status in ("failed", "timed_out"):
        raise typer.Exit(1)


def _prepared(catalog: Catalog, name: str, call: _OneText) -> tuple[SingleReward, dict[str, Any]]:
    """Loads the reward and reads its inputs; all that is wrong is reported at once."""
    from grpo_core.inputs import plan_inputs
    from grpo_core.scoring.single import input_problems, load_reward

    resolved = catalog.resolve(name, bare=True)
    info = resolved.info
    problems: list[Problem] = []
    given_options = read_pairs(call.options, "--option", info.options if info else (), problems)
    given = read_pairs(call.inputs, "--input", info.inputs if info else (), problems)
    files = read_files(call.input_files, given, problems)
    if call.prompt:
        given.setdefault("prompt", call.prompt)
    if info is not None:
        for parameter in info.inputs:
            if parameter.name in given:
                given[parameter.name], wrong = convert(parameter, given[parameter.name])
                problems += [Problem(f"--input {parameter.name}{at}", text) for at, text in wrong]
        plan, wrong_files = plan_inputs(info, files, where="")
        problems += [Problem(f"--input-file {p.where[1:]}", p.message) for p in wrong_files]
        given |= plan.constants
        problems += input_problems(info, resolved.name, {**files, **given}, given)
    try:
        reward = load_reward(resolved.name, options=given_options, catalog=catalog)
    except ConfigError as exc:
        raise ConfigError([*problems, *exc.problems], "the command") from None
    if problems:
        raise ConfigError(problems, "the command")
    return reward, given


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as exc:
        raise ConfigError(f"--text -: standard input is not text: {exc}") from exc
