"""`grpo train`: one run from a config file."""

from __future__ import annotations

import logging
import os
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
    from grpo_core.errors import ConfigError, GrpoError, MissingExtraError, RewardError
    from grpo_core.preflight import chosen_plugins
    from grpo_core.reader import read_draft

    try:
        from grpo_core.training.ranks import TerminatedError
        from grpo_core.training.run import quiet_libraries, train_run
    except MissingExtraError as exc:
        raise MissingExtraError("grpo train", exc.extra) from None
    if allow_changed and not resume:
        raise ConfigError("--allow-changed goes with --resume")
    quiet_libraries()
    rank = os.environ.get("RANK", "0")  # set by torchrun and accelerate launch
    write = typer.echo if rank == "0" else _silent
    if rank != "0":
        logging.getLogger("grpo_core").setLevel(logging.ERROR)
    try:
        draft = read_draft(config, overrides or ())
        catalog = chosen_plugins(draft, allow_plugin, block_plugin)
        done = train_run(draft, catalog, write, resume=resume, allow_changed=allow_changed)
    except TerminatedError:
        raise typer.Exit(143) from None
    except GrpoError as exc:
        if rank == "0":
            raise
        # What stops all is told in full by the first; this shows what stops one alone.
        typer.echo(f"rank {rank}: error: {_in_short(str(exc))}", err=True)
        raise typer.Exit(1 if isinstance(exc, RewardError) else 2) from None
    write(f"model: {done.model}")
    write(f"run:   {done.path}")


def _in_short(text: str) -> str:
    """The first line of an error, and behind a heading the first problem."""
    first, *others = text.splitlines()
    return f"{first} {others[0].strip(' -')}" if first.endswith(":") and others else first


def _silent(line: str) -> None:
    """What all processes have to say is said by the first."""
