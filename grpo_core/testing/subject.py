"""`Subject`: the reward that a contract is about, and the ways its tests call it."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.completion import Completion
from grpo_core.errors import ConfigError, Problem, UnknownRewardError
from grpo_core.inputs import plan_inputs
from grpo_core.options import Built, build
from grpo_core.outcome import Outcome
from grpo_core.reader import parse_reward
from grpo_core.reward import Isolation
from grpo_core.scoring.engine import Task, run_tasks
from grpo_core.scoring.make import make_tagged
from grpo_core.scoring.policy import TIMEOUT_S
from grpo_core.scoring.recipe import importable
from grpo_core.scoring.runner import Batch
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.testing.watch import Watched, spied


class Subject:
    """A reward, built with its options."""

    def __init__(self, reward: str | Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Finds and builds it.

        Args:
            reward: Its name, or the function or class.
            options: Its options.

        Raises:
            GrpoError: It cannot be found, is not tagged, or cannot be built.
        """
        self._use, self.options = reward, options
        self._catalog = Catalog()
        self.resolved = self._catalog.resolve(reward)
        if self.resolved.info is None:
            raise UnknownRewardError(
                f"{self.resolved.name!r} is not tagged; a contract is for rewards: put @reward "
                f"above it"
            )
        self.info = self.resolved.info
        self.built: Built = build(self.info, options)
        self.importable = importable(self.resolved, reward, None)
        self._runners: dict[Isolation | None, TaggedReward] = {}

    def runner(self, isolation: Isolation | None) -> TaggedReward:
        """The reward, ready to be called; an async one runs on its loop in any case.

        Raises:
            ConfigError: It cannot be run in this way; the text says why.
        """
        if isolation not in self._runners:
            self._runners[isolation] = self._make(isolation)
        return self._runners[isolation]

    def _make(self, isolation: Isolation | None) -> TaggedReward:
        problems: list[Problem] = []
        raw = {"use": self._use, "options": self.options, "isolation": isolation, "cache": False}
        section = parse_reward(raw, "", problems)
        plan, _ = plan_inputs(self.info, {})
        made = None
        if section is not None and not problems:
            made, problems = make_tagged(
                self.resolved, section, plan, self._catalog, name=self.resolved.name, where=""
            )
        if made is None or problems:
            raise ConfigError(problems)
        return made

    @property
    def near(self) -> Isolation | None:
        """Runs calls in this process; one after the other, unless they wait for a service."""
        if self.info.is_async:
            return None
        return "thread" if self.info.isolation == "thread" else "inline"

    @property
    def safe(self) -> Isolation | None:
        """Runs calls where a hang or a crash harms least."""
        if self.info.is_async:
            return None
        return "process" if self.importable else "thread"

    def score(
        self,
        completions: Sequence[Completion],
        isolation: Isolation | None,
        sizes: Sequence[int] = (),
    ) -> list[Outcome]:
        """Scores a batch.

        Args:
            completions: B completions with their inputs as columns.
            isolation: `near`, `safe`, or one of the engine's.
            sizes: Sizes of the groups; default: all are one.
        """
        return self._run(self.runner(isolation), completions, sizes)

    def deadly(self, completions: Sequence[Completion]) -> list[tuple[Completion, str]]:
        """Calls that must not be made in this process, with what they did to a worker.

        A call that ends its process would end pytest; one that hangs may hold up every thread.
        Nothing is known of a reward that no worker can run.
        """
        if self.safe != "process" or not completions:
            return []
        found = _deaths(completions, self.score(completions, "process"))
        if found and self.info.scope != "sample":  # which of the call's it was
            alone = [self.score([c], "process")[0] for c in completions]
            found = _deaths(completions, alone) or found[:1]
        return found

    def _run(
        self,
        runner: TaggedReward,
        completions: Sequence[Completion],
        sizes: Sequence[int] = (),
    ) -> list[Outcome]:
        ends = list(itertools.accumulate(sizes or [len(completions)]))
        groups = [range(a, b) for a, b in itertools.pairwise([0, *ends])]
        columns = run_tasks({"reward": Task(runner)}, Batch(completions, groups))
        return columns["reward"].outcomes

    def watch(self, completions: Sequence[Completion]) -> Watched:
        """Scores a batch with a new instance in this process, and watches each call.

        Returns when a call takes longer than its deadline; nothing can end it then.
        """
        runner = self._make(self.near)
        timeout_s = self.info.timeout_s or TIMEOUT_S
        watched = Watched(timeout_s)
        spy = spied(runner.callee.function, self.info, watched.calls)
        watching = replace(runner, callee=replace(runner.callee, function=spy))

        def run() -> None:
            with contextlib.suppress(KeyboardInterrupt):  # the engine lets it pass; it was noted
                watched.outcomes = self._run(watching, completions)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        n, since = 0, monotonic()
        while thread.is_alive():
            thread.join(max(since + timeout_s - monotonic(), 0.0))
            if len(watched.calls) == n and monotonic() - since >= timeout_s and thread.is_alive():
                return watched
            if len(watched.calls) > n:
                n, since = len(watched.calls), monotonic()
        runner.callee.close()
        return watched

    def close(self) -> None:
        """Ends what the reward holds in this process."""
        for runner in self._runners.values():
            runner.callee.close()
        self._runners.clear()


def _deaths(
    completions: Sequence[Completion], outcomes: Sequence[Outcome]
) -> list[tuple[Completion, str]]:
    return [
        (completion, outcome.reason)
        for completion, outcome in zip(completions, outcomes, strict=True)
        if outcome.fault
        and (outcome.status == "timed_out" or outcome.reason.startswith("its worker "))
    ]
