"""Every exception that grpo-core raises on purpose.

    GrpoError
    ├── ConfigError            one or more problems in a config, a call or an option
    ├── UnknownRewardError     a name that no installed plugin, module or file answers to
    ├── PluginError            a plugin is broken, incompatible, ambiguous or blocked
    ├── RewardError            a reward broke its contract while it ran
    ├── DataError              a data file or a row cannot be used
    ├── RunDirError            a run directory exists already or cannot be written
    ├── RankError              another process of a training ended, hangs or failed
    └── MissingExtraError      an optional dependency is not installed

Texts have four parts: where, what was expected, what came, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class GrpoError(Exception):
    """Base of all errors that grpo-core raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a config or a call.

    Attributes:
        where: Dotted path of the setting, such as `rewards.correct.options.strip`.
        message: What was expected, what came and what to do.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class ConfigError(GrpoError, ValueError):
    """One or more problems in a config; all that were found are reported together."""

    def __init__(self, problems: Sequence[Problem] | str, source: str = "") -> None:
        """Keep the problems and make one text of them.

        Args:
            problems: The problems in the order found, or the text of a single one.
            source: What was read, for the heading (a file name, "CompositeReward", ...).
        """
        if isinstance(problems, str):
            problems = [Problem("", problems)]
        self.problems = tuple(problems)
        self.source = source
        super().__init__(self._text())

    def _text(self) -> str:
        n = len(self.problems)
        if n == 1 and not self.source:
            return str(self.problems[0])
        heading = f"{n} problem{'s' if n != 1 else ''}" + (
            f" in {self.source}" if self.source else ""
        )
        return "\n".join([heading + ":", *(f"  - {p}" for p in self.problems)])

    def __reduce__(self) -> tuple[type[ConfigError], tuple[tuple[Problem, ...], str]]:
        return type(self), (self.problems, self.source)


class UnknownRewardError(GrpoError, LookupError):
    """No reward answers to the name."""

    def __str__(self) -> str:
        # LookupError's own text would be fine; KeyError-like quoting must not creep in.
        return str(self.args[0]) if self.args else ""


class PluginError(GrpoError):
    """A plugin cannot be used; the text names its distribution and the reason."""


class RewardError(GrpoError):
    """A reward broke its contract while it ran; the text names it, its distribution and the row."""


class DataError(GrpoError, ValueError):
    """A data file or a row cannot be used; the text names the file and the line or row."""


class RunDirError(GrpoError):
    """A run directory exists already or cannot be written."""


class RankError(GrpoError):
    """Another process of a training on several ended, hangs or failed; the text names its rank."""


class MissingExtraError(GrpoError, ImportError):
    """An optional dependency is not installed; the text holds the pip command."""

    def __init__(self, what: str, extra: str) -> None:
        """Name what needs the extra and how to install it.

        Args:
            what: The command or name that needs it, such as "grpo train".
            extra: Name of the extra of grpo-core.
        """
        self.what, self.extra = what, extra
        super().__init__(
            f"{what} needs the extra {extra!r}, which is not installed. "
            f'Install it with: pip install "grpo-core[{extra}]"'
        )

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.what, self.extra)


def near(name: str, names: Iterable[str], n: int = 3) -> str:
    """Returns a hint such as " Did you mean 'weight'?", or "" when nothing is close."""
    close = difflib.get_close_matches(name, list(names), n=n, cutoff=0.6)
    if not close:
        return ""
    return " Did you mean " + " or ".join(repr(c) for c in close) + "?"


def counted(n: int, what: str) -> str:
    """Returns the number with its word, such as "1 row" or "2 rows"."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def listed(names: Iterable[str], limit: int = 20) -> str:
    """Returns the names sorted and joined by commas, cut after `limit`; "none" when empty."""
    ordered = sorted(names)
    text = ", ".join(ordered[:limit])
    if len(ordered) > limit:
        text += f", … ({len(ordered) - limit} more)"
    return text or "none"
