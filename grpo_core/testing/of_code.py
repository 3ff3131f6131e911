"""The tests of the code itself: workers, time, imports, docstrings."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from grpo_core.errors import ConfigError
from grpo_core.testing.attributes import Attributes
from grpo_core.testing.cases import shown
from grpo_core.testing.facts import Facts, fail, report
from grpo_core.testing.light_import import import_alone

_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?")


class CodeTests(Attributes):
    """What a run needs of the code, and what its reader needs of the docstring."""

    def test_reward_can_be_pickled(self) -> None:
        """The function or class, and its options, come back from pickle."""
        subject = self._facts("built").subject
        for what, value in (("reward", subject.resolved.target), ("options", subject.options)):
            try:
                back = pickle.loads(pickle.dumps(value))
            except Exception as exc:  # whatever pickle raises on a value is the finding
                fail(
                    f"The {what} cannot be pickled: {type(exc).__name__}: {exc}. Put it at the top "
                    f"of a module, and give options plain values."
                )
            if back is not value and what == "reward":
                fail("The reward comes back from pickle as another object; is it decorated twice?")

    def test_worker_scores_the_same(self) -> None:
        """A worker process can build the reward by its name, and scores the same."""
        facts = self._facts("repeatable")
        if facts.subject.info.is_async:
            pytest.skip("an async reward runs on an event loop of the trainer's process")
        try:
            facts.subject.runner("process")
        except ConfigError as exc:
            fail(str(exc))
        given = [s.example.completion for s in facts.usual]
        facts.judge(
            lambda: facts.changed(facts.subject.score(given, "process"), "in a worker"),
            "A worker scores otherwise; depend on the options and inputs only:",
        )

    def test_time_per_completion_is_bounded(self) -> None:
        """No completion takes longer than `max_seconds`, in the best of three calls."""
        facts = self._facts("sound")
        texts = [e.completion for e in facts.examples]
        calls = facts.watched.calls
        best = [c.seconds / len(c.completions) for c in calls]
        for _ in range(2):
            if max(best, default=0.0) <= self.max_seconds:
                return
            for i, c in enumerate(facts.subject.watch(texts).calls):
                best[i] = min(best[i], c.seconds / len(c.completions))
        slow = [
            f"{shown(c.completions[0].text)}: {seconds:.3g} s"
            for c, seconds in zip(calls, best, strict=True)
            if seconds > self.max_seconds
        ]
        report(slow, f"A completion may take {self.max_seconds:g} s (max_seconds):")

    def test_import_is_light(self) -> None:
        """Importing its module is quick and loads none of the packages in `heavy`."""
        subject = self._facts("built").subject
        imported = import_alone(subject.resolved.target, subject.importable)
        if imported.error:
            fail(f"The reward's module cannot be imported in a fresh process: {imported.error}")
        loaded = [f"it loads {name}" for name in imported.packages if name in self.heavy]
        report(loaded, "Import heavy packages inside the function that needs them:")
        if imported.seconds > self.max_import_seconds:
            fail(
                f"Importing the reward's module takes {imported.seconds:.3g} s; it may take "
                f"{self.max_import_seconds:g} s (max_import_seconds)."
            )

    def test_docstring_says_what_comes_back(self) -> None:
        """The docstring's first line is a sentence; lists of rewards show it."""
        summary = self._facts("built").subject.info.summary
        if not summary.endswith("."):
            fail(
                f"The docstring's first line must say what comes back and end in a full stop, got "
                f"{summary!r}; such as: 1.0 if the text is the answer, else 0.0."
            )

    def test_docstring_tells_the_range(self) -> None:
        """The docstring holds both ends of the range, as numbers or as the option that sets it."""
        facts = self._facts("built")
        docstring = _docstring(facts)
        told = {float(n.replace("−", "-")) for n in _NUMBER.findall(docstring)}
        for option in facts.subject.info.options:
            value = facts.subject.options.get(option.name, option.default)
            if isinstance(value, int | float) and option.name in docstring:
                told |= {float(value), -float(value)}
        ends = (facts.subject.built.low, facts.subject.built.high)
        report(
            [f"{end:g} is not there" for end in ends if end not in told],
            f"The docstring must tell the range, here {ends[0]:g} to {ends[1]:g}:",
        )

    def test_docstring_names_the_inputs(self) -> None:
        """The docstring names each input."""
        facts = self._facts("built")
        words = set(re.findall(r"\w+", _docstring(facts).lower()))
        missing = [
            f"{p.name!r} is not there"
            for p in facts.subject.info.inputs
            if not {p.name.lower(), *p.name.lower().split("_")} & words
        ]
        report(missing, "The docstring must say what the inputs are:")


def _docstring(facts: Facts) -> str:
    """The docstring of a function, or of a class with its `__init__` and `__call__`."""
    target = facts.subject.resolved.target
    parts = [target]
    if isinstance(target, type):
        parts += [target.__init__, target.__call__]  # type: ignore[misc]  # the class's own
    return "\n".join(inspect.getdoc(part) or "" for part in parts)
