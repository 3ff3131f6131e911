"""`Entry`: one reward of a composite, found and ready to be called."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grpo_core.catalog import Resolved
from grpo_core.reward import Scope
from grpo_core.scoring.checks import UNBOUNDED
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.scoring.trl_style import TrlFunction
from grpo_core.sections import Missing, Mode, RewardSection
from grpo_core.totals import Transform


@dataclass(frozen=True)
class Entry:
    """One reward of a composite.

    Attributes:
        name: Instance name; unique in the composite.
        section: What the config says of it.
        resolved: What its name led to.
        runner: The reward, ready to be called.
        input_files: SHA-256 of each file an input was read from, by path.
    """

    name: str
    section: RewardSection
    resolved: Resolved
    runner: TaggedReward | TrlFunction
    input_files: Mapping[str, str]

    @property
    def label(self) -> str:
        """Name and origin, as errors give them."""
        return f"{self.name!r} ({self.resolved.origin})"

    @property
    def scope(self) -> Scope:
        """What one call sees."""
        return self.runner.callee.scope if isinstance(self.runner, TaggedReward) else "batch"

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value it may return."""
        runner = self.runner
        return (runner.low, runner.high) if isinstance(runner, TaggedReward) else UNBOUNDED

    @property
    def transform(self) -> Transform | None:
        """What is done to its values before anything else."""
        given = self.section.transform
        return None if given is None else Transform(given.clip, given.rescale)

    def missing(self, mode: Mode | None) -> Missing:
        """What a cell without a value counts as; one that does not run in a mode lacks nothing."""
        runs = mode is None or mode in self.section.modes
        return self.section.missing if runs else "neutral"

    def described(self) -> dict[str, Any]:
        """What the manifest keeps of it."""
        section, resolved, policy = self.section, self.resolved, self.runner.policy
        engine = {"use", "options", "inputs", "weight", "missing", *dataclasses.asdict(policy)}
        described = {
            "use": resolved.name,
            "distribution": resolved.distribution or None,
            "version": resolved.version or None,
            "origin": resolved.origin,
            "source_sha256": resolved.source_hash,
            "scope": self.scope,
            **section.model_dump(mode="json", include={"weight", "missing"}),
            **section.model_dump(mode="json", exclude=engine, exclude_defaults=True),
            "policy": dataclasses.asdict(policy),
            "inputs": section.inputs,
            "input_files": dict(self.input_files),
            "options": section.options,
        }
        if isinstance(self.runner, TaggedReward):
            info = getattr(self.runner.callee.function, "info", None)
            if callable(info):
                described["info"] = _said(info)
        return described


def _said(info: Callable[[], Any]) -> Any:
    """What a class says of itself; the run does not depend on it."""
    try:
        return info()
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # the author's code
        return f"info() raised {type(exc).__name__}: {exc}"
