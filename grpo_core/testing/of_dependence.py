"""The tests of what a score depends on: the completion and its inputs, and nothing else."""

from __future__ import annotations

import pytest

from grpo_core.testing.attributes import Attributes
from grpo_core.testing.facts import UNEQUAL, Facts, report, said


class DependenceTests(Attributes):
    """Chance, batch mates, order, the size of the batch, other groups."""

    def test_equal_calls_score_the_same(self) -> None:
        """The same call gives the same score again, and with another instance."""
        facts = self._facts("sound")
        if not facts.subject.info.deterministic:
            pytest.skip("the reward is declared as not deterministic")
        report(facts.unequal, UNEQUAL)

    def test_batch_mates_do_not_matter(self) -> None:
        """A score is the same whatever else is in the batch; at scope group this is not asked."""
        self._skip_at_scope_group()
        facts = self._facts("repeatable")
        facts.judge(
            facts.beside_other_mates,
            "Scores depend on batch mates; compare completions at scope='group':",
        )

    def test_order_does_not_matter(self) -> None:
        """Scores move with their completions when the batch or the group is reordered."""
        facts = self._facts("repeatable")
        facts.judge(lambda: _reordered(facts), "Scores depend on the place in the batch:")

    def test_batch_size_does_not_matter(self) -> None:
        """A completion scores the same alone and in a bigger batch; not asked at scope group."""
        self._skip_at_scope_group()
        facts = self._facts("repeatable")
        if facts.mates_matter:
            pytest.skip("cannot be judged: see test_batch_mates_do_not_matter")
        facts.judge(lambda: _resized(facts), "Scores depend on the size of the batch:")

    def test_groups_are_scored_apart(self) -> None:
        """At scope group, a group scores the same beside another one; one completion is a group."""
        facts = self._facts("repeatable")
        if facts.subject.info.scope != "group":
            pytest.skip(f"the reward has scope {facts.subject.info.scope!r}")
        facts.judge(lambda: _regrouped(facts), "A group must be scored whatever the others are:")

    def _skip_at_scope_group(self) -> None:
        if self._facts("built").subject.info.scope == "group":
            pytest.skip("at scope 'group' completions of a group may be compared")


def _reordered(facts: Facts) -> list[str]:
    n = len(facts.usual)
    problems = []
    for told, order in (("reversed", [*range(n)][::-1]), ("rotated", [*range(1, n), 0])):
        outcomes = facts.score([facts.usual[i].example.completion for i in order])
        back = [outcomes[order.index(i)] for i in range(n)]
        problems += facts.changed(back, f"in the batch {told}")
    return problems


def _resized(facts: Facts) -> list[str]:
    given = [s.example.completion for s in facts.usual]
    problems = facts.changed([facts.score([c])[0] for c in given], "alone")
    problems += facts.changed(facts.score(given * 2)[: len(given)], "in a batch twice as big")
    return problems


def _regrouped(facts: Facts) -> list[str]:
    given = [s.example.completion for s in facts.usual]
    other = given[1:]
    both = facts.score([*other, *given, *other], [len(other), len(given), len(other)])
    problems = facts.changed(both[len(other) : -len(other)], "between two other groups")
    for s, completion in zip(facts.usual, given, strict=True):
        (alone,) = facts.score([completion])
        if alone.fault:
            problems.append(f"{s.example.name} as a group of one: {said(alone)}")
    return problems
