"""The tests of what a score depends on: the completion and its inputs, and nothing else."""

from __future__ import annotations

import pytest

from grpo_core.testing.attributes import Attributes
from grpo_core.testing.facts import differences, report, said


class DependenceTests(Attributes):
    """Chance, batch mates, order, the size of the batch, other groups."""

    def test_equal_calls_score_the_same(self) -> None:
        """The same call gives the same score again, and with another instance."""
        facts = self._facts("sound")
        if not facts.subject.info.deterministic:
            pytest.skip("the reward is declared as not deterministic")
        report(facts.unequal, "Equal calls differ; keep no state, or declare deterministic=False:")

    def test_batch_mates_do_not_matter(self) -> None:
        """A score is the same whatever else is in the batch; at scope group this is not asked."""
        self._skip_at_scope_group()
        facts = self._facts("repeatable")
        given = [s.example.completion for s in facts.usual]
        by_length = sorted(given, key=lambda c: len(c.text))
        problems = []
        for kept in (0, 1):
            for mate in (by_length[0], by_length[-1]):
                batch = [c if i % 2 == kept else mate for i, c in enumerate(given)]
                outcomes = facts.score(batch)[kept::2]
                problems += differences(
                    facts.usual[kept::2], outcomes, "as given", "beside other mates"
                )
        report(problems, "Scores depend on batch mates; compare completions at scope='group':")

    def test_order_does_not_matter(self) -> None:
        """Scores move with their completions when the batch or the group is reordered."""
        facts = self._facts("repeatable")
        n = len(facts.usual)
        problems = []
        for told, order in (("reversed", [*range(n)][::-1]), ("rotated", [*range(1, n), 0])):
            outcomes = facts.score([facts.usual[i].example.completion for i in order])
            back = [outcomes[order.index(i)] for i in range(n)]
            problems += facts.changed(back, f"in the batch {told}")
        report(problems, "Scores depend on the place in the batch:")

    def test_batch_size_does_not_matter(self) -> None:
        """A completion scores the same alone and in a bigger batch; not asked at scope group."""
        self._skip_at_scope_group()
        facts = self._facts("repeatable")
        given = [s.example.completion for s in facts.usual]
        alone = [facts.score([c])[0] for c in given]
        problems = facts.changed(alone, "alone")
        problems += facts.changed(facts.score(given * 2)[: len(given)], "in a batch twice as big")
        report(problems, "Scores depend on the size of the batch:")

    def test_groups_are_scored_apart(self) -> None:
        """At scope group, a group scores the same beside another one; one completion is a group."""
        facts = self._facts("repeatable")
        if facts.subject.info.scope != "group":
            pytest.skip(f"the reward has scope {facts.subject.info.scope!r}")
        given = [s.example.completion for s in facts.usual]
        other = given[1:]
        both = facts.score([*other, *given, *other], [len(other), len(given), len(other)])
        problems = facts.changed(both[len(other) : -len(other)], "between two other groups")
        for s, completion in zip(facts.usual, given, strict=True):
            (alone,) = facts.score([completion])
            if alone.fault:
                problems.append(f"{s.example.name} as a group of one: {said(alone)}")
        report(problems, "A group must be scored whatever the other groups are:")

    def _skip_at_scope_group(self) -> None:
        if self._facts("built").subject.info.scope == "group":
            pytest.skip("at scope 'group' completions of a group may be compared")
