"""What one value may cost: steps are counted, not seconds, so that the score is always the same.

A schema that refers to itself in several branches asks the same of the same place again and again,
and twice as often with each level. So a place of the value is judged once by each place of the
schema, and all that is left is bounded by a number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from grpo_reward_schema.patterns import LimitHit

# A second or so: a step takes about a microsecond.
MAX_STEPS = 1_000_000
# For a fault, which is put into words.
STEPS_OF_FAULT = 4


class Work:
    """The steps that are left for one value, and what is known about its parts.

    Args:
        is_static: True if what a schema says about a part does not depend on how it was reached.
    """

    def __init__(self, is_static: bool) -> None:
        self.is_static = is_static
        self._left = MAX_STEPS
        self._known: dict[tuple[Any, int, int], tuple[Any, Any, Any]] = {}

    def spend(self, steps: int) -> None:
        """Takes steps away.

        Raises:
            LimitHit: None are left.
        """
        self._left -= steps
        if self._left < 0:
            raise LimitHit(f"the value takes over {MAX_STEPS:,} steps against this schema")

    def known(self, what: Any, schema: Any, value: Any = None) -> Any:
        """What was kept of a schema and a value, None if nothing was."""
        found = self._known.get((what, id(schema), id(value)))
        return None if found is None else found[0]

    def keep(self, what: Any, result: Any, schema: Any, value: Any = None) -> None:
        """Keeps a result for `known`, with its objects, so that their ids stay theirs."""
        self._known[what, id(schema), id(value)] = (result, schema, value)


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def bounded(is_static: bool) -> Iterator[Work]:
    """A block in which all that is asked of one value counts as one work."""
    token = _current.set(work := Work(is_static))
    try:
        yield work
    finally:
        _current.reset(token)


def current() -> Work | None:
    """The work of the block that this is called in, None outside."""
    return _current.get()


def spend(steps: int) -> None:
    """Takes steps away from the work of this block, if there is one.

    Raises:
        LimitHit: None are left.
    """
    if (work := _current.get()) is not None:
        work.spend(steps)


def once(make: Callable[[Any], Any], part: Any) -> Any:
    """What is made of a part of the schema, made once in a block."""
    work = _current.get()
    if work is None:
        return make(part)
    if (made := work.known(make, part)) is None:
        work.keep(make, made := make(part), part)
    return made
