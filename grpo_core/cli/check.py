"""`grpo check`: all that can be known about a run before its model is loaded."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grpo_core.errors import ConfigError, GrpoError, MissingExtraError, Problem, counted

if TYPE_CHECKING:
    from grpo_core.preflight import Report
    from grpo_core.reader import Draft


def check(
    config: Annotated[Path, typer.Argument(help="The run's TOML file.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: train.learning_rate=2e-6; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 if there are warnings, too.")
    ] = False,
    allow_plugin: Annotated[
        list[str] | None, typer.Option(help="Use only this distribution; repeatable.")
    ] = None,
    block_plugin: Annotated[
        list[str] | None, typer.Option(help="Do not use this distribution; repeatable.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Check a run of so many processes; default: those started."),
    ] = None,
) -> None:
    """Say all that is wrong with a run, without loading the model; nothing is created.

    Exit code: 0 if the run can begin, 2 if there are problems.
    """
    draft, report = report_on(config, overrides or (), allow_plugin, block_plugin, processes)
    if as_json:
        typer.echo(json.dumps(_as_json(config, draft, report), ensure_ascii=False))
    else:
        typer.echo(as_text(config, draft, report))
    if report.problems or (strict and report.warnings):
        raise typer.Exit(2)


def report_on(
    config: Path,
    overrides: Collection[str] = (),
    allow: list[str] | None = None,
    block: list[str] | None = None,
    processes: int | None = None,
) -> tuple[Draft | None, Report]:
    """What `grpo check` finds in a config, and the config as far as it could be read.

    Args:
        config: The run's TOML file.
        overrides: `section.key=value` texts.
        allow: Distributions that alone may be used, or None for all.
        block: Distributions that may not.
        processes: How many processes train; default: those that a launcher has started.
    """
    from grpo_core.loading import RunData
    from grpo_core.preflight import Report
    from grpo_core.reader import read_draft

    draft = None
    # What a reward prints must not get into the report.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            draft = read_draft(config, overrides)
            report = _look(draft, allow, block, processes)
        except ConfigError as exc:
            report = Report(RunData(None, None, []), list(exc.problems))
        except GrpoError as exc:
            report = Report(RunData(None, None, []), [Problem("", str(exc))])
    return draft, report


def _look(
    draft: Draft, allow: list[str] | None, block: list[str] | None, processes: int | None
) -> Report:
    from grpo_core.batch import launched_processes
    from grpo_core.preflight import chosen_plugins, look

    catalog = chosen_plugins(draft, allow, block)
    try:
        from grpo_core.training.check import check_run
        from grpo_core.training.run import quiet_libraries
    except MissingExtraError as exc:
        report = look(draft, catalog, processes=processes or launched_processes())
        missing = MissingExtraError("looking at [train], the tokenizer and the prompts", exc.extra)
        report.notes.append(str(missing))
        return report
    quiet_libraries()
    return check_run(draft, catalog, processes=processes).report


def _n_rows(report: Report) -> tuple[int | None, int | None]:
    train, evaluation = (
        None if part is None else part.fingerprint.get("rows")
        for part in (report.data.train, report.data.evaluation)
    )
    return train, evaluation


def _as_json(config: Path, draft: Draft | None, report: Report) -> dict[str, Any]:
    rows, eval_rows = _n_rows(report)
    first = report.first_prompt
    return {
        "config": str(config),
        "ok": not report.problems,
        "problems": [{"where": p.where, "message": p.message} for p in report.problems],
        "warnings": [{"where": p.where, "message": p.message} for p in report.warnings],
        "notes": report.notes,
        "rows": rows,
        "eval_rows": eval_rows,
        "rewards": {} if draft is None else {n: s.use for n, s in draft.rewards.items()},
        "first_prompt": None
        if first is None
        else {"text": first.text, "prefill": first.prefill, "tokens": first.tokens},
    }


def as_text(config: Path, draft: Draft | None, report: Report) -> str:
    """The report as people read it; the last line says whether the run can begin."""
    lines = []
    rows, eval_rows = _n_rows(report)
    if rows is not None:
        held = "" if eval_rows is None else f", {eval_rows} for evaluation"
        lines.append(f"data: {counted(rows, 'row')}{held}")
    if draft is not None and draft.rewards:
        used = ", ".join(f"{name} ({section.use})" for name, section in draft.rewards.items())
        lines.append(f"rewards: {used}")
    if (first := report.first_prompt) is not None:
        lines.append(f"first prompt, {first.tokens} tokens:")
        lines += [f"  | {line}" for line in first.text.split("\n")]
        lines.append(f"prefill: {first.prefill!r}" if first.prefill else "prefill: none")
    for name, found in (
        ("note", report.notes),
        ("warning", report.warnings),
        ("problem", report.problems),
    ):
        if found:
            lines.append(f"{len(found)} {name}{'s' if len(found) > 1 else ''}:")
            lines += [f"  - {one}" for one in found]
    lines.append(f"{config}: {'not ready' if report.problems else 'ready to train'}")
    return "\n".join(lines)
