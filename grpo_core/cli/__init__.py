"""The command `grpo`: one file a command, each imported without anything heavy.

A command's file exposes one function (or, with subcommands, one `typer.Typer`), which is
registered here; what it needs beyond the core is imported inside that function.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import Annotated

import typer

import grpo_core
from grpo_core.cli import check, demo, new, plugins, replay, score, train
from grpo_core.cli.output import LostOutputError, exit_code_of, guard_stdout, let_go, say_error
from grpo_core.errors import GrpoError, RewardError

# Set it to see where an error came from.
TRACEBACK_VARIABLE = "GRPO_CORE_TRACEBACK"

app = typer.Typer(
    name="grpo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="GRPO post-training with reward functions from installed packages.",
)

app.add_typer(plugins.app, name="plugins")
app.add_typer(new.app, name="new")
app.command()(score.score)
app.command()(check.check)
app.command()(train.train)
app.command()(replay.replay)
app.command()(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"grpo-core {grpo_core.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Runs `grpo`; what grpo-core raises on purpose becomes a message and exit code 2.

    Exit code 1 where a reward stopped it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A name that the terminal's encoding lacks must not end a command.
            stream.reconfigure(errors="backslashreplace")
    guard_stdout()
    try:
        app()
    except GrpoError as exc:
        say_error(str(exc))
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exception(exc)
        sys.exit(1 if isinstance(exc, RewardError) else 2)
    except LostOutputError as exc:
        sys.exit(exit_code_of(exc))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        let_go()
