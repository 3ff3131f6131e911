"""`grpo plugins`: what is installed, what it offers, and why something is kept out."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grpo_core.catalog import Catalog, Resolved
from grpo_core.discovery import Plugin, PluginFilter
from grpo_core.reward import Parameter, RewardInfo
from grpo_core.scoring.policy import TIMEOUT_S

app = typer.Typer(invoke_without_command=True, help="List the installed reward plugins.")

_STYLES = {"loaded": "green", "blocked": "dim"}

_Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-plugin",
        metavar="NAME",
        help="Use only this distribution; may be repeated.",
        show_default=False,
    ),
]
_Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block-plugin",
        metavar="NAME",
        help="Keep this distribution out; may be repeated.",
        show_default=False,
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def plugins(
    context: typer.Context,
    as_json: _Json = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 if a plugin is failed or may not be used."),
    ] = False,
    allow: _Allow = None,
    block: _Block = None,
) -> None:
    """List the installed reward plugins with their rewards, state and reason."""
    chosen = PluginFilter.from_environment().with_lists(allow or None, block or ())
    context.obj = chosen
    if context.invoked_subcommand is not None:
        return
    catalog = Catalog(chosen)
    with _noise_to_stderr():
        catalog.load_all()
        described = [_plugin_as_dict(p) for p in catalog.plugins]
    if as_json:
        typer.echo(json.dumps(described, indent=2))
    else:
        _print_plugins(catalog.plugins)
    if strict and catalog.broken():
        raise typer.Exit(1)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="math/answer_equals, its bare name, or file.py:function.")
    ],
    as_json: _Json = False,
    allow: _Allow = None,
    block: _Block = None,
) -> None:
    """Show one reward: docstring, range, how it is run, inputs and options."""
    chosen: PluginFilter = context.obj
    with _noise_to_stderr():
        resolved = Catalog(chosen.with_lists(allow or None, block or ())).resolve(name, bare=True)
        described = _resolved_as_dict(resolved)
    if as_json:
        typer.echo(json.dumps(described, indent=2))
    else:
        _print_reward(resolved)


@contextlib.contextmanager
def _noise_to_stderr() -> Iterator[None]:
    """Sends what plugins print while they are imported to stderr; a program may read stdout."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def _plugin_as_dict(plugin: Plugin) -> dict[str, Any]:
    return {
        "distribution": plugin.distribution,
        "version": plugin.version,
        "entry": plugin.entry,
        "module": plugin.module,
        "state": plugin.state,
        "reason": plugin.reason,
        "rewards": [_reward_as_dict(info) for info in plugin.rewards.values()],
    }


def _reward_as_dict(info: RewardInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "summary": info.summary,
        "range": _with_defaults(info, info.range),
        "scope": info.scope,
        "async": info.is_async,
        "isolation": info.isolation,
        "timeout_s": info.timeout_s,
        "on_timeout": info.on_timeout,
        "on_error": info.on_error,
        "deterministic": info.deterministic,
        "needs": _with_defaults(info, info.needs),
        "inputs": [_parameter_as_dict(p) for p in info.inputs],
        "options": [_parameter_as_dict(p) for p in info.options],
    }


def _parameter_as_dict(p: Parameter) -> dict[str, Any]:
    return {
        "name": p.name,
        "type": p.type_name,
        "required": p.required,
        "default": None if p.required else _json_or_repr(p.default),
    }


def _resolved_as_dict(resolved: Resolved) -> dict[str, Any]:
    described: dict[str, Any] = {
        "full_name": resolved.name,
        "distribution": resolved.distribution,
        "version": resolved.version,
        "origin": resolved.origin,
        "doc": inspect.getdoc(resolved.target) or "",
    }
    if resolved.info is not None:
        described |= _reward_as_dict(resolved.info)
    return described


def _with_defaults(info: RewardInfo, read: Callable[[], Any]) -> Any:
    """The range or the needs under the default options; None where they need options."""
    try:
        return read()
    except Exception:  # the author's function, and the defaults may not be enough for it
        return None


