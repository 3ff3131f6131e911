"""The graph of a run's rewards: which reads which, in what order, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grpo_core.errors import Problem, listed, near
from grpo_core.sections import RewardSection

Ranges = Mapping[str, tuple[float, float]]


def inputs_from(section: RewardSection) -> tuple[str, ...]:
    """Instance names of the rewards whose values are inputs of this one."""
    sources = [s for s in section.inputs.values() if isinstance(s, Mapping)]
    return tuple(str(s["reward"]) for s in sources if set(s) == {"reward"})


def graph_problems(
    sections: Mapping[str, RewardSection], ranges: Ranges
) -> tuple[list[Problem], list[Problem]]:
    """What is wrong with how the rewards depend on each other, and what may not be meant.

    Args:
        sections: The rewards by instance name.
        ranges: Lowest and highest value of each reward whose range is known.
    """
    problems = []
    warnings = []
    for name, section in sections.items():
        where = f"rewards.{name}"
        for other, threshold in section.requires.items():
            at = f"{where}.requires.{other}"
            if other not in sections:
                text = (
                    f"there is no reward {other!r}.{near(other, sections)} Rewards are "
                    f"{listed(sections)}"
                )
                problems.append(Problem(at, text))
            elif other in ranges:
                low, high = ranges[other]
                if threshold > high:
                    text = (
                        f"expected at most {high:g}, the highest value of {other!r}, got "
                        f"{threshold:g}; the gate would never open"
                    )
                    problems.append(Problem(at, text))
                elif threshold <= low:
                    text = f"{threshold:g} is the lowest value of {other!r}: always open"
                    warnings.append(Problem(at, text))
        for other in {*inputs_from(section), *section.requires} & sections.keys():
            lacking = [m for m in section.modes if m not in sections[other].modes]
            if lacking:
                text = (
                    f"{name!r} runs in {' and '.join(lacking)} and reads {other!r}, which does "
                    f"not; give {other!r} the modes {list(section.modes)}"
                )
                problems.append(Problem(where, text))
    if path := cycle(sections):
        text = (
            f"{' -> '.join(path)}: each reads the next, so none can be evaluated first; take one "
            f"of these inputs or gates out"
        )
        problems.append(Problem(f"rewards.{path[0]}", text))
    return problems, warnings


def cycle(sections: Mapping[str, RewardSection]) -> list[str]:
    """A circle of rewards that read each other, first and last the same; [] if there is none."""
    reads = {
        # An input that is the reward itself is refused where it is bound.
        name: [o for o in (*(r for r in inputs_from(s) if r != name), *s.requires) if o in sections]
        for name, s in sections.items()
    }
    done: set[str] = set()

    def visit(name: str, path: Sequence[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in reads[name]:
            if found := visit(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in reads:
        if found := visit(name, []):
            return found
    return []
