"""`Facts`: what the tests of one contract share, each found once."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import pytest

from grpo_core.completion import Completion
from grpo_core.errors import DataError, GrpoError
from grpo_core.outcome import Outcome
from grpo_core.scoring.single import input_problems
from grpo_core.testing.case_file import read_cases
from grpo_core.testing.cases import Example, Kind, examples_of
from grpo_core.testing.subject import Subject
from grpo_core.testing.watch import Fault, Seen, Watched, faults_of

# What a test takes for granted; each level takes the ones before it for granted.
Level = Literal["built", "complete", "sound", "repeatable"]

# How many examples the tests use that call the reward many times.
_FEW = 8
# How often equal calls are made to find that they differ; more often where they cost little.
_LEAST_REPEATS, _MOST_REPEATS, _REPEATS_S = 2, 20, 0.1
UNEQUAL = "Equal calls differ; keep no state, or declare deterministic=False:"
# Batches may round otherwise than single calls do.
_TOLERANCE = 1e-6


class Scored(NamedTuple):
    """An example and what became of it."""

    example: Example
    outcome: Outcome


class Facts:
    """The reward of a contract, its examples, and what came of scoring them."""

    def __init__(self, contract: type[Any]) -> None:
        """Finds nothing yet.

        Args:
            contract: A subclass of `RewardContract`.
        """
        self._contract = contract

    @cached_property
    def subject(self) -> Subject:
        """The reward.

        Raises:
            GrpoError: It cannot be found or built.
        """
        # A function as an attribute of a class would become a method.
        reward = inspect.getattr_static(self._contract, "reward")
        reward = reward.__func__ if isinstance(reward, staticmethod) else reward
        return Subject(reward, self._contract.options)

    @cached_property
    def examples(self) -> list[Example]:
        """All examples.

        Raises:
            DataError: One is none, or the file of cases cannot be used.
        """
        contract = self._contract
        given: dict[Kind, Sequence[object]] = {
            "good": contract.good,
            "bad": contract.bad,
            "attack": contract.attacks,
        }
        rows: list[tuple[Kind, Any]] = []
        if contract.cases is not None:
            home = next(c for c in contract.__mro__ if "cases" in vars(c))
            path = Path(inspect.getfile(home)).parent / contract.cases
            rows = read_cases(path, self.subject.info, contract.options)
        return examples_of(given, rows, contract.inputs)

    def incomplete(self) -> list[str]:
        """What the examples lack."""
        try:
            examples = self.examples
        except DataError as exc:
            return [str(exc)]
        problems = [
            f"{kind}: expected at least one example, got none; give texts that the reward must "
            f"{verb}"
            for kind, verb in (("good", "pay"), ("bad", "pay less"))
            if not any(e.kind == kind for e in examples)
        ]
        inputs = [p.name for p in self.subject.info.inputs]
        for name, outcome in self._contract.none_inputs.items():
            if name not in inputs:
                problems.append(f"none_inputs: the reward has no input {name!r}")
            if outcome not in ("scored", "skipped", "failed"):
                problems.append(
                    f"none_inputs: expected 'scored', 'skipped' or 'failed', got {outcome!r}"
                )
        name = self.subject.resolved.name
        for example in examples:
            given = example.completion.columns
            found = input_problems(self.subject.info, name, given, given)
            problems += [f"{example.name}: {problem}" for problem in found]
        return problems

    @cached_property
    def deadly(self) -> list[tuple[Fault, Seen, str]]:
        """Calls that end a worker or hang in it; nothing is called in this process then."""
        found = self.subject.deadly([e.completion for e in self.examples])
        return [("call", Seen([completion]), told) for completion, told in found]

    @cached_property
    def watched(self) -> Watched:
        """The examples scored in this process, all together, each call watched."""
        if self.deadly:
            return Watched(0.0)
        return self.subject.watch([e.completion for e in self.examples])

    @cached_property
    def faults(self) -> list[tuple[Fault, Seen, str]]:
        """What was wrong with those calls."""
        if self.deadly:
            return self.deadly
        built, watched = self.subject.built, self.watched
        if not watched.calls and watched.outcomes:
            seen = Seen([e.completion for e in self.examples])
            return [("call", seen, f"no example reaches the reward: {said(watched.outcomes[0])}")]
        return faults_of(watched, self.subject.info, built.low, built.high)

    @property
    def scored(self) -> list[Scored]:
        """The examples with their outcomes."""
        outcomes = self.watched.outcomes
        assert outcomes is not None, "asked for before the calls were known to be sound"
        return [Scored(e, o) for e, o in zip(self.examples, outcomes, strict=True)]

    @cached_property
    def few(self) -> list[Scored]:
        """At most eight of them, of each kind about as many."""
        kinds = get_args(Kind)
        by_kind = [[s for s in self.scored if s.example.kind == k] for k in kinds]
        mixed = [s for row in itertools.zip_longest(*by_kind) for s in row if s is not None]
        return mixed[:_FEW]

    @cached_property
    def unequal(self) -> list[str]:
        """Where equal calls differ: of another instance, and of that one again and again."""
        texts = [e.completion for e in self.examples]
        start = monotonic()
        for n in range(_MOST_REPEATS):
            if n >= _LEAST_REPEATS and monotonic() - start > _REPEATS_S:
                break
            outcomes = self.subject.score(texts, self.subject.near)
            if found := differences(self.scored, outcomes, "the first time", "another time"):
                return found
        return []

    @cached_property
    def usual(self) -> list[Scored]:
        """The few, scored together."""
        outcomes = self.score([s.example.completion for s in self.few])
        return [Scored(s.example, o) for s, o in zip(self.few, outcomes, strict=True)]

    def score(self, completions: Sequence[Completion], sizes: Sequence[int] = ()) -> list[Outcome]:
        """Outcomes of a batch, scored in this process; all are one group unless sizes are given."""
        return self.subject.score(completions, self.subject.near, sizes)

    def changed(self, outcomes: Sequence[Outcome], told: str) -> list[str]:
        """Where the few score otherwise than usual; `told` says how they came about."""
        return differences(self.usual, outcomes, "as given", told)

    @cached_property
    def mates_matter(self) -> bool:
        """Whether the few score otherwise beside other mates."""
        return bool(self.beside_other_mates())

    def beside_other_mates(self) -> list[str]:
        """Where the few score otherwise beside other mates, in a batch of the same size."""
        given = [s.example.completion for s in self.usual]
        by_length = sorted(given, key=lambda c: len(c.text))
        mates = {id(c): c for c in (by_length[0], by_length[-1], *given[:2])}
        kept_at_once = [[*range(k, len(given), 2)] for k in (0, 1)]
        if self.subject.info.scope == "batch":  # where one may depend on any other
            kept_at_once += [[i] for i in range(len(given))]
        problems: dict[str, None] = {}
        for kept in kept_at_once:
            for mate in mates.values():
                outcomes = self.score([c if i in kept else mate for i, c in enumerate(given)])
                found = differences(
                    [self.usual[i] for i in kept],
                    [outcomes[i] for i in kept],
                    "as given",
                    "beside other mates",
                )
                problems |= dict.fromkeys(found)
        return list(problems)

    def judge(self, find: Callable[[], list[str]], advice: str) -> None:
        """Fails the test if scores change; where equal calls differ by now, for that reason.

        Args:
            find: Says where scores change; what it finds once and not again is chance.
            advice: What to do about it.
        """
        problems = find()
        if not problems:
            return
        if find() != problems:
            report(problems, UNEQUAL)
        report(self.changed(self.score([s.example.completion for s in self.usual]), "now"), UNEQUAL)
        report(problems, advice)

    def close(self) -> None:
        """Ends what the reward holds in this process."""
        if "subject" in vars(self):
            self.subject.close()

    def require(self, level: Level) -> None:
        """Skips the test unless what it takes for granted holds."""
        checks: Mapping[Level, tuple[Callable[[], bool], str]] = {
            "built": (self._is_built, "test_reward_is_found_and_built"),
            "complete": (lambda: not self.incomplete(), "test_examples_are_complete"),
            "sound": (lambda: not self.faults, "the tests of what calls return"),
            "repeatable": (lambda: not self.unequal, "test_equal_calls_score_the_same"),
        }
        for name, (holds, test) in checks.items():
            if not holds():
                pytest.skip(f"cannot be judged: see {test}")
            if name == level:
                return

    def _is_built(self) -> bool:
        try:
            return bool(self.subject)
        except GrpoError:
            return False


def same(a: Outcome, b: Outcome) -> bool:
    """True if two outcomes have the same status and, but for rounding, the same value."""
    if a.value is None or b.value is None:
        return a.status == b.status and a.value is b.value
    return a.status == b.status and math.isclose(a.value, b.value, rel_tol=0, abs_tol=_TOLERANCE)


def differences(
    usual: Sequence[Scored], others: Sequence[Outcome], told: str, otherwise: str
) -> list[str]:
    """Where outcomes differ; the last two arguments say how they came about."""
    return [
        f"{s.example.name}: {said(s.outcome)} {told}, {said(other)} {otherwise}"
        for s, other in zip(usual, others, strict=True)
        if not same(s.outcome, other)
    ]


def said(outcome: Outcome) -> str:
    """An outcome in a few words."""
    if outcome.status == "scored":
        return f"{outcome.value:g}"
    return f"{outcome.status} ({outcome.reason})" if outcome.reason else outcome.status


def report(problems: Sequence[str], advice: str) -> None:
    """Fails the test if there are problems; shows ten of them and what to do."""
    if not problems:
        return
    shown = [f"  - {p}" for p in problems[:10]]
    if len(problems) > 10:
        shown.append(f"  … and {len(problems) - 10} more")
    fail("\n".join([advice, *shown]))


def fail(text: str) -> NoReturn:
    """Fails the test without a traceback, which would only show this kit."""
    pytest.fail(text, pytrace=False)