def _json_or_repr(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return repr(value)
    return value


def _print_plugins(found: list[Plugin]) -> None:
    console = Console()
    if not found:
        console.print("No reward plugins are installed.")
        return
    if console.is_terminal:
        console.print(_table(found))
    else:  # a program reads it: every line says all of its reward
        cells = [(p.label, *row, p.state) for p in found for row in _rows(p, "-")]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (c.ljust(w) for c, w in zip(row, widths, strict=True))
            console.print(Text("  ".join(padded).rstrip()), soft_wrap=True)
    for plugin in found:
        if plugin.reason:
            line = Text(f"{plugin.entry} of {plugin.label}: {plugin.state}: {plugin.reason}")
            console.print(line, soft_wrap=True)


def _table(found: list[Plugin]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("distribution", overflow="fold")
    table.add_column("entry/reward(inputs)", overflow="fold")
    table.add_column("range", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for plugin in found:
        state = Text(plugin.state, style=_STYLES.get(plugin.state, "red"))
        for i, (call, bounds) in enumerate(_rows(plugin, "")):
            first = [Text(plugin.label), state] if i == 0 else [Text(), Text()]
            table.add_row(first[0], Text(call), Text(bounds), first[1])
    return table


def _rows(plugin: Plugin, no_range: str) -> list[tuple[str, str]]:
    """Call and range of each reward; the entry alone of a plugin without any."""
    rows = [(_call_text(plugin, i), _range_text(i)) for i in plugin.rewards.values()]
    return rows or [(plugin.entry, no_range)]


def _call_text(plugin: Plugin, info: RewardInfo) -> str:
    """A reward as one line: full name and inputs, with a question mark after optional ones."""
    inputs = ", ".join(p.name if p.required else f"{p.name}?" for p in info.inputs)
    return f"{plugin.entry}/{info.name}({inputs})"


def _range_text(info: RewardInfo) -> str:
    bounds = _with_defaults(info, info.range)
    return "by options" if bounds is None else f"{bounds[0]:g} to {bounds[1]:g}"


def _print_reward(resolved: Resolved) -> None:
    console = Console()
    info = resolved.info

    def line(text: str = "", style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    line(resolved.name, "bold")
    line(f"{'from':<13}  {resolved.origin}")
    if info is None:
        line("an untagged function, called in TRL's style")
    else:
        for title, text in _declared(info).items():
            line(f"{title:<13}  {text}")
        _print_parameters(line, "inputs", info.inputs)
        _print_parameters(line, "options", info.options)
    if doc := inspect.getdoc(resolved.target):
        line()
        line(doc)


def _declared(info: RewardInfo) -> dict[str, str]:
    """What a reward declares of itself, and what holds where it says nothing, by title."""
    declared = {"range": _range_text(info), "scope": info.scope}
    if info.is_async:
        declared["isolation"] = "event loop (async)"
    else:
        # It was found by a name, so a worker finds it too.
        declared["isolation"] = info.isolation or "process (default)"
    if info.isolation != "inline":
        given = info.timeout_s
        declared["timeout_s"] = f"{TIMEOUT_S:g} (default)" if given is None else f"{given:g}"
        bounds = _with_defaults(info, info.range)
        low = f"low ({bounds[0]:g})" if bounds else "low"
        declared["on_timeout"] = low if info.on_timeout == "low" else _value_text(info.on_timeout)
    declared["on_error"] = _value_text(info.on_error)
    declared["deterministic"] = "yes" if info.deterministic else "no"
    needs = _with_defaults(info, info.needs)
    if needs is None or needs:
        declared["needs"] = "by options" if needs is None else ", ".join(needs)
    return declared


def _value_text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _print_parameters(
    line: Callable[[str], None], title: str, parameters: tuple[Parameter, ...]
) -> None:
    line(f"{title}" if parameters else f"{title}: none")
    for p in parameters:
        default = "" if p.required else f" = {p.default!r}"
        line(f"  {p.name}: {p.type_name}{default}")
