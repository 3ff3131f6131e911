"""`grpo demo`: watch a tiny model learn, on a laptop CPU, in about a minute."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grpo_core.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from grpo_core.catalog import Catalog
    from grpo_core.completion import Completion
    from grpo_core.composite import CompositeReward
    from grpo_core.reader import Draft
    from grpo_core.table import ScoreTable


def demo(
    runs: Annotated[Path, typer.Option(help="Where the numbered run directory goes.")] = Path(
        "runs"
    ),
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: train.max_steps=20; repeatable."),
    ] = None,
) -> None:
    """Train the bundled tiny model on sums and show what it wrote before and after."""
    from grpo_core.catalog import Catalog
    from grpo_core.files import read_jsonl
    from grpo_core.reader import read_draft
    from grpo_core.record import next_free

    try:
        from grpo_core.training.run import quiet_libraries, train_run, use_one_thread
        from grpo_core.training.sample import sample
    except MissingExtraError as exc:
        raise MissingExtraError("grpo demo", exc.extra) from None
    quiet_libraries()
    use_one_thread()
    catalog = Catalog()
    with resources.as_file(resources.files("grpo_core.demo")) as folder:
        path = next_free(runs / "demo")
        draft = read_draft(folder / "config.toml", [f"run.dir={path}", *(overrides or ())])
        _check_installed(draft, catalog)
        rows = read_jsonl(folder / "heldout.jsonl")

        def look(trainer: Any) -> list[Completion]:
            return sample(
                trainer.model,
                trainer.processing_class,
                rows,
                max_new_tokens=trainer.args.max_completion_length,
                temperature=1.0,
                seed=trainer.args.seed,
            )

        before: list[Completion] = []
        start = 0.0

        def at_start(trainer: Any) -> None:
            nonlocal start
            before.extend(look(trainer))
            typer.echo(f"{len(rows)} held-out problems sampled; training …")
            start = time.monotonic()

        done = train_run(draft, catalog, typer.echo, before=at_start)
        seconds = time.monotonic() - start
        after = look(done.trainer)
    _report(done.trainer.composite, before, after)
    typer.echo(f"GRPO: {done.trainer.state.global_step} steps in {seconds:.0f} s")
    typer.echo(f"run:  {done.path}")


def _check_installed(draft: Draft, catalog: Catalog) -> None:
    """Names the pip command where the demo's plugins are not installed."""
    installed = {plugin.entry for plugin in catalog.plugins}
    for section in draft.rewards.values():
        entry, slash, _ = section.use.partition("/")
        if slash and entry not in installed:
            raise ConfigError(
                f"the demo uses {section.use}, which is not installed. "
                f'Install it with: pip install "grpo-core[all]"'
            )


def _report(
    composite: CompositeReward, before: Sequence[Completion], after: Sequence[Completion]
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    first, second = composite.score(before), composite.score(after)
    console = Console()
    console.print(f"\n{len(after)} held-out problems, sampled at temperature 1:")
    table = Table()
    for heading in ("reward", "before", "after", "change"):
        table.add_column(heading, justify="left" if heading == "reward" else "right")
    for name, was, now in [*_means(first, second), ("total", *_totals(composite, first, second))]:
        table.add_row(name, f"{was:.3f}", f"{now:.3f}", f"{now - was:+.3f}")
    console.print(table)
    for title, completions, scores in (("before", before, first), ("after", after, second)):
        console.print(Text(f"Three completions {title}:", style="bold"))
        for i in range(min(3, len(completions))):
            values = ", ".join(
                f"{name} {scores.values[i, k]:g}" for k, name in enumerate(scores.names)
            )
            console.print(Text(f"  {completions[i].prompt.strip()}  ->  {completions[i].text!r}"))
            console.print(Text(f"      {values}", style="dim"))


def _means(first: ScoreTable, second: ScoreTable) -> list[tuple[str, float, float]]:
    import numpy as np

    return [
        (name, float(np.nanmean(first.values[:, k])), float(np.nanmean(second.values[:, k])))
        for k, name in enumerate(first.names)
    ]


def _totals(
    composite: CompositeReward, first: ScoreTable, second: ScoreTable
) -> tuple[float, float]:
    # Groups of one: nothing is filled in, so these are plain weighted sums.
    return (
        float(composite.totals(first, 1).mean()),
        float(composite.totals(second, 1).mean()),
    )
