"""The reward `safety/no_repetition`."""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Literal, get_args

from grpo_core import Completion, Score, reward
from grpo_reward_safety.checks import check_choice, check_number
from grpo_reward_safety.folding import NO_BLANKS
from grpo_reward_safety.scanned import Hit, Part, Scanned

__all__ = ["NoRepetition", "Part", "Unit", "needs"]

Unit = Literal["words", "tokens", "chars"]

# What stands between blanks, or one character of a script that has none.
_WORDS = re.compile(rf"[{NO_BLANKS}]|[^\s{NO_BLANKS}]+")
# A rule of dashes and the like is no loop; 1,000 of them are.
_RULE_SIGNS = frozenset("-=_*.#~+|")
_RULE_CHARS = 1000
# A shorter text does not compress, whatever it says.
_ZLIB_BYTES = 1000


def needs(*, unit: Unit) -> tuple[str, ...]:
    """What must be known of a completion: its token ids, where they are counted."""
    return ("token_ids",) if unit == "tokens" else ()


@reward(range=(0.0, 1.0), isolation="inline", on_error=0.0, needs=needs)
@dataclass(kw_only=True)
class NoRepetition(Scanned):
    """1.0 if the text does not repeat itself, else 0.0.

    It repeats itself if one of these holds:

    - the share of repeated n-grams, 1 - different / all, is above `max_repeat_fraction`. That is
      what open-r1 (on words) and TRL (on tokens) take; a text of fewer than `ngram` units never
      hits. Where a script has no blanks, each character is a word,
    - one character stands `max_char_run` times in a row, 1,000 times for rules such as -----,
    - one line stands `max_same_lines` times in a row,
    - zlib makes less than `min_zlib_ratio` of it, from 1,000 bytes on. That finds loops inside
      of one long word, which n-grams of words do not see.

    Deterministic.

    How a lazy model could cheat: an empty reply repeats nothing; gate it on `safety/answers` or on
    what is right. Random words have no repetition either.

    Args:
        unit: "words", "tokens" of the trainer, or "chars".
        ngram: n, how many units in a row are compared.
        max_repeat_fraction: Which share of repeated n-grams is too much, 0 to 1.
        max_char_run: How often one character may stand in a row, from 10; 0 for any number.
        max_same_lines: How often one line may stand in a row; 0 for any number.
        min_zlib_ratio: Compressed by raw size, below which a text is a loop; 0 for never.
    """

    unit: Unit = "words"
    ngram: int = 3
    max_repeat_fraction: float = 0.3
    max_char_run: int = 100
    max_same_lines: int = 10
    min_zlib_ratio: float = 0.05

    CATEGORIES = ("ngrams", "char_run", "same_lines", "zlib")

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_choice("unit", self.unit, get_args(Unit))
        check_number("ngram", self.ngram, 1, 100)
        check_number("max_repeat_fraction", self.max_repeat_fraction, 0, 1)
        if self.max_char_run:
            check_number("max_char_run", self.max_char_run, 10, 1e9)
        check_number("max_same_lines", self.max_same_lines, 0, 1e9)
        check_number("min_zlib_ratio", self.min_zlib_ratio, 0, 1)
        if self.unit == "tokens" and self.part != "whole":
            raise ValueError(
                f'unit = "tokens" is that of the whole completion, but part is {self.part!r}; '
                f'set unit to "words" or "chars"'
            )

    def hits(self, text: str, completion: Completion) -> Iterable[Hit]:
        """The ways in which the text repeats itself."""
        found = [*self._ngrams(text, completion), *self._char_runs(text), *self._lines(text)]
        ratio = _zlib_ratio(text) if self.min_zlib_ratio else 1.0
        if ratio < self.min_zlib_ratio:
            found.append(Hit("zlib", 0, len(text), f"ratio {ratio:.3f}"))
        return found

    def _ngrams(self, text: str, completion: Completion) -> Iterator[Hit]:
        units: Sequence[Any]
        if self.unit == "tokens":
            units = completion.token_ids or ()
        elif self.unit == "chars":
            units = "".join(text.lower().split())
        else:
            small = text.lower()
            units = small.split() if text.isascii() else _WORDS.findall(small)
        total = len(units) - self.ngram + 1
        if total < 1:
            return
        grams = zip(*(islice(units, i, None) for i in range(self.ngram)), strict=False)
        # Hashes of 64 bits, since 200,000 tuples cost three times as much.
        different = len(set(map(hash, grams)))
        share = 1.0 - different / total
        if share > self.max_repeat_fraction:
            yield Hit("ngrams", 0, len(text), f"{share:.2f} of {total} are repeated")

    def _char_runs(self, text: str) -> Iterator[Hit]:
        if not self.max_char_run:
            return
        # A run is at least two steps long, so one whole step of it begins where we look.
        step = self.max_char_run // 2
        end = 0
        for at in range(0, len(text) - step + 1, step):
            char = text[at]
            if at < end or char.isspace() or text[at : at + step] != char * step:
                continue
            start, end = _run_around(text, at)
            rule = max(self.max_char_run, _RULE_CHARS)
            if end - start >= (rule if char in _RULE_SIGNS else self.max_char_run):
                yield Hit("char_run", start, end)

    def _lines(self, text: str) -> Iterator[Hit]:
        if not self.max_same_lines:
            return
        at = 0
        for line, same in groupby(text.split("\n")):
            n = sum(1 for _ in same)
            end = at + n * (len(line) + 1)
            if n >= self.max_same_lines and line.strip():
                yield Hit("same_lines", at, min(end, len(text)), f"{n} times")
            at = end

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion by whether it repeats itself."""
        return self.scan(completion)


def _run_around(text: str, at: int) -> tuple[int, int]:
    """The run of the character at a place."""
    start, end = at, at
    while start > 0 and text[start - 1] == text[at]:
        start -= 1
    while end < len(text) and text[end] == text[at]:
        end += 1
    return start, end


def _zlib_ratio(text: str) -> float:
    raw = text.encode("utf-8", "surrogatepass")
    return len(zlib.compress(raw, 1)) / len(raw) if len(raw) >= _ZLIB_BYTES else 1.0
