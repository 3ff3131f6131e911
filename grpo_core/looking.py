"""Looks at rows of the data: types of the inputs, golds that a reward cannot read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from grpo_core.convert import converter
from grpo_core.errors import Problem, counted
from grpo_core.inputs import Column, InputPlan
from grpo_core.outcome import Outcome
from grpo_core.reward import Parameter, RewardInfo

# Rows that are looked at; a data set with a fault usually has it early.
ROWS = 1000
# Rows whose inputs a reward is asked about: each bad one has to be found, not the first. And the
# seconds after which no more are asked about, unless they are among the first.
ASKED_ROWS = 100_000
_MOST_SECONDS = 10.0
# Rows and ranges of rows that are named; a reader needs no more to see which they are.
_MAX_PLACES = 200
# Reasons of a reward that are shown, each with the first row that has it.
_MAX_REASONS = 5


@dataclass(frozen=True)
class Sample:
    """Rows to look at.

    Attributes:
        table: Columns, all of one length.
        places: Where each row is from, such as a line of a file; else rows are counted from 0.
        nested: Columns whose values are stored as JSON text.
    """

    table: Mapping[str, Sequence[Any]]
    places: Sequence[object] = ()
    nested: Collection[str] = ()

    @property
    def n_rows(self) -> int:
        """Rows that are looked at: the first 1,000 at most."""
        return min(ROWS, self._n_all)

    @property
    def n_asked(self) -> int:
        """Rows that a reward is asked about: the first 100,000 at most."""
        return min(ASKED_ROWS, self._n_all)

    @property
    def _n_all(self) -> int:
        return len(next(iter(self.table.values()), ()))

    def value(self, column: str, i: int) -> Any:
        """What row i holds in the column, as a reward gets it."""
        value = self.table[column][i]
        return json.loads(value) if column in self.nested and value is not None else value

    def place(self, i: int) -> str:
        """Where row i is from."""
        return str(self.places[i]) if i < len(self.places) else f"row {i}"


class Looked(NamedTuple):
    """What was found.

    Attributes:
        problems: What is wrong.
        warnings: What hurts no run but may not be meant.
    """

    problems: list[Problem]
    warnings: list[Problem]


def look_at(
    info: RewardInfo,
    plan: InputPlan,
    sample: Sample,
    where: str,
    check_inputs: Callable[..., object] | None = None,
) -> Looked:
    """Compares the values of a reward's columns with the types its signature declares.

    A row that the reward's own check refuses fails by itself, and the others are scored: a
    warning. It is a problem if all are refused.

    Args:
        info: The reward's declaration.
        plan: Where its inputs come from.
        sample: The rows.
        where: Path of the inputs, for the problems.
        check_inputs: The reward's own check of its inputs, called if the types are right.
    """
    found = Looked([], [])
    declared = {p.name: p for p in info.inputs}
    for column in plan.columns:
        if column.column in sample.table:
            _look_at_column(info.name, declared[column.input], column, sample, where, found)
    if check_inputs is not None and not found.problems:
        text, is_all = _author_says(plan, sample, check_inputs)
        if text:
            problem = Problem(where, f"{info.name!r} cannot use its inputs: {text}")
            (found.problems if is_all else found.warnings).append(problem)
    return found


def _look_at_column(
    reward: str, parameter: Parameter, column: Column, sample: Sample, where: str, found: Looked
) -> None:
    check = converter(parameter)
    wrong: list[tuple[int, str]] = []
    n_none = 0
    for i in range(sample.n_rows):
        try:
            value = column.value(sample.value(column.column, i))
        except (ValueError, TypeError, RecursionError) as exc:
            wrong.append((i, f"holds no JSON of the declared type {parameter.type_name}: {exc}"))
            continue
        if value is None and not column.takes_none:
            n_none += column.required
            continue
        wrong += [(i, f"{text} at {path}" if path else text) for path, text in check(value)[1]]
    at = f"{where}.{parameter.name}"
    said = f"{reward!r} reads column {column.column!r}"
    advice = f'bind another column (inputs = {{ {parameter.name} = "<column>" }}) or change one'
    if wrong:
        text = f"{said}: {_first(wrong, sample)}; {advice}"
        found.problems.append(Problem(at, text))
    if n_none and n_none == sample.n_rows:
        text = (
            f"{said}, which is None in {n_none} of the first {counted(n_none, 'row')}, so it would "
            f"skip every row; {advice}"
        )
        found.problems.append(Problem(at, text))
    elif n_none:
        text = f"{said}, which is None in {n_none} of the first {sample.n_rows} rows; it skips them"
        found.warnings.append(Problem(at, text))


def _author_says(
    plan: InputPlan, sample: Sample, check_inputs: Callable[..., object]
) -> tuple[str, bool]:
    """What the reward says against the inputs, "" if nothing, and whether it is so in all rows."""
    wrong: list[tuple[int, str]] = []
    n_asked = 0
    names = [c.column for c in plan.columns if c.column in sample.table]
    end = time.monotonic() + _MOST_SECONDS
    n_rows = 0
    for i in range(sample.n_asked if names else 1):
        if i >= sample.n_rows and time.monotonic() > end:
            break
        n_rows += 1
        inputs = plan.read({name: sample.value(name, i) for name in names})
        if isinstance(inputs, Outcome):
            continue  # skipped for a None
        n_asked += 1
        try:
            text = check_inputs(**inputs)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # the method is the author's; whatever it raises is a finding
            text = f"check_inputs raised {type(exc).__name__}: {exc}"
        if text is not None:
            wrong.append((i, str(text)))
    if not wrong:
        return "", False
    if not names:  # no row has a part in it
        files = f" in {', '.join(plan.files)}" if plan.files else ""
        return wrong[0][1] + files, True
    firsts: dict[str, int] = {}
    for i, text in wrong:
        firsts.setdefault(text, i)
    shown = list(firsts.items())[:_MAX_REASONS]
    said = "; ".join(f"{text} in {sample.place(i)}" for text, i in shown)
    if len(firsts) > _MAX_REASONS:
        said += f"; and {len(firsts) - _MAX_REASONS} more reasons"
    if len(wrong) > 1:
        places = _places([sample.place(i) for i, _ in wrong])
        said += f"; it refuses {len(wrong)} of the first {n_rows} rows: {places}"
    return said, len(wrong) == n_asked


def _places(places: Sequence[str]) -> str:
    """Places in a few words: "a.jsonl, line 3, 5-9, b.jsonl, line 1"."""
    ranges: list[tuple[str, int, int]] = []
    for place in places:
        found = re.fullmatch(r"(.*?)(\d+)", place, re.DOTALL)
        before, number = (found[1], int(found[2])) if found else (place, -1)
        if ranges and number >= 0 and ranges[-1][0] == before and ranges[-1][2] == number - 1:
            ranges[-1] = (before, ranges[-1][1], number)
        else:
            ranges.append((before, number, number))
    said, last = [], ""
    for before, low, high in ranges[:_MAX_PLACES]:
        numbers = "" if low < 0 else f"{low}" if low == high else f"{low}-{high}"
        said.append(numbers if before == last and numbers else before + numbers)
        last = before
    more = len(ranges) - _MAX_PLACES
    return ", ".join(said) + (f" and {more} more" if more > 0 else "")


def _first(wrong: Sequence[tuple[int, str]], sample: Sample) -> str:
    i, text = wrong[0]
    more = len({number for number, _ in wrong}) - 1
    others = f" and in {more} more of the first {sample.n_rows} rows" if more else ""
    return f"{text} in {sample.place(i)}{others}"
