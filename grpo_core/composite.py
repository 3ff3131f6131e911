"""`CompositeReward`: several rewards by name, scored together into a `ScoreTable` and totals."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grpo_core.catalog import Catalog, Resolved
from grpo_core.completion import Completion
from grpo_core.config import check_reward, weight_problems
from grpo_core.errors import ConfigError, Problem
from grpo_core.inputs import plan_inputs
from grpo_core.outcome import Outcome
from grpo_core.reader import parse_reward
from grpo_core.scoring.inline import SampleReward
from grpo_core.scoring.trl_style import TrlBatch, TrlFunction
from grpo_core.sections import RewardSection, RunConfig
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate, effective_values, weighted_total

logger = logging.getLogger("grpo_core")

# Labels of the plugins that were warned of; each once a process.
_warned: set[str] = set()


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
    runner: SampleReward | TrlFunction
    input_files: Mapping[str, str]

    @property
    def label(self) -> str:
        """Name and origin, as errors give them."""
        return f"{self.name!r} ({self.resolved.origin})"


class CompositeReward:
    """Rewards by instance name, with weights.

    Attributes:
        entries: The rewards, in order; K of them.
        names: Their instance names.
        weights: Their weights, shape (K,).
    """

    def __init__(
        self,
        rewards: Mapping[str, str | Callable[..., Any] | Mapping[str, Any] | RewardSection],
        *,
        catalog: Catalog | None = None,
        columns: Collection[str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Finds and builds the rewards.

        Args:
            rewards: By instance name: a full name, a function, or a table with the keys of a
                config's `[rewards.<name>]`, where `use` may be a function too.
            catalog: The installed plugins; default: as the environment says.
            columns: Columns of the data, to check the inputs against, or None.
            folder: What relative paths are relative to; default: the working directory.

        Raises:
            ConfigError: A name leads nowhere, an option or input is wrong, a weight is not
                finite, …; all problems at once.
        """
        problems: list[Problem] = []
        sections = _sections(rewards, problems)
        catalog = Catalog() if catalog is None else catalog
        entries = []
        for name, section in sections.items():
            checked = check_reward(
                section,
                catalog,
                where=f"rewards.{name}",
                name=name,
                columns=columns,
                folder=folder,
            )
            problems += checked.problems
            if checked.resolved is not None and checked.runner is not None:
                entries.append(
                    Entry(name, section, checked.resolved, checked.runner, checked.input_files)
                )
        if sections and len(sections) == len(rewards):  # else a weight is not known
            problems += weight_problems(sections)
        if problems:
            raise ConfigError(problems, "the rewards")
        self._folder = folder
        self.entries = tuple(entries)
        self.names = tuple(e.name for e in entries)
        self.weights: FloatArray = np.array(
            [e.section.weight_ends[0] for e in entries], dtype=np.float64
        )
        _warn_of_broken(catalog, {e.resolved.distribution for e in entries})
        negative = [e.name for e in entries if min(e.section.weight_ends) < 0]
        if negative:
            warnings.warn(
                f"negative weights turn rewards into penalties: {', '.join(negative)}",
                stacklevel=2,
            )

    @classmethod
    def from_config(
        cls,
        config: RunConfig,
        catalog: Catalog | None = None,
        columns: Collection[str] | None = None,
    ) -> CompositeReward:
        """Builds the rewards of a config.

        Args:
            config: The config.
            catalog: The installed plugins; default: as the environment says.
            columns: Columns of the data, to check the inputs against, or None.
        """
        return cls(config.rewards, catalog=catalog, columns=columns, folder=config.folder)

    def check_columns(self, columns: Collection[str]) -> list[Problem]:
        """What keeps the rewards from being called on data with these columns."""
        problems: list[Problem] = []
        for entry in self.entries:
            where = f"rewards.{entry.name}"
            if isinstance(entry.runner, TrlFunction):
                problems += entry.runner.problems(columns, where)
            elif entry.resolved.info is not None:
                problems += plan_inputs(
                    entry.resolved.info,
                    entry.section.inputs,
                    columns=columns,
                    folder=self._folder,
                    where=f"{where}.inputs",
                )[1]
        return problems

    def score(self, completions: Sequence[Completion], batch: TrlBatch | None = None) -> ScoreTable:
        """Scores completions with every reward.

        Args:
            completions: B completions whose `columns` hold the rows of the data set.
            batch: The same batch as TRL has it, for untagged functions; default: rebuilt.

        Returns:
            B x K values, outcomes and times. Nothing is raised for a reward that breaks its
            contract: its cells are "failed" and `faults()` names them.
        """
        outcomes: list[list[Outcome]] = []
        seconds: list[list[float]] = []
        for entry in self.entries:
            if isinstance(entry.runner, TrlFunction):
                if batch is None:
                    batch = TrlBatch.from_completions(completions)
                column, times = entry.runner.score(batch)
            else:
                column, times = entry.runner.score(completions)
            outcomes.append(column)
            seconds.append(times)
        return ScoreTable.from_columns(self.names, outcomes, seconds, len(completions))

    def effective(
        self, table: ScoreTable, group_size: int, aggregate: Aggregate = "sum_then_normalize"
    ) -> FloatArray:
        """Values with missing cells dealt with, as they are handed to the trainer.

        Args:
            table: Scores of B completions, the completions of a prompt next to each other.
            group_size: Completions per prompt (G); divides B.
            aggregate: How the trainer combines rewards.

        Returns:
            Shape (B, K); NaN where a cell stays missing.
        """
        return effective_values(
            table.values,
            self.weights,
            [e.section.missing for e in self.entries],
            group_size,
            aggregate,
        )

    def totals(
        self, table: ScoreTable, group_size: int, aggregate: Aggregate = "sum_then_normalize"
    ) -> FloatArray:
        """Weighted sum per completion, shape (B,); NaN where nothing was scored."""
        return weighted_total(self.effective(table, group_size, aggregate), self.weights)

    def describe(self) -> dict[str, Any]:
        """What the manifest keeps of each reward, by instance name."""
        return {
            e.name: {
                "use": e.resolved.name,
                "distribution": e.resolved.distribution or None,
                "version": e.resolved.version or None,
                "origin": e.resolved.origin,
                "source_sha256": e.resolved.source_hash,
                "weight": e.section.weight,
                "missing": e.section.missing,
                "inputs": e.section.inputs,
                "input_files": dict(e.input_files),
                "options": e.section.options,
            }
            for e in self.entries
        }


def _warn_of_broken(catalog: Catalog, used: Collection[str]) -> None:
    """Says once which installed plugins cannot be used, though no reward here needs them."""
    for plugin in catalog.broken():
        if plugin.distribution not in used and plugin.label not in _warned:
            _warned.add(plugin.label)
            logger.warning(
                "plugin %s is %s and not used: %s", plugin.label, plugin.state, plugin.reason
            )


def _sections(rewards: Mapping[str, Any], problems: list[Problem]) -> dict[str, RewardSection]:
    if not isinstance(rewards, Mapping) or not rewards:
        problems.append(
            Problem("rewards", f"expected a dict of at least one reward by name, got {rewards!r}")
        )
        return {}
    sections = {}
    for name, given in rewards.items():
        where = f"rewards.{name}"
        if not isinstance(name, str) or not name.strip():
            problems.append(Problem("rewards", f"a reward's name must be a text, got {name!r}"))
        elif isinstance(given, RewardSection):
            sections[name] = given
        elif isinstance(given, Mapping):
            section = parse_reward(given, where, problems)
            if section is not None:
                sections[name] = section
        else:
            sections[name] = RewardSection(use=given)
    return sections
