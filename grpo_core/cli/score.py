"""`grpo score`: one reward on one text, without a model."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

from grpo_core.errors import ConfigError, Problem
from grpo_core.reward import Parameter


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
    from grpo_core.scoring.single import load_reward

    chosen = PluginFilter.from_environment().with_lists(allow_plugin, block_plugin or ())
    catalog = Catalog(chosen)
    resolved = catalog.resolve(name, bare=True)
    info = resolved.info
    problems: list[Problem] = []
    given_options = _pairs(options or (), "--option", info.options if info else (), problems)
    given_inputs = _pairs(inputs or (), "--input", info.inputs if info else (), problems)
    if problems:
        raise ConfigError(problems, "the command")
    reward = load_reward(resolved.name, options=given_options, catalog=catalog)
    completion = sys.stdin.read() if text == "-" else text
    if prompt:
        given_inputs.setdefault("prompt", prompt)
    outcome = reward(completion, **given_inputs)
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


def _pairs(
    texts: list[str] | tuple[()],
    flag: str,
    declared: tuple[Parameter, ...],
    problems: list[Problem],
) -> dict[str, Any]:
    """Reads name=value texts; a value is read as JSON where the declared type is no text."""
    types = {p.name: p.annotation for p in declared}
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problems.append(Problem(flag, f"expected name=value, got {text!r}"))
        elif name in pairs:
            problems.append(Problem(flag, f"{name!r} is given twice"))
        else:
            pairs[name] = _value(value, types.get(name, str))
    return pairs


def _value(text: str, annotation: Any) -> Any:
    """The text itself where the type takes it, else what it says as JSON, else the text again."""
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    if annotation is not Any:
        try:
            return adapter.validate_python(text, strict=True)
        except ValidationError:
            pass
    try:
        return json.loads(text)
    except ValueError:
        return text  # of the wrong type; the check of the options names what was expected
