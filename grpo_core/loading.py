"""The rows of a run: what is trained on, what is evaluated on, and all that is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grpo_core.dataset import PROMPT, columns_of, nested_columns, to_columns, with_prompts
from grpo_core.errors import DataError, MissingExtraError, Problem
from grpo_core.looking import Sample
from grpo_core.overlap import overlap
from grpo_core.reader import Draft
from grpo_core.sections import DataSection, EvalSection
from grpo_core.source import Datasets, held_out, identity, load, locate

Table = dict[str, list[Any]]

# What `[eval]` cannot say beside `fraction`: the rows are those of `[data]`.
_OF_ROWS = ("path", "split", "name", "limit", "prompt", "template", "chat", "system")


@dataclass(frozen=True)
class Part:
    """Rows of a run, ready for the trainer.

    Attributes:
        table: Its columns, all of one length; empty ones where the rows cannot be used.
        fingerprint: What the manifest keeps of the rows, with their number.
        places: Where each row is from; empty where the rows cannot be used.
        nested: Columns whose values are stored as JSON text; rewards get them decoded.
    """

    table: Table
    fingerprint: dict[str, Any] = field(default_factory=dict)
    places: Sequence[object] = ()
    nested: frozenset[str] = frozenset()

    @property
    def sample(self) -> Sample:
        """The rows with their places, to look at."""
        return Sample(self.table, self.places, self.nested)


@dataclass(frozen=True)
class RunData:
    """All rows of a run.

    Attributes:
        train: What is trained on, or None if it cannot be read.
        evaluation: What is evaluated on, or None if there is nothing or it cannot be read.
        problems: All that is wrong.
        warnings: What hurts no run but may not be meant.
    """

    train: Part | None
    evaluation: Part | None
    problems: list[Problem]
    warnings: list[Problem] = field(default_factory=list)


def load_data(draft: Draft, datasets: Datasets | None = None) -> RunData:
    """Reads the rows that `[data]` and `[eval]` name and makes their prompts.

    Args:
        draft: The config, as far as it could be read.
        datasets: Loads from the hub and from `save_to_disk`; None if that is not installed.
    """
    data: DataSection | None = draft.sections.get("data")
    evaluation: EvalSection | None = draft.sections.get("eval")
    folder = draft.source.parent
    problems: list[Problem] = []
    train = None if data is None else _read(data, folder, datasets, "data", problems)
    if evaluation is None:
        return RunData(train, None, problems)
    wrong = eval_problems(evaluation, data, folder)
    problems += wrong
    if wrong or data is None:
        return RunData(train, None, problems)
    if evaluation.fraction is not None:
        if train is None or not train.fingerprint:  # not read, or not usable; said already
            return RunData(train, train, problems)
        run = _split(train, evaluation.fraction, evaluation.seed or 0, problems)
    else:
        source = eval_source(evaluation, data)
        run = RunData(train, _read(source, folder, datasets, "eval", problems), problems)
    _compare(run, held_out=evaluation.fraction is not None)
    return run


def _compare(run: RunData, *, held_out: bool) -> None:
    """Says which rows of the evaluation are trained on, however they came to be there."""
    train, evaluation = run.train, run.evaluation
    if train is None or evaluation is None or not (train.fingerprint and evaluation.fingerprint):
        return  # not read, or not usable; said already
    found, n = overlap(evaluation.sample, train.sample), evaluation.fingerprint["rows"]
    if found.n_rows == n and not held_out:
        text = f"all {n} rows are trained on too: {found.text}; give fraction = 0.05, or rows that"
        run.problems.append(Problem("eval", f"{text} are not in [data]"))
    elif found.n_prompts:
        text = f"{found.n_prompts} of the {n} prompts are trained on too: {found.text}; take them"
        run.warnings.append(Problem("eval", f"{text} out of [data] or [eval]"))


def eval_source(evaluation: EvalSection, data: DataSection) -> DataSection:
    """The rows of `[eval]` in the words of `[data]`, from which it takes what it does not say."""
    same = evaluation.path is None
    prompts: EvalSection | DataSection = evaluation
    if evaluation.prompt is None and evaluation.template is None:
        prompts = data
    return DataSection(
        path=data.path if evaluation.path is None else evaluation.path,
        split=evaluation.split or (data.split if same else None),
        name=evaluation.name or (data.name if same else None),
        limit=evaluation.limit,
        seed=evaluation.seed,
        prompt=prompts.prompt,
        template=prompts.template,
        chat=data.chat if evaluation.chat is None else evaluation.chat,
        system=data.system if evaluation.system is None else evaluation.system,
    )


def eval_problems(evaluation: EvalSection, data: DataSection | None, folder: Path) -> list[Problem]:
    """What `[eval]` says twice, or does not say."""
    if evaluation.fraction is not None:
        return [
            Problem(f"eval.{key}", "cannot stand beside fraction, whose rows are those of [data]")
            for key in _OF_ROWS
            if getattr(evaluation, key) is not None
        ]
    if evaluation.path is None and evaluation.split is None and evaluation.name is None:
        text = "says no rows: give fraction = 0.05 to hold some out, or path, or another split"
        return [Problem("eval", text)]
    path = evaluation.path or (data.path if data is not None else "")
    try:
        if data is not None and identity(data, folder) == identity(
            eval_source(evaluation, data), folder
        ):
            text = "reads the rows that are trained on; give fraction = 0.05, or another path or"
            return [Problem("eval", f"{text} split")]
        hub = evaluation.split is None and locate(path, folder).kind == "hub"
    except DataError:
        hub = False  # reading it says so
    if hub:
        text = f'is missing: say which split of {path!r} to evaluate on, such as "test"'
        return [Problem("eval.split", text)]
    return []


def _read(
    section: DataSection,
    folder: Path,
    datasets: Datasets | None,
    where: str,
    problems: list[Problem],
) -> Part | None:
    try:
        loaded = load(section, folder, datasets, where)
    except (DataError, MissingExtraError) as exc:
        problems.append(Problem(f"{where}.path", str(exc)))
        return None
    place = loaded.places.__getitem__
    try:
        rows = with_prompts(
            loaded.rows,
            prompt=section.prompt,
            template=section.template,
            chat=section.chat,
            system=section.system,
            where=where,
            place=place,
        )
        table = to_columns(rows, place)
    except DataError as exc:
        problems.append(Problem("", str(exc)))
        # The columns are known all the same, and so is whether the rewards' inputs are among them.
        return Part({c: [] for c in [*columns_of(loaded.rows), PROMPT]})
    fingerprint = loaded.fingerprint | {"rows": len(rows)}
    return Part(table, fingerprint, loaded.places, nested_columns(rows))


def _split(part: Part, fraction: float, seed: int, problems: list[Problem]) -> RunData:
    """Takes the held-out rows from the others; both keep their order."""
    n = part.fingerprint["rows"]
    out = held_out(n, fraction, seed)
    if len(out) == n:
        text = f"would hold out every row (there are {n}); make it smaller or add rows"
        problems.append(Problem("eval.fraction", text))
        return RunData(part, None, problems)
    chosen = set(out)
    kept = [i for i in range(n) if i not in chosen]
    return RunData(
        Part(
            _rows_of(part.table, kept),
            part.fingerprint | {"rows": len(kept)},
            [part.places[i] for i in kept],
            part.nested,
        ),
        Part(
            _rows_of(part.table, out),
            {"held_out_of": part.fingerprint["path"], "seed": seed, "rows": len(out)},
            [part.places[i] for i in out],
            part.nested,
        ),
        problems,
    )


def _rows_of(table: Table, numbers: Sequence[int]) -> Table:
    return {column: [values[i] for i in numbers] for column, values in table.items()}
