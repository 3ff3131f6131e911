"""The tests of what comes back: types, numbers, and who earns more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from grpo_core.errors import GrpoError
from grpo_core.testing.attributes import Attributes, facts_of
from grpo_core.testing.cases import Kind, shown
from grpo_core.testing.facts import Scored, fail, report, said
from grpo_core.testing.watch import Fault


class ValueTests(Attributes):
    """The reward and its examples, what calls return, and what is paid for."""

    def test_reward_is_found_and_built(self) -> None:
        """The name leads to a tagged reward, and it takes the options."""
        try:
            facts_of(type(self)).subject  # noqa: B018  # finding it is the test
        except GrpoError as exc:
            fail(str(exc))

    def test_examples_are_complete(self) -> None:
        """There are good and bad examples, with all the inputs that the reward requires."""
        report(self._facts("built").incomplete(), "The examples are not complete:")

    def test_calls_return(self) -> None:
        """No call raises, ends the process or takes longer than its deadline."""
        self._report("call", "A call must return, with Fail(reason) where nothing else will do:")

    def test_one_result_comes_back_for_each_completion(self) -> None:
        """At scope batch and group, a call returns as many results as it got completions."""
        if self._facts("complete").subject.info.scope == "sample":
            pytest.skip("at scope 'sample' a call returns one result")
        self._report("length", "Return one result for each completion, in order:")

    def test_returned_types_are_right(self) -> None:
        """Results are numbers, None, Score, Skip or Fail."""
        self._report("type", "Return a number, None, Score, Skip or Fail:")

    def test_values_are_finite(self) -> None:
        """No value or metric is NaN or infinite."""
        self._report("finite", "Return Fail(reason) where there is no number:")

    def test_values_are_in_range(self) -> None:
        """No value is outside the range that the reward declares."""
        self._report("range", "Stay inside the declared range, or declare another:")

    def test_worst_good_beats_best_bad(self) -> None:
        """Every good example has a value, and it is above that of every bad one."""
        good = self._scored("good")
        problems = [
            f"{s.example.name}: {said(s.outcome)}; a good example must have a value{_why(s)}"
            for s in good
            if s.outcome.value is None
        ]
        problems += _not_below(self._scored("bad"), good)
        report(problems, "Good examples must earn more than bad ones:")

    def test_attacks_stay_below_the_lowest_good(self) -> None:
        """Every attack has no value, or one below that of every good example."""
        attacks = self._scored("attack")
        if not attacks:
            pytest.skip("the contract names no attacks")
        report(_not_below(attacks, self._scored("good")), "The reward pays for attacks:")

    def _report(self, kind: Fault, advice: str) -> None:
        facts = self._facts("complete")
        if kind != "call" and not any(seen.finished for seen in facts.watched.calls):
            pytest.skip("cannot be judged: no call returned, see test_calls_return")
        found = [
            f"{_first(seen.completions)}: {text}"
            for fault, seen, text in facts.faults
            if fault == kind
        ]
        report(found, advice)

    def _scored(self, kind: Kind) -> list[Scored]:
        return [s for s in self._facts("sound").scored if s.example.kind == kind]


def _first(completions: Sequence[object]) -> str:
    text = shown(getattr(completions[0], "text", ""))
    return text if len(completions) == 1 else f"the call for {text} and {len(completions) - 1} more"


def _not_below(others: Sequence[Scored], good: Sequence[Scored]) -> list[str]:
    """Which of the others earn as much as a good example."""
    valued = [(s.outcome.value, s.example.name) for s in good if s.outcome.value is not None]
    if not valued:
        return []
    lowest, name = min(valued)
    return [
        f"{s.example.name} earns {s.outcome.value:g}, and {name} {lowest:g}{_why(s)}"
        for s in others
        if s.outcome.value is not None and s.outcome.value >= lowest
    ]


def _why(scored: Scored) -> str:
    why = scored.example.why
    return f" (why it is there: {why})" if why else ""
