"""`CompositeReward`: several rewards by name, scored together into a `ScoreTable` and totals."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.combination import Combination, Combined
from grpo_core.completion import Completion
from grpo_core.config import check_reward, penalties, schedule_problems, weight_problems
from grpo_core.entry import Entry
from grpo_core.errors import ConfigError, Problem, RewardError
from grpo_core.graph import graph_problems, inputs_from
from grpo_core.inputs import plan_inputs
from grpo_core.outcome import Outcome
from grpo_core.reader import parse_reward
from grpo_core.schedules import weights_at
from grpo_core.scoring.abandoned import MAX_ABANDONED, hanging, stop_if_calls_hang
from grpo_core.scoring.cache import OutcomeCache
from grpo_core.scoring.engine import Task, run_tasks
from grpo_core.scoring.groups import groups_of
from grpo_core.scoring.pool import MEMORY_MB, Pool
from grpo_core.scoring.runner import Batch, Column, GivenUp, Runner
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.scoring.told import told
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.scoring.trl_style import TrlFunction
from grpo_core.sections import Mode, RewardSection, RunConfig, ScoringSection
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate

logger = logging.getLogger("grpo_core")

# Labels of the plugins that were warned of; each once a process.
_warned: set[str] = set()

_LIMITS = ScoringSection()

_FILE_CACHE_BYTES = 8 * 2**20

# How the warning of negative weights begins; commands tell of them in their own way.
PENALTIES = "negative weights turn rewards into penalties"

_HERE = str(Path(__file__).parent)

_OTHER_MODE = "does not run in this mode"


class CompositeReward:
    """Rewards by instance name, with weights.

    Attributes:
        entries: The rewards, in order; K of them.
        names: Their instance names.
        counted: Indices of the rewards that are no shadows; N of them, the columns of the total.
        schedules: Their weights, a number or a schedule each.
        weights: Their weights as numbers, shape (N,); of a schedule its end.
        gates: By reward, what other rewards have to give before it counts, or None.
    """

    def __init__(
        self,
        rewards: Mapping[str, str | Callable[..., Any] | Mapping[str, Any] | RewardSection],
        *,
        catalog: Catalog | None = None,
        columns: Collection[str] | None = None,
        folder: Path | None = None,
        max_failed: float = _LIMITS.max_failed,
        batch_timeout_s: float = _LIMITS.batch_timeout_s,
        workers: int | None = None,
        memory_mb: int | None = None,
        for_training: bool = True,
    ) -> None:
        """Finds and builds the rewards.

        Args:
            rewards: By instance name: a full name, a function, or a table with the keys of a
                config's `[rewards.<name>]`, where `use` may be a function too.
            catalog: The installed plugins; default: as the environment says.
            columns: Columns of the data, to check the inputs against, or None.
            folder: What relative paths are relative to; default: the working directory.
            max_failed: Share of a batch that a reward may fail on before a training stops, from
                0 to 1.
            batch_timeout_s: Seconds that a batch may take.
            workers: Worker processes at most; default: as many as this process may use CPUs,
                shared with all rewards of the process.
            memory_mb: Memory that each may take, in MiB; default: 4096.
            for_training: Refuse rewards that leave nothing to learn from, such as shadows alone;
                False also keeps fewer values, 8 MiB of them.

        Raises:
            ConfigError: A name leads nowhere, an option or input is wrong, a weight is not
                finite, rewards read each other in a circle, …; all problems at once.
        """
        problems: list[Problem] = []
        sections = _sections(rewards, problems)
        catalog = Catalog() if catalog is None else catalog
        problems += _bound_problems(max_failed, batch_timeout_s, workers, memory_mb)
        # The rows of a file do not come again as the completions of a group do.
        self.cache = OutcomeCache() if for_training else OutcomeCache(_FILE_CACHE_BYTES)
        self._pool = None
        if not problems and (workers is not None or memory_mb is not None):
            self._pool = Pool(workers, MEMORY_MB if memory_mb is None else memory_mb)
        entries = []
        for name, section in sections.items():
            checked = check_reward(
                section,
                catalog,
                where=f"rewards.{name}",
                name=name,
                columns=columns,
                folder=folder,
                others=[n for n in sections if n != name],
                cache=self.cache,
                pool=self._pool,
            )
            problems += checked.problems
            if checked.resolved is not None and checked.runner is not None:
                entries.append(
                    Entry(name, section, checked.resolved, checked.runner, checked.input_files)
                )
        problems += graph_problems(sections, {e.name: e.range for e in entries})[0]
        if sections and len(sections) == len(rewards):  # else a weight is not known
            problems += weight_problems(sections, for_training=for_training)
        problems += schedule_problems(sections, None)[0]
        if problems:
            raise ConfigError(problems, "the rewards")
        self._folder = folder
        self.max_failed = max_failed
        self.batch_timeout_s = batch_timeout_s
        self.entries = tuple(entries)
        self.names = tuple(e.name for e in entries)
        self._combination = Combination(self.entries)
        self.counted = self._combination.counted
        self.schedules = self._combination.schedules
        self.weights = self._combination.weights
        self.gates = self._combination.gates
        _warn_of_broken(catalog, {e.resolved.distribution for e in entries})
        if said := penalties(sections):
            names = ", ".join(p.where.split(".", 1)[1].removesuffix(".weight") for p in said)
            warnings.warn(f"{PENALTIES}: {names}", stacklevel=_levels_to_caller())

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
        return cls(
            config.rewards,
            catalog=catalog,
            columns=columns,
            folder=config.folder,
            max_failed=config.scoring.max_failed,
            batch_timeout_s=config.scoring.batch_timeout_s,
            workers=config.scoring.workers,
            memory_mb=config.scoring.memory_mb,
        )

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
                    rewards=[n for n in self.names if n != entry.name],
                )[1]
        return problems

    def score(
        self,
        completions: Sequence[Completion],
        batch: TrlBatch | None = None,
        *,
        group_size: int | None = None,
        mode: Mode | None = None,
        only: Collection[str] | None = None,
    ) -> ScoreTable:
        """Scores completions with every reward.

        Args:
            completions: B completions whose `columns` hold the rows of the data set.
            batch: The same batch as TRL has it, for untagged functions; default: rebuilt.
            group_size: Completions per prompt (G), the completions of a prompt next to each
                other; default: groups as the completions' `group` says, if it says so.
            mode: Leave out the rewards that do not run in this mode; default: all run.
            only: Leave out all other rewards; these read none of those.

        Returns:
            B x K values, outcomes and times. What a reward raises or lets time out becomes the
            outcome of its cells.

        Raises:
            ConfigError: A reward of group scope is there, and no groups are known.
            RewardError: A cell failed of a reward with `on_error = "raise"`, or three late calls
                of a reward that is no shadow still run in threads.
        """
        table = self.measured(completions, batch, group_size=group_size, mode=mode, only=only)
        self.check_errors(table)
        return table

    def measured(
        self,
        completions: Sequence[Completion],
        batch: TrlBatch | None = None,
        *,
        group_size: int | None = None,
        mode: Mode | None = None,
        only: Collection[str] | None = None,
    ) -> ScoreTable:
        """As `score`, without a look at what failed: `check_errors` does that, for a whole batch.

        Raises:
            ConfigError: A reward of group scope is there, and no groups are known.
            RewardError: Three late calls of a reward that is no shadow still run in threads.
        """
        given_up = self._given_up()
        groups = groups_of(completions, group_size)
        tasks = {}
        for entry in self.entries:
            if mode is not None and mode not in entry.section.modes:
                continue
            if only is not None and entry.name not in only:
                continue
            if entry.scope == "group" and groups is None:
                raise ConfigError(
                    f"reward {entry.label} scores whole groups, and no groups are known; pass "
                    f"group_size, or completions whose `group` is set"
                )
            runner: Runner = given_up.get(entry.name, entry.runner)
            tasks[entry.name] = Task(runner, inputs_from(entry.section))
        columns = run_tasks(tasks, Batch(completions, groups, batch), self.batch_timeout_s)
        absent = Column([Outcome(None, "skipped", _OTHER_MODE)] * len(completions), [])
        made = [columns.get(name, absent) for name in self.names]
        return ScoreTable.from_columns(
            self.names,
            [c.outcomes for c in made],
            [c.seconds or [0.0] * len(completions) for c in made],
            len(completions),
            [c.n_cached for c in made],
        )

    def sees_groups(self, mode: Mode) -> bool:
        """Whether a reward that runs in the mode sees which completions are of one prompt."""
        return any(
            isinstance(e.runner, TaggedReward) and e.scope != "sample" and mode in e.section.modes
            for e in self.entries
        )

    def reads(self, argument: str) -> bool:
        """Whether an untagged function takes one of TRL's arguments."""
        runners = [e.runner for e in self.entries if isinstance(e.runner, TrlFunction)]
        return any(r.takes_all or argument in r.wanted for r in runners)

    def ran(self, mode: Mode) -> tuple[int, ...]:
        """Indices of the rewards that run in a mode."""
        return tuple(k for k, e in enumerate(self.entries) if mode in e.section.modes)

    def columns_read(self) -> dict[str, tuple[str, ...]]:
        """Columns of the data that each tagged reward reads, by instance name."""
        return {
            e.name: tuple(c.column for c in e.runner.plan.columns)
            for e in self.entries
            if isinstance(e.runner, TaggedReward)
        }

    def weights_at(self, step: int, total_steps: int | None) -> FloatArray:
        """Weights of the counted rewards in force at a step, shape (N,).

        Args:
            step: The trainer's global step, counted from 0.
            total_steps: Steps of the run; needed by schedules over a share of it.
        """
        return weights_at(self.schedules, step, total_steps)

    def combined(
        self,
        table: ScoreTable,
        group_size: int,
        aggregate: Aggregate = "sum_then_normalize",
        weights: FloatArray | None = None,
        mode: Mode | None = None,
    ) -> Combined:
        """Values after transforms, gates and fill, as they are handed to the trainer.

        Args:
            table: Scores of B completions, the completions of a prompt next to each other.
            group_size: Completions per prompt (G); divides B.
            aggregate: How the trainer combines rewards.
            weights: Weights in force, shape (N,); default: `weights`.
            mode: The mode that was scored in. A reward that does not run in it is neither a zero
                nor a reason to drop a row.
        """
        return self._combination.combined(table, group_size, aggregate, weights, mode)

    def effective(
        self,
        table: ScoreTable,
        group_size: int,
        aggregate: Aggregate = "sum_then_normalize",
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Values as they are handed to the trainer, shape (B, N); NaN where missing.

        Args: as `combined`.
        """
        return self.combined(table, group_size, aggregate, weights).effective

    def totals(
        self,
        table: ScoreTable,
        group_size: int,
        aggregate: Aggregate = "sum_then_normalize",
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Weighted sum per completion, shape (B,); NaN where nothing was scored.

        Args: as `combined`.
        """
        return self.combined(table, group_size, aggregate, weights).totals

    def check_budget(self, table: ScoreTable) -> None:
        """Stops a training in which a reward fails too often.

        Cells count that failed, or that were late and are missing; not those of shadows, nor of
        rewards of weight 0, which are only measured, nor those that other rewards held up.

        Raises:
            RewardError: The share of a reward's cells exceeds `max_failed`; the text names it,
                its distribution and three rows.
        """
        over: list[tuple[bool, str]] = []
        for k, weight in zip(self.counted, self.schedules, strict=True):
            if weight == 0:  # a schedule is not, even where it begins at 0
                continue
            rows = [i for i, o in enumerate(table.outcomes[k]) if _is_failure(o)]
            if rows and len(rows) > self.max_failed * table.n_rows:
                text = told(self.entries[k].label, table.outcomes[k], rows)
                ran = any(table.outcomes[k][i].status == "timed_out" for i in rows)
                over.append((not ran, text))
        if over:
            over.sort(key=itemgetter(0))  # first what took the time
            raise RewardError(
                "\n".join(text for _, text in over)
                + f"\nmore than max_failed = {self.max_failed:g} of a batch"
            )

    def check_errors(self, table: ScoreTable) -> None:
        """Stops where a reward failed that may not.

        Raises:
            RewardError: A cell failed of a reward with `on_error = "raise"` that is no shadow.
        """
        for k, entry in enumerate(self.entries):
            rows = [i for i, o in enumerate(table.outcomes[k]) if o.status == "failed"]
            if rows and entry.runner.policy.on_error == "raise" and not entry.section.shadow:
                raise RewardError(
                    told(entry.label, table.outcomes[k], rows) + '\nits on_error is "raise"'
                )

    def describe(self) -> dict[str, Any]:
        """What the manifest keeps of each reward, by instance name."""
        return {e.name: e.described() for e in self.entries}

    def close(self) -> None:
        """Ends what the rewards of this process hold; the next call opens it again."""
        for entry in self.entries:
            if isinstance(entry.runner, TaggedReward):
                entry.runner.callee.close()
        if self._pool is not None:
            self._pool.close()

    def _given_up(self) -> dict[str, GivenUp]:
        """The shadows that are called no more, since their calls hang: none may stop a run.

        Raises:
            RewardError: Calls of another reward hang.
        """
        stop_if_calls_hang(e.runner.owner for e in self.entries if not e.section.shadow)
        shadows = {e.name: hanging(e.runner.owner) for e in self.entries if e.section.shadow}
        return {
            name: GivenUp(f"{n} of its calls still run and cannot be ended; it is called no more")
            for name, n in shadows.items()
            if n >= MAX_ABANDONED
        }


def _levels_to_caller() -> int:
    """How many frames above who asks the first one is that is not ours, for a warning."""
    levels, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        levels, frame = levels + 1, frame.f_back
    return levels


def _is_failure(outcome: Outcome) -> bool:
    if outcome.status == "timed_out":
        return outcome.value is None and not outcome.held_up
    return outcome.status == "failed"


def _bound_problems(
    max_failed: float, batch_timeout_s: float, workers: int | None, memory_mb: int | None
) -> list[Problem]:
    problems = []
    if not 0 <= max_failed <= 1:
        text = f"expected a share of a batch, from 0 to 1, got {max_failed!r}"
        problems.append(Problem("max_failed", text))
    if not 0 < batch_timeout_s < math.inf:
        text = f"expected seconds above 0, got {batch_timeout_s!r}"
        problems.append(Problem("batch_timeout_s", text))
    for name, value, least in (("workers", workers, 1), ("memory_mb", memory_mb, 64)):
        if value is not None and value < least:
            problems.append(Problem(name, f"expected {least} or more, got {value!r}"))
    return problems


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
