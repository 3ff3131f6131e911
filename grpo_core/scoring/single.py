"""`load_reward`: one reward outside training, with the same checks and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog, Resolved
from grpo_core.completion import Completion
from grpo_core.errors import ConfigError, Problem, RewardError, listed, near
from grpo_core.inputs import plan_inputs
from grpo_core.outcome import Outcome
from grpo_core.reader import parse_reward
from grpo_core.reward import RewardInfo
from grpo_core.scoring.abandoned import stop_if_calls_hang
from grpo_core.scoring.engine import Task, run_tasks
from grpo_core.scoring.given import GivenInputs
from grpo_core.scoring.groups import groups_of
from grpo_core.scoring.make import make_tagged
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.runner import Batch
from grpo_core.scoring.settings import policy_of_function
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.scoring.told import told
from grpo_core.scoring.trl_style import TrlFunction, is_async
from grpo_core.sections import RewardSection
from grpo_core.signature import Parameter

# What decides how a reward is run; the keys of a config's [rewards.<name>].
SETTINGS = (
    "isolation",
    "timeout_s",
    "on_timeout",
    "on_error",
    "retries",
    "concurrency",
    "rate",
    "cache",
)


class SingleReward:
    """One reward, ready to be called on texts, chats or `Completion` objects.

    Attributes:
        name: Full name.
        resolved: What the name led to.
    """

    def __init__(self, resolved: Resolved, section: RewardSection, catalog: Catalog) -> None:
        """Builds the reward.

        Args:
            resolved: What the name led to.
            section: Its options and settings.
            catalog: Where it was found.

        Raises:
            ConfigError: An option or setting is wrong, or an untagged function was given options.
        """
        self.resolved = resolved
        self.name = resolved.name
        info = resolved.info
        self._runner: TaggedReward | TrlFunction
        self._given: GivenInputs | None = None
        if info is None:
            if section.options:
                text = f"{self.name!r} is an untagged function and takes no options"
                raise _refused(self.name, [Problem("options", text)])
            policy, problems = policy_of_function(
                section, is_async=is_async(resolved.target), where=""
            )
            self._runner = TrlFunction(resolved.target, resolved.name, policy)
        else:
            plan, _ = plan_inputs(info, {})
            made, problems = make_tagged(
                resolved, section, plan, catalog, name=resolved.name, where=""
            )
            if made is not None:
                self._runner = made
                self._given = GivenInputs(info, plan)
        if problems:
            raise _refused(self.name, problems)

    def __call__(self, completion: object, **inputs: Any) -> Outcome:
        """Scores one completion.

        Args:
            completion: A text, a list of messages, or a `Completion`.
            **inputs: The reward's inputs, by name; `prompt` may be given too.

        Raises:
            ConfigError: An input is missing, unknown or of another type than declared.
        """
        return self._scored([completion], {name: [value] for name, value in inputs.items()}, None)[
            0
        ]

    def batch(
        self,
        completions: Sequence[object],
        /,
        *,
        group_size: int | None = None,
        **inputs: Sequence[Any],
    ) -> list[Outcome]:
        """Scores several completions, at once where the reward's isolation allows it.

        Args:
            completions: B texts, lists of messages, or `Completion` objects.
            group_size: For a reward of group scope: completions per prompt (G), neighbours.
                Default: groups as the completions' `group` says, else all are one group.
            **inputs: By name, B values each; `prompt` may be given too.

        Returns:
            B outcomes, in order.

        Raises:
            ConfigError: An input is missing, unknown, not B long or of another type than declared;
                or groups are not whole.
            RewardError: A cell failed, and `on_error` is "raise"; or three late calls of it still
                run in threads.
        """
        return self._scored(completions, inputs, group_size)

    def _scored(
        self,
        completions: Sequence[object],
        inputs: Mapping[str, Sequence[Any]],
        group_size: int | None,
    ) -> list[Outcome]:
        if isinstance(completions, str | bytes | Mapping):
            raise ConfigError(
                f"batch of {self.name!r}: expected a list of completions, got "
                f"{type(completions).__name__}; for a single one call the reward itself"
            )
        completions = list(completions)
        problems = [
            Problem(
                name,
                f"expected a list of {len(completions)} values, one for each completion, got "
                f"{type(values).__name__} {values!r}",
            )
            for name, values in inputs.items()
            if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__iter__")
        ]
        columns = {n: list(v) for n, v in inputs.items() if n not in {p.where for p in problems}}
        known = set(inputs).union(*(c.columns for c in completions if isinstance(c, Completion)))
        problems += [
            Problem(
                name, f"expected {len(completions)} values, one for each completion, got {len(v)}"
            )
            for name, v in columns.items()
            if len(v) != len(completions)
        ]
        if isinstance(self._runner, TrlFunction):
            problems += self._runner.problems(known, self.name)
        elif self.resolved.info is not None:
            problems += input_problems(self.resolved.info, self.name, inputs, known)
        if problems:
            raise ConfigError(problems, f"the call of {self.name!r}")
        made = [
            _made(completion, {name: values[i] for name, values in columns.items()})
            for i, completion in enumerate(completions)
        ]
        if self._given is not None and (wrong := self._given.problems(made)):
            raise ConfigError(wrong, f"the call of {self.name!r}")
        stop_if_calls_hang([self._runner.owner])
        groups = groups_of(made, group_size) or (range(len(made)),)
        column = run_tasks({self.name: Task(self._runner)}, Batch(made, groups))[self.name]
        failed = [i for i, o in enumerate(column.outcomes) if o.status == "failed"]
        if failed and self._runner.policy.on_error == "raise":
            raise RewardError(told(repr(self.name), column.outcomes, failed))
        return column.outcomes

    @property
    def policy(self) -> Policy:
        """How it is run."""
        return self._runner.policy

    def close(self) -> None:
        """Ends what the reward holds in this process; the next call opens it again."""
        if isinstance(self._runner, TaggedReward):
            self._runner.callee.close()


def _refused(name: str, problems: Sequence[Problem]) -> ConfigError:
    """The error of a call of `load_reward`; the settings are its arguments, in no section."""
    plain = [Problem(p.where.removeprefix("."), p.message) for p in problems]
    return ConfigError(plain, f"the call of load_reward for {name!r}")


def input_problems(
    info: RewardInfo, name: str, given: Collection[str], known: Collection[str]
) -> list[Problem]:
    """Inputs that a reward does not have or that are missing.

    Args:
        info: The reward's declaration.
        name: Its full name.
        given: Names of the inputs that the caller gave; "prompt" may be among them.
        known: Names of all that is there, with what the completions bring.
    """
    declared = [p.name for p in info.inputs]
    return [
        Problem(i, f"{name!r} has no such input.{near(i, declared)} Inputs are {listed(declared)}.")
        for i in given
        if i not in declared and i != "prompt"
    ] + [
        Problem(p.name, f"{name!r} needs this input{_kind(p)}; it is missing")
        for p in info.inputs
        if p.required and p.name not in known
    ]


def _made(completion: object, row: Mapping[str, Any]) -> Completion:
    if not isinstance(completion, Completion):
        return Completion.from_data(completion, row.get("prompt", ""), columns=row)
    if "prompt" in row:
        asked = Completion.from_data("", row["prompt"])
        completion = replace(completion, prompt=asked.prompt, prompt_messages=asked.prompt_messages)
    return completion.with_columns({**completion.columns, **row})


def load_reward(
    use: str | Callable[..., Any],
    *,
    options: Mapping[str, Any] | None = None,
    catalog: Catalog | None = None,
    folder: Path | None = None,
    **settings: Any,
) -> SingleReward:
    """Returns one reward, ready to be called outside training.

    Args:
        use: Full or bare name of an installed reward, `package.module:attr`, `file.py:attr`, or a
            function.
        options: The reward's own options.
        catalog: The installed plugins; default: as the environment says.
        folder: What a relative `file.py:attr` is relative to; default: the working directory.
        **settings: How it is run, as in a config's `[rewards.<name>]`: isolation, timeout_s,
            on_timeout, on_error, retries, concurrency, rate, cache.

    Raises:
        UnknownRewardError: Nothing answers to the name.
        PluginError: Its plugin cannot be used.
        ConfigError: An option or setting is wrong.
    """
    if unknown := [k for k in settings if k not in SETTINGS]:
        name = unknown[0]
        hint = near(name, SETTINGS) or (
            f" The reward's own options go into options={{{name!r}: {settings[name]!r}}}."
        )
        raise TypeError(f"load_reward got an unexpected argument {name!r}.{hint}")
    if options is not None and not isinstance(options, Mapping):
        text = f"expected a dict by name, got {options!r}"
        raise ConfigError([Problem("options", text)], "the call of load_reward")
    catalog = Catalog() if catalog is None else catalog
    resolved = catalog.resolve(use, folder=folder, bare=True)
    problems: list[Problem] = []
    section = parse_reward({"use": use, "options": options or {}, **settings}, "", problems)
    if section is None or problems:
        raise _refused(resolved.name, problems)
    return SingleReward(resolved, section, catalog)


def _kind(parameter: Parameter) -> str:
    """The type of an input, in brackets, if it says anything."""
    return "" if parameter.annotation in (Any, object) else f" ({parameter.type_name})"
