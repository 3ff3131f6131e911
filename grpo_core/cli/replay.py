"""`grpo replay`: a recorded run under other rewards, options or weights."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from grpo_core.errors import ConfigError


def replay(
    run: Annotated[Path, typer.Argument(help="The run's directory.")],
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with other rewards; default: the run's own.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: rewards.brief.weight=0.2; repeatable."),
    ] = None,
    score: Annotated[
        str, typer.Option(help="Rewards to call again: changed, all, or new ones only.")
    ] = "changed",
    mode: Annotated[str, typer.Option(help="Completions of train, or of eval.")] = "train",
    rows: Annotated[int, typer.Option(min=0, help="Rows that changed most to show.")] = 10,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(help="Exit with 1 beyond a share, such as flips=0.01; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    allow_plugin: Annotated[
        list[str] | None, typer.Option(help="Use only this distribution; repeatable.")
    ] = None,
    block_plugin: Annotated[
        list[str] | None, typer.Option(help="Do not use this distribution; repeatable.")
    ] = None,
) -> None:
    """Score and combine the completions of a run again, and say what would have been different.

    Exit code: 0, 1 beyond a --fail-on or where a reward stopped it, 2 if the call, the config or
    the record is wrong.
    """
    from typing import get_args

    from grpo_core.preflight import chosen_plugins
    from grpo_core.replay.again import Rescore
    from grpo_core.replay.limits import exceeded, read_limits
    from grpo_core.replay.report import as_text
    from grpo_core.replay.run import Request, replay_run
    from grpo_core.sections import Mode

    for flag, value, choices in (("--score", score, Rescore), ("--mode", mode, Mode)):
        if value not in get_args(choices):
            raise ConfigError(f"{flag}: expected one of {_words(get_args(choices))}, got {value!r}")
    limits = read_limits(fail_on or ())
    request = Request(run, config, overrides or (), score, mode, rows)  # type: ignore[arg-type]
    # What a reward prints must not get into the report.
    with contextlib.redirect_stdout(sys.stderr):
        shown = replay_run(request, lambda d: chosen_plugins(d, allow_plugin, block_plugin))
    shown["exceeded"] = exceeded(shown, limits)
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        for line in as_text(shown):
            typer.echo(line)
    if shown["exceeded"]:
        for line in shown["exceeded"]:
            typer.echo(f"too much changed: {line}", err=True)
        raise typer.Exit(1)


def _words(choices: tuple[str, ...]) -> str:
    return ", ".join(choices)
