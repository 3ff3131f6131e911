"""How a reward is run: its author suggests, the config decides, `Policy` is the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from grpo_core.errors import Problem
from grpo_core.reward import Isolation, OnError, OnTimeout, RewardInfo
from grpo_core.scoring.checks import UNBOUNDED
from grpo_core.scoring.policy import CONCURRENCY, TIMEOUT_S, Policy
from grpo_core.sections import RewardSection, calls_per_second

# Settings of calls that wait in this process.
_OF_WAITING = ("retries", "concurrency", "rate")
# Settings of calls that have a deadline.
_OF_DEADLINE = ("timeout_s", "on_timeout")


def policy_of(
    info: RewardInfo,
    section: RewardSection,
    *,
    rebuildable: bool,
    low: float,
    high: float,
    where: str,
) -> tuple[Policy, list[Problem]]:
    """Decides how a tagged reward is run.

    Args:
        info: What its author suggests.
        section: What the config says.
        rebuildable: True if a worker process can find and build it by name.
        low: Lowest value it may return under its options.
        high: Highest value.
        where: Path of the section, for the problems.

    Returns:
        The policy and the problems found, all of them. With problems the policy means nothing.
    """
    problems: list[Problem] = []
    isolation = _isolation(info, section, rebuildable, where, problems)
    _refuse_without_use(section, isolation, where, problems)
    if section.concurrency is not None and isolation == "thread" and info.scope == "batch":
        problems.append(_one_call(where))
    timeout_s = section.timeout_s or info.timeout_s or TIMEOUT_S
    # A function that is in a thread only because no worker can build it was not written for several
    # calls at once: it may keep counts or share a client.
    asked_for = info.is_async or "thread" in (section.isolation, info.isolation)
    fell_back = isolation == "thread" and not asked_for
    can_cache = info.deterministic and info.scope == "sample"
    if section.cache and not can_cache:
        problems.append(Problem(f"{where}.cache", _no_cache(info)))
    return Policy(
        isolation=isolation,
        timeout_s=None if isolation == "inline" else timeout_s,
        on_timeout=_late_value(section.on_timeout, info.on_timeout, low, high, where, problems),
        on_error=_failed_value(section.on_error, info.on_error, low, high, where, problems),
        retries=section.retries,
        concurrency=section.concurrency or (1 if fell_back else CONCURRENCY),
        rate=None if section.rate is None else calls_per_second(section.rate),
        cache=can_cache and isolation != "inline" if section.cache is None else section.cache,
    ), problems


def policy_of_function(
    section: RewardSection, *, is_async: bool, where: str
) -> tuple[Policy, list[Problem]]:
    """Decides how an untagged function is run: as TRL does, unless the config says otherwise.

    Args:
        section: What the config says.
        is_async: True if a call must be awaited.
        where: Path of the section, for the problems.

    Returns:
        The policy and the problems found, all of them. With problems the policy means nothing.
    """
    problems: list[Problem] = []
    asked = section.timeout_s is not None or section.rate is not None or section.retries > 0
    isolation = section.isolation or ("thread" if is_async or asked else "inline")
    if isolation == "process":
        problems.append(
            Problem(
                f"{where}.isolation",
                "an untagged function runs in this process, as TRL calls it, got 'process'; put "
                '@reward above it, or set isolation = "thread"',
            )
        )
        isolation = "thread"
    elif isolation == "inline" and is_async:
        problems.append(_of_loop(f"{where}.isolation", isolation))
        isolation = "thread"
    _refuse_without_use(section, isolation, where, problems)
    if section.concurrency is not None and isolation == "thread":
        problems.append(_one_call(where))
    if section.on_timeout == "low":
        problems.append(
            Problem(
                f"{where}.on_timeout",
                "an untagged function has no range and so no low end, got 'low'; give \"missing\" "
                "or a number",
            )
        )
    if section.cache:
        problems.append(
            Problem(
                f"{where}.cache",
                "values of an untagged function are not kept, since they may depend on the whole "
                "batch; put @reward above it, or leave cache out",
            )
        )
    low, high = UNBOUNDED
    return Policy(
        isolation=isolation,
        timeout_s=section.timeout_s,
        on_timeout=_late_value(section.on_timeout, "missing", low, high, where, problems),
        on_error=_failed_value(section.on_error, "missing", low, high, where, problems),
        retries=section.retries,
        rate=None if section.rate is None else calls_per_second(section.rate),
    ), problems


def value_problems(section: RewardSection, *, low: float, high: float, where: str) -> list[Problem]:
    """Finds what of `transform`, `requires` and `otherwise` cannot work with a reward's range.

    Args:
        section: What the config says.
        low: Lowest value the reward may return; that of `UNBOUNDED` for an untagged function.
        high: Highest value.
        where: Path of the section, for the problems.
    """
    problems = []
    bounded = (low, high) != UNBOUNDED
    clip = section.transform.clip if section.transform else None
    if clip is not None and (clip[1] <= low or clip[0] >= high):
        problems.append(
            Problem(
                f"{where}.transform.clip",
                f"[{clip[0]:g}, {clip[1]:g}] leaves one value of the reward's range "
                f"[{low:g}, {high:g}]; clip inside the range",
            )
        )
    if section.transform and section.transform.rescale and not bounded:
        problems.append(
            Problem(
                f"{where}.transform.rescale",
                "an untagged function has no range to rescale; put @reward(range=…) above it",
            )
        )
    if section.requires and section.otherwise is None and not bounded and clip is None:
        problems.append(
            Problem(
                f"{where}.otherwise",
                "is missing: an untagged function has no low end to take while a gate is closed; "
                "set otherwise = 0.0",
            )
        )
    if section.otherwise is not None and not section.requires:
        problems.append(
            Problem(
                f"{where}.otherwise",
                "is the value while a gate is closed, and there is none; set requires, or leave "
                "otherwise out",
            )
        )
    return problems


def _isolation(
    info: RewardInfo,
    section: RewardSection,
    rebuildable: bool,
    where: str,
    problems: list[Problem],
) -> Isolation:
    at = f"{where}.isolation"
    if info.is_async:
        if section.isolation in ("inline", "process"):
            problems.append(_of_loop(at, section.isolation))
        return "thread"
    chosen = section.isolation or info.isolation or ("process" if rebuildable else "thread")
    if chosen == "process" and not rebuildable:
        asks = "" if section.isolation else " (its author asks for a process)"
        problems.append(
            Problem(
                at,
                f"a worker process cannot build {info.name!r}{asks}: {_why_not(info.target)}. Put "
                f"it at the top of a module or file and name it there, such as "
                f'use = "rewards.py:{info.target.__name__}", or set isolation = "thread"',
            )
        )
    return chosen


def _why_not(target: Callable[..., Any]) -> str:
    """Why a function or class cannot be found by name in another process."""
    if target.__name__ == "<lambda>":
        return "it is a lambda"
    if "<locals>" in target.__qualname__:
        return "it is defined inside a function"
    if target.__module__ == "__main__":
        return "it is defined in the script that runs, which no worker runs again"
    return "it was handed over as an object, not by a name that leads to it"


def _of_loop(where: str, given: str) -> Problem:
    return Problem(
        where,
        f"an async reward runs on an event loop of this process, got {given!r}; leave it out, or "
        f"write the reward as a plain def",
    )


def _one_call(where: str) -> Problem:
    return Problem(
        f"{where}.concurrency",
        "there is one call for the whole batch, so none can run beside it; leave it out",
    )


def _refuse_without_use(
    section: RewardSection, isolation: Isolation, where: str, problems: list[Problem]
) -> None:
    """Finds settings that the engine could only ignore."""
    if isolation != "thread":
        problems += [
            Problem(
                f"{where}.{key}",
                f"is for rewards that wait on a service, in threads or async, and this one is "
                f'{isolation}; set isolation = "thread", or leave {key} out',
            )
            for key in _OF_WAITING
            if getattr(section, key) not in (None, 0)  # 0 retries ask for nothing
        ]
    if isolation == "inline":
        problems += [
            Problem(
                f"{where}.{key}",
                f'an inline reward has no deadline; set isolation to "process" or "thread", or '
                f"leave {key} out",
            )
            for key in _OF_DEADLINE
            if getattr(section, key) is not None
        ]


def _no_cache(info: RewardInfo) -> str:
    if info.scope != "sample":
        return (
            f"values of {info.name!r} are not kept, since it sees a whole {info.scope} at once; "
            f"leave it out"
        )
    return (
        f"values of {info.name!r} are not kept, since two calls on the same row may differ; leave "
        f"it out, or declare @reward(deterministic=True)"
    )


def _late_value(
    given: OnTimeout | None,
    suggested: OnTimeout,
    low: float,
    high: float,
    where: str,
    problems: list[Problem],
) -> float | None:
    value = suggested if given is None else given
    if value == "missing":
        return None
    if value == "low":
        return low
    return _in_range("on_timeout", value, given is None, low, high, where, problems)


def _failed_value(
    given: OnError | None,
    suggested: OnError,
    low: float,
    high: float,
    where: str,
    problems: list[Problem],
) -> float | Literal["raise"] | None:
    value = suggested if given is None else given
    if value == "missing":
        return None
    if value == "raise":
        return "raise"
    return _in_range("on_error", value, given is None, low, high, where, problems)


def _in_range(
    key: str,
    value: float,
    suggested: bool,
    low: float,
    high: float,
    where: str,
    problems: list[Problem],
) -> float:
    if not low <= value <= high:
        whose = ", as its author suggests" if suggested else ""
        problems.append(
            Problem(
                f"{where}.{key}",
                f"expected a number in the reward's range [{low:g}, {high:g}], got {value:g}"
                f'{whose}; choose one inside, or "missing"',
            )
        )
    return value
