"""`grpo train`: one run from a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    config: Annotated[Path, typer.Argument(help="The run's TOML file.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: train.learning_rate=2e-6; repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the config's run, if there is one.")
    ] = False,
    allow_changed: Annotated[
        bool,
        typer.Option("--allow-changed", help="Go on though it is another run now."),
    ] = False,
    allow_plugin: Annotated[
        list[str] | None, typer.Option(help="Use only this distribution; repeatable.")
    ] = None,
    block_plugin: Annotated[
        list[str] | None, typer.Option(help="Do not use this distribution; repeatable.")
    ] = None,
) -> None:
    """Train as a config file says.

    Exit code: 0 when trained, 1 if a reward stopped the run, 2 if the config is wrong, the
    run is not what it was, or the disk is full; 130 after Ctrl-C and 143 after SIGTERM, with a
    checkpoint of the last whole step.
    """
    from grpo_core.errors import ConfigError, MissingExtraError, RewardError
    from grpo_core.preflight import chosen_plugins
    from grpo_core.reader import read_draft

    try:
        from grpo_core.training.interrupts import TerminatedError
        from grpo_core.training.run import quiet_libraries, train_run
    except MissingExtraError as exc:
        raise MissingExtraError("grpo train", exc.extra) from None
    if allow_changed and not resume:
        raise ConfigError("--allow-changed goes with --resume")
    quiet_libraries()
    draft = read_draft(config, overrides or ())
    catalog = chosen_plugins(draft, allow_plugin, block_plugin)
    try:
        done = train_run(draft, catalog, typer.echo, resume=resume, allow_changed=allow_changed)
    except TerminatedError:
        raise typer.Exit(143) from None
    except RewardError as exc:
        typer.echo(f"error: {exc}", err=True)
        raise typer.Exit(1) from None
    typer.echo(f"model: {done.model}")
    typer.echo(f"run:   {done.path}")
