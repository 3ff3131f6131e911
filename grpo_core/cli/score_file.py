"""The form of `grpo score` for files: prepares the rewards and prints what became of the rows."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from grpo_core.bulk.check import Columns
from grpo_core.bulk.explain import explain
from grpo_core.bulk.job import Job, Progress, Scale, score_file
from grpo_core.bulk.summary import bars
from grpo_core.catalog import Catalog
from grpo_core.cli.pairs import read_files, read_pairs
from grpo_core.composite import PENALTIES, CompositeReward
from grpo_core.config import penalties
from grpo_core.discovery import PluginFilter
from grpo_core.errors import ConfigError, Problem, RewardError
from grpo_core.reader import read_draft
from grpo_core.sections import PluginsSection, ScoringSection


@dataclass(frozen=True)
class Call:
    """What the command line says, for a file.

    Attributes:
        name: A reward's name, or a TOML file.
        data: The file.
        chosen: Which distributions may be used.
        out: Where the scored rows go.
        resume: Go on with a partial file.
        inputs: `name=value` texts.
        input_files: `name=path` texts.
        input_columns: `input=column` texts.
        options: `name=value` texts.
        overrides: `section.key=value` texts.
        completion_column: Column of the completion.
        prompt_column: Column of the prompt.
        group_column: Column of the group, "" for no groups.
        prefix: In front of the added columns' names.
    """

    name: str
    data: Path
    chosen: PluginFilter
    out: Path | None = None
    resume: bool = False
    inputs: Sequence[str] = ()
    input_files: Sequence[str] = ()
    input_columns: Sequence[str] = ()
    options: Sequence[str] = ()
    overrides: Sequence[str] = ()
    completion_column: str = "completion"
    prompt_column: str | None = None
    group_column: str | None = None
    prefix: str = ""


def score_rows(call: Call, row: int | None, *, as_json: bool) -> None:
    """Scores a file, or explains one row of it, and prints the result.

    Raises:
        typer.Exit: Code 1, if a reward broke its contract.
    """
    prepare = _from_config if call.name.endswith(".toml") else _from_name
    # What a reward prints must not get between the lines, or into the JSON, of the result.
    with contextlib.redirect_stdout(sys.stderr), _own_words(call):
        job = prepare(call)
        if row is not None:
            shown = explain(job, row)
        else:
            try:
                with _progress() as progress:
                    shown = score_file(job, progress)
            except KeyboardInterrupt:
                if left := _left(call):
                    typer.echo(left, err=True)
                raise
            except RewardError as exc:
                raise RewardError("\n".join(filter(None, (str(exc), _left(call))))) from exc
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        for line in _explained(shown) if row is not None else _summary(shown):
            typer.echo(line)
    if any(r.get("fault") or r.get("faults") for r in shown["rewards"].values()):
        raise typer.Exit(1)


def _left(call: Call) -> str:
    """How to go on with what was scored before the stop; "" if nothing is there."""
    if call.out is None or not Path(f"{call.out}.partial").exists():
        return ""
    return f"stopped; --resume goes on with {call.out}.partial"


def _from_name(call: Call) -> Job:
    catalog = Catalog(call.chosen)
    resolved = catalog.resolve(call.name, bare=True)
    info = resolved.info
    problems: list[Problem] = []
    options = read_pairs(call.options, "--option", info.options if info else (), problems)
    constants = read_pairs(call.inputs, "--input", info.inputs if info else (), problems)
    files = read_files(call.input_files, constants, problems)
    bound = read_pairs(call.input_columns, "--input-column", (), problems)
    problems += [
        Problem("--input-column", f"{name!r} is given by {flag} too")
        for flag, others in (("--input", constants), ("--input-file", files))
        for name in bound
        if name in others
    ]
    inputs = {**{name: {"value": value} for name, value in constants.items()}, **files, **bound}
    section = {"use": resolved.name, "options": options, "inputs": inputs}
    try:
        composite = CompositeReward({resolved.name: section}, catalog=catalog)
    except ConfigError as exc:
        raise ConfigError([*problems, *exc.problems], "the command") from None
    if problems:
        raise ConfigError(problems, "the command")
    return _job(call, composite, "prompt", "group")


def _from_config(call: Call) -> Job:
    draft = read_draft(call.name, call.overrides)
    # Rows that are written already need no model and no other data.
    unneeded = [Problem(n, f"the section [{n}] is missing") for n in ("model", "data")]
    problems = [p for p in draft.problems if p not in unneeded]
    scale = _scale(draft.train, problems)
    listed = draft.sections.get("plugins") or PluginsSection()
    limits = draft.sections.get("scoring") or ScoringSection()
    catalog = Catalog(call.chosen.with_lists(listed.allow, listed.block))
    composite = None
    if draft.rewards:
        for warning in penalties(draft.rewards):
            typer.echo(f"warning: {warning}", err=True)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=PENALTIES)
                composite = CompositeReward(
                    draft.rewards,
                    catalog=catalog,
                    folder=draft.source.parent,
                    batch_timeout_s=limits.batch_timeout_s,
                    workers=limits.workers,
                    memory_mb=limits.memory_mb,
                    for_training=False,
                )
        except ConfigError as exc:
            problems += exc.problems
    if problems or composite is None:
        raise ConfigError(problems, call.name)
    section = draft.sections.get("data")
    return _job(call, composite, (section and section.prompt) or "prompt", scale)


def _job(call: Call, composite: CompositeReward, prompt: str, scale: Scale) -> Job:
    columns = Columns(
        call.completion_column,
        call.prompt_column or prompt,
        call.group_column,
        prompt_asked_for=call.prompt_column is not None,
    )
    return Job(
        data=call.data,
        composite=composite,
        columns=columns,
        out=call.out,
        resume=call.resume,
        prefix=call.prefix,
        scale=scale,
    )


def _scale(train: Mapping[str, Any], problems: list[Problem]) -> Scale:
    """What a training with this config divides advantages by."""
    scale = train.get("scale_rewards", "group")
    if train.get("multi_objective_aggregation", "sum_then_normalize") != "sum_then_normalize":
        wrong = "multi_objective_aggregation", "sum_then_normalize"
    elif scale == "batch":
        wrong = "scale_rewards", "group"
    else:
        return "none" if scale in ("none", False) else "group"
    problems.append(
        Problem(
            f"train.{wrong[0]}",
            f"{train[wrong[0]]!r} makes advantages depend on the trainer's batch, which a file "
            f"does not have; score with --set train.{wrong[0]}={wrong[1]}",
        )
    )
    return "group"


@contextlib.contextmanager
def _own_words(call: Call) -> Iterator[None]:
    """Makes a problem of one reward name the flag, not a key of a config."""
    try:
        yield
    except ConfigError as exc:
        if call.name.endswith(".toml"):
            raise
        flags = {
            text.partition("=")[0]: flag
            for flag, texts in (("--input-file", call.input_files), ("--input", call.inputs))
            for text in texts
        }
        problems = [_in_flags(p, flags) for p in exc.problems]
        raise ConfigError(problems, exc.source) from exc


def _in_flags(problem: Problem, flags: Mapping[str, str]) -> Problem:
    message = problem.message
    for kind, flag in ((".options", "--option"), (".inputs", "--input-column")):
        before, found, rest = problem.where.partition(kind)
        if found and before.startswith("rewards."):
            name = rest.removeprefix(".")
            if kind == ".inputs":  # of no name: it is about all inputs
                flag = flags.get(name.partition("[")[0], flag) if name else ""
            hint = f'inputs = {{ {name} = "<column>" }}'
            message = message.replace(hint, f"--input-column {name}=COLUMN")
            return Problem(f"{flag} {name}".strip(), message)
    return problem


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
    )
    with bar:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield show


def _summary(shown: Mapping[str, Any]) -> Iterator[str]:
    groups = "" if shown["groups"] is None else f" in {_counted(shown['groups'], 'group')}"
    rate = shown["rows_per_second"] or 0.0
    resumed = f", {shown['resumed_at']:,} of them before" if shown["resumed_at"] else ""
    rows_done = _counted(shown["rows"], "row")
    yield f"{rows_done}{groups}{resumed}; {shown['seconds']:.1f} s, {rate:,.0f} rows/s"
    counts = ["skipped", "failed"]
    if any(r["timed_out"] for r in shown["rewards"].values()):  # few runs need the column
        counts.append("timed_out")
    titles = [count.replace("_", " ") for count in counts]
    rows = [["reward", "mean", "std", "coverage", *titles, "time/row", "histogram"]]
    for name, r in shown["rewards"].items():
        cells = [f"{r[count]:,}" for count in counts]
        time = _time(r["seconds_per_row"])
        rows.append([name, *_numbers(r), *cells, time, bars(r["histogram"])])
    total = shown["total"]
    rows.append(["total", *_numbers(total), *[""] * len(counts), "", bars(total["histogram"])])
    yield from _aligned(rows)
    for name, r in shown["rewards"].items():
        if r["faults"]:
            rows_broken = _counted(r["faults"], "row")
            yield f"{name} broke its contract in {rows_broken}; first in {r['first_fault']}"
    if shown["out"] is not None:
        yield f"wrote {shown['out']}"


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _numbers(shown: Mapping[str, Any]) -> list[str]:
    mean, std, coverage = shown["mean"], shown["std"], shown["coverage"]
    return [
        "-" if mean is None else f"{mean:.4g}",
        "-" if std is None else f"{std:.4g}",
        # Never 100 % where a row is missing.
        f"{int(coverage * 1000) / 10:g} %",
    ]


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    side: list[Callable[[str, int], str]] = [str.ljust, *[str.rjust] * (last - 1), str.ljust]
    for row in rows:
        cells = [put(cell, w) for put, cell, w in zip(side, row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _explained(shown: Mapping[str, Any]) -> Iterator[str]:
    line = f" (line {shown['line']})" if shown["line"] else ""
    yield f"row {shown['row']}{line} of {shown['data']}"
    if shown["batch"]:
        first, last = shown["batch"]
        got = f"got the rows {first} to {last}, as for the whole file"
        yield f"rewards that see several completions {got}"
    yield f"prompt: {shown['prompt']}"
    yield f"completion: {shown['completion']}"
    for name, r in shown["rewards"].items():
        use = "" if r["use"] == name else f"  ({r['use']})"
        weight = "shadow" if r["weight"] is None else f"weight {r['weight']:g}"
        yield f"{name}  {_value(r['value'])}  {r['status']}  {weight}{use}"
        if r["reason"]:
            yield f"  {r['reason']}"
        for key, value in (r["inputs"] or {}).items():
            yield f"  input {key}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in r["metrics"].items():
            yield f"  {key} = {value:g}"
    yield f"total  {_value(shown['total'])}"


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
