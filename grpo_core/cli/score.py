"""`grpo score`: one reward on one text, without a model."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grpo_core.convert import convert
from grpo_core.errors import ConfigError, Problem
from grpo_core.reward import Parameter

if TYPE_CHECKING:
    from grpo_core.catalog import Catalog
    from grpo_core.scoring.single import SingleReward


def score(
    name: Annotated[str, typer.Argument(help="Full or bare name, or file.py:attr.")],
    text: Annotated[str, typer.Option(help="The completion; - reads standard input.")],
    prompt: Annotated[str, typer.Option(help="The prompt.")] = "",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="An input, as name=value; repeatable."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", help="An option, as name=value; lists as JSON; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    allow_plugin: Annotated[
        list[str] | None, typer.Option(help="Use only this distribution; repeatable.")
    ] = None,
    block_plugin: Annotated[
        list[str] | None, typer.Option(help="Do not use this distribution; repeatable.")
    ] = None,
) -> None:
    """Score one text with one reward.

    Exit code: 0 if the reward ran (whatever it gave), 1 if it failed, 2 if the call is wrong.
    """
    from grpo_core.catalog import Catalog
    from grpo_core.discovery import PluginFilter

    chosen = PluginFilter.from_environment().with_lists(allow_plugin, block_plugin or ())
    catalog = Catalog(chosen)
    # What a reward prints must not get between the lines, or into the JSON, of the result.
    with contextlib.redirect_stdout(sys.stderr):
        reward, given = _prepared(catalog, name, options or (), inputs or (), prompt)
        outcome = reward(_standard_input() if text == "-" else text, **given)
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


def _prepared(
    catalog: Catalog, name: str, options: Sequence[str], inputs: Sequence[str], prompt: str
) -> tuple[SingleReward, dict[str, Any]]:
    """Loads the reward and reads its inputs; all that is wrong is reported at once."""
    from grpo_core.scoring.single import input_problems, load_reward

    resolved = catalog.resolve(name, bare=True)
    info = resolved.info
    problems: list[Problem] = []
    given_options = _pairs(options, "--option", info.options if info else (), problems)
    given = _pairs(inputs, "--input", info.inputs if info else (), problems)
    if prompt:
        given.setdefault("prompt", prompt)
    if info is not None:
        for parameter in info.inputs:
            if parameter.name in given:
                given[parameter.name], wrong = convert(parameter, given[parameter.name])
                problems += [Problem(f"--input {parameter.name}{at}", text) for at, text in wrong]
        problems += input_problems(info, resolved.name, given, given)
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


def _pairs(
    texts: Sequence[str], flag: str, declared: Sequence[Parameter], problems: list[Problem]
) -> dict[str, Any]:
    """Reads name=value texts; a value is read as JSON where the declared type is no text."""
    parameters = {p.name: p for p in declared}
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problems.append(Problem(flag, f"expected name=value, got {text!r}"))
        elif name in pairs:
            problems.append(Problem(flag, f"{name!r} is given twice"))
        else:
            pairs[name] = _value(value, parameters.get(name))
    return pairs


def _value(text: str, parameter: Parameter | None) -> Any:
    """The text itself where the type takes it, else what it says as JSON, else the text again.

    Without a type the default's counts; without either it is a text, as most columns are.
    """
    if parameter is None:
        return text
    if parameter.annotation is Any:
        if parameter.default is None:
            return text
        parameter = replace(parameter, annotation=type(parameter.default))
    made, wrong = convert(parameter, text)
    if not wrong and isinstance(made, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text  # a path or an enum, or wrong: the checks name what was expected
    # A folder may be called 1, where a number is no path.
    return text if not wrong and convert(parameter, value)[1] else value
