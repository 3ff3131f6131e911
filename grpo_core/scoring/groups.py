"""The rows of each group: completions of one prompt, which are neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from grpo_core.completion import Completion
from grpo_core.errors import ConfigError


def groups_of(
    completions: Sequence[Completion], group_size: int | None
) -> tuple[range, ...] | None:
    """The rows of each group, or None where no groups are known.

    Raises:
        ConfigError: The size does not divide the completions, or a group lies apart.
    """
    n = len(completions)
    if group_size is not None:
        if group_size < 1 or n % group_size:
            raise ConfigError(
                f"group_size: expected a divisor of the {n} completions, got {group_size!r}; pass "
                f"whole groups of neighbours"
            )
        return tuple(range(i, i + group_size) for i in range(0, n, group_size))
    if any(c.group is None for c in completions):
        return None
    starts = [i for i in range(n) if i == 0 or completions[i].group != completions[i - 1].group]
    if len({completions[i].group for i in starts}) < len(starts):
        raise ConfigError("the completions of a group must be neighbours; sort them by `group`")
    return tuple(range(i, j) for i, j in itertools.pairwise([*starts, n]))
