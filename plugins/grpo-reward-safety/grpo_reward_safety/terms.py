"""Finds the terms of a list in a folded text, at a cost that does not grow with the list."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator

from grpo_reward_safety.folding import NO_EDGES

_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_PLAIN = re.compile(rf"(?:(?![{NO_EDGES}])[^\W_])+(?: (?:(?![{NO_EDGES}])[^\W_])+)*")
_NO_EDGE = re.compile(f"[{NO_EDGES}]")
# Letters with something between each two of them: f r o b, f.r.o.b, f-r-o-b.
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W_][ .,*_·•|/-]{1,3}){2,}[^\W_](?![^\W_])")
# What each of these holds, and few other texts; it begins with a set, so it is found fast.
_TWO_LETTERS = re.compile(r"[ .,*_·•|/-][^\W_][ .,*_·•|/-]{1,3}[^\W_](?![^\W_])")
# A shorter term stands in any list of single letters.
_SPELLED_CHARS = 3


class Terms:
    """A list of folded terms, keyed by how they begin.

    A term of words is looked up where a word of the text begins one; others (with signs in them,
    or of a script without blanks) where their first character stands. From there on only the
    lengths that terms with this beginning have are tried.

    Args:
        terms: Folded and collapsed, none of them empty.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self.all = frozenset(terms)
        by_word, by_char, by_spelling = _Lengths(), _Lengths(), _Lengths()
        for term in self.all:
            if not _PLAIN.fullmatch(term):
                by_char.add(term[0], term)
                continue
            by_word.add(term.partition(" ")[0], term)
            if " " not in term and len(term) >= _SPELLED_CHARS:
                by_spelling.add(term[:_SPELLED_CHARS], term)
        self._by_word = by_word.sorted()
        self._by_char = by_char.sorted()
        self._by_spelling = by_spelling.sorted()
        firsts = "".join(map(re.escape, self._by_char))
        self._first = re.compile(f"[{firsts}]") if firsts else None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Places of the terms in a folded, collapsed text."""
        words = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
        if not self._by_word.keys().isdisjoint(words):
            for word in _WORD.finditer(text):
                for length in self._by_word.get(word.group(), ()):
                    yield from self._at(text, word.start(), length)
        if self._first:
            for char in self._first.finditer(text):
                for length in self._by_char[char.group()]:
                    yield from self._at(text, char.start(), length)

    def spelled(self, text: str) -> Iterator[tuple[int, int]]:
        """Places of words whose letters stand apart; of three letters only by themselves."""
        for run in _SPELLED.finditer(text) if _TWO_LETTERS.search(text) else ():
            places = [run.start() + m.start() for m in _WORD.finditer(run.group())]
            letters = "".join(map(text.__getitem__, places))
            for i in range(len(letters) - _SPELLED_CHARS + 1):
                for length in self._by_spelling.get(letters[i : i + _SPELLED_CHARS], ()):
                    whole = length == len(letters)
                    if letters[i : i + length] in self.all and (length > _SPELLED_CHARS or whole):
                        yield places[i], places[i + length - 1] + 1

    def _at(self, text: str, start: int, length: int) -> Iterator[tuple[int, int]]:
        end = start + length
        if text[start:end] in self.all and not (_joined(text, start) or _joined(text, end)):
            yield start, end


class _Lengths:
    """The lengths of terms by their beginning."""

    def __init__(self) -> None:
        self._of: dict[str, set[int]] = defaultdict(set)

    def add(self, key: str, term: str) -> None:
        self._of[key].add(len(term))

    def sorted(self) -> dict[str, tuple[int, ...]]:
        """The longest first, so that a phrase is found before its first word."""
        return {key: tuple(sorted(found, reverse=True)) for key, found in self._of.items()}


def _joined(text: str, at: int) -> bool:
    """Whether a word of a script with blanks goes on across a place."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _NO_EDGE.match(before) or _NO_EDGE.match(after):
        return False
    return _in_word(before) and _in_word(after)


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"
