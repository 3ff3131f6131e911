"""`grpo new`: writes what one would else begin by hand: a run's config, a reward's package."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grpo_core.cli.check import as_text, report_on

if TYPE_CHECKING:
    from grpo_core.catalog import Catalog
    from grpo_core.new_reward import Form, NewReward
    from grpo_core.new_run.data import Data
    from grpo_core.new_run.rewards import Chosen
    from grpo_core.sections import DataSection
    from grpo_core.source import Datasets

app = typer.Typer(no_args_is_help=True, help="Begin a run or a reward.")


@app.command()
def run(
    data: Annotated[
        str, typer.Option(help="File, folder, hub name, or package.module:function of the rows.")
    ],
    model: Annotated[str, typer.Option(help="Folder or hub id of the model.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The new file.")] = Path("run.toml"),
    split: Annotated[str | None, typer.Option(help="Which part of the data.")] = None,
    name: Annotated[str | None, typer.Option(help="Configuration of a hub data set.")] = None,
    prompt: Annotated[
        str | None, typer.Option(help="Column of the prompt; default: the likeliest.")
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(help="A reward's name, or file.py:function; repeatable; default: a mix."),
    ] = None,
) -> None:
    """Write a commented config for data and a model, and check it.

    Exit code: that of grpo check on the new file; 2 without a file if nothing could be written.
    """
    from grpo_core.catalog import Catalog
    from grpo_core.new_run.data import look_at_data
    from grpo_core.new_run.model import look_at_model
    from grpo_core.new_run.places import check_free, data_path, model_name, write_new
    from grpo_core.new_run.rewards import other_rewards
    from grpo_core.new_run.text import config_text
    from grpo_core.new_run.training import plan_training

    check_free(out)
    folder = out.parent
    section = _section(data_path(data, folder), split, name)
    catalog = Catalog()
    # What a plugin or a data function prints must not get into the report.
    with contextlib.redirect_stdout(sys.stderr):
        seen = look_at_data(section, folder, _datasets(section, folder), prompt)
        looked = look_at_model(model_name(model, folder), folder)
        training = plan_training(seen.n_rows, looked.positions, hold_out=seen.eval_split is None)
        chosen, reasons = _rewards(catalog, seen, folder, reward or (), training.reply)
        others = other_rewards(catalog, chosen, reasons)
    write_new(out, config_text(seen, looked, training, chosen, others))
    for line in _said(out, seen, chosen, catalog):
        typer.echo(line)
    draft, report = report_on(out)
    typer.echo(f"\ngrpo check {shlex.quote(str(out))}:")
    typer.echo(as_text(out, draft, report))
    if report.problems:
        typer.echo(f"{out} stays: edit it where the problems say, then run grpo check again")
        raise typer.Exit(2)


@app.command()
def reward(
    name: Annotated[
        str, typer.Argument(help="The first half of the reward's name; `units` in units/equals.")
    ],
    as_class: Annotated[
        bool, typer.Option("--class", help="A class, for state and options that are checked.")
    ] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="One call for many completions, as a model wants.")
    ] = False,
    group: Annotated[
        bool, typer.Option("--group", help="One call for all completions of a prompt.")
    ] = False,
    as_async: Annotated[
        bool, typer.Option("--async", help="An async function, for services.")
    ] = False,
    parent: Annotated[
        str, typer.Option("--dir", help="The folder in which the package's folder is made.")
    ] = ".",
) -> None:
    """Write a package with one reward, its contract test and a README.

    Without an option the reward is a function that gets one completion.
    """
    from grpo_core.errors import ConfigError
    from grpo_core.new_reward import plan_reward

    forms: dict[Form, bool] = {
        "class": as_class,
        "batch": batch,
        "group": group,
        "async": as_async,
    }
    chosen: list[Form] = [form for form, wanted in forms.items() if wanted]
    if len(chosen) > 1:
        given = " and ".join(f"--{form}" for form in chosen)
        raise ConfigError(f"a reward has one form to begin with, got {given}; give one of them")
    if not parent.strip():  # as a path it would be this folder
        raise ConfigError(f"--dir: expected a folder, got {parent!r}; leave it out for this one")
    new = plan_reward(name, chosen[0] if chosen else "function", Path(parent))
    for line in _said_of_reward(new, new.write()):
        typer.echo(line)


def _said_of_reward(new: NewReward, files: Sequence[str]) -> Iterator[str]:
    """What was written, and the commands that come next."""
    here = os.path.join(".", new.folder)  # pip takes it for a path only with a slash
    yield f"written: {new.folder}"
    yield from (f"  {name}" for name in files)
    yield "next:"
    yield f"  pip install -e {shlex.quote(f'{here}[test]')}"
    yield f"  grpo score {new.reward} --text 'It is 85.' --input answer=85"
    yield f"  pytest {shlex.quote(here)}"
    yield "It has no licence yet; add one before you publish it."


def _section(path: str, split: str | None, name: str | None) -> DataSection:
    from grpo_core.errors import ConfigError, Problem
    from grpo_core.reader import parse_section
    from grpo_core.sections import DataSection

    problems: list[Problem] = []
    table = {"path": path, "split": split, "name": name}
    section = parse_section(DataSection, table, "data", "data", problems)
    if not isinstance(section, DataSection):
        raise ConfigError(problems)
    return section


def _datasets(section: DataSection, folder: Path) -> Datasets | None:
    """What loads from the hub and from `save_to_disk`, where the data is of that kind."""
    from grpo_core.errors import MissingExtraError
    from grpo_core.source import locate

    if locate(section.path, folder).kind not in ("hub", "saved"):
        return None
    try:
        from grpo_core.training import hub
    except MissingExtraError:
        return None  # loading says so
    return hub


def _rewards(
    catalog: Catalog, seen: Data, folder: Path, names: Sequence[str], reply: int
) -> tuple[list[Chosen], dict[str, str]]:
    from grpo_core.new_run.mix import starter_rewards
    from grpo_core.new_run.rewards import named_rewards, nothing_fits

    if names:
        return named_rewards(catalog, names, seen, folder), {}
    chosen, reasons = starter_rewards(catalog, seen, folder, reply)
    if not chosen:
        raise nothing_fits(catalog, reasons)
    return chosen, reasons


def _said(out: Path, seen: Data, chosen: Sequence[Chosen], catalog: Catalog) -> Iterator[str]:
    """What was written, and what of it was guessed."""
    from grpo_core.new_run.text import visible

    yield f"written: {out}"
    others = ", ".join(map(repr, seen.others))
    yield visible(
        f"prompt:  column {seen.prompt.name!r} ({seen.prompt.kind})"
        + (f"; it could also be {others}" if others else ""),
        300,
    )
    if seen.eval_split is not None:
        yield f"splits:  {seen.section.split} to train on, {seen.eval_split} to evaluate on"
    if seen.gold is not None:
        yield visible(f"gold:    column {seen.gold!r}, by its name", 300)
    for one in chosen:
        bound = "".join(f"; {i} is column {c!r}, a guess" for i, c in one.inputs.items())
        gates = "".join(f"; counts where {gate} is {v:g}" for gate, v in one.requires.items())
        yield visible(f"reward:  {one.name} ({one.use}), weight {one.weight:g}{bound}{gates}", 300)
        for p in one.unbound:
            yield f"  to do: no column looks like its input {p.name} ({p.type_name}); bind it"
        for p in one.required:
            yield f"  to do: its option {p.name} ({p.type_name}) must be given"
    for plugin in catalog.broken():
        yield f"not used: {plugin.entry} of {plugin.label} is {plugin.state}: {plugin.reason}"
