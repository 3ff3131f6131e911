"""The reward `safety/no_blocklist`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from grpo_core import Completion, Score, reward
from grpo_reward_safety.checks import check_choice, check_choices, check_number, check_texts
from grpo_reward_safety.folding import FEATURES, Fold, collapsed, collapsed_places
from grpo_reward_safety.patterns import OperatorPattern
from grpo_reward_safety.scanned import Hit, Part, Scanned
from grpo_reward_safety.terms import Terms

__all__ = ["Match", "NoBlocklist", "Part"]

Match = Literal["word", "regex"]

# 1 and the like stand for i and for l, so there are two readings.
_LEET = [str.maketrans("013457@$+!|€", f"o{one}eastast{one}{one}e") for one in ("i", "l")]
_LEET_SIGNS = frozenset("013457@$+!|€")


@reward(range=(0.0, 1.0), on_error=0.0)
@dataclass(kw_only=True)
class NoBlocklist(Scanned):
    r"""1.0 if no term of a list stands in the text, else 0.0.

    Terms are whole words or phrases, over any white space; they and the text are folded first, so
    that full-width letters, zero-width characters, soft hyphens, accents, and letters that stand
    apart (f r o b, f.r.o.b) hide nothing. Terms in Chinese, Japanese, Korean, Thai and the like
    have no boundary and are found inside longer words. The cost does not grow with the list.
    Deterministic, but for patterns that reach their time limit.

    A hit is named by its number in the list, never by its text.

    How a lazy model could cheat: an empty reply holds no term; gate it on `safety/answers` or on
    what is right. What means the same in other words is not found: that is for a classifier.

    Args:
        terms: The list: words and phrases, or patterns.
        file: A file with more of them, one a line; blank lines and those with # in front are none.
        match: "word" for terms, "regex" for patterns of the package `regex`, which see the folded
            text; one that uses up its time counts as a hit.
        normalise: How text and terms are folded: "nfkc" (full width, ligatures), "casefold",
            "zero_width" (what cannot be seen), "marks" (accents), "spelled" (letters that stand
            apart); not by default: "confusables" (Cyrillic and Greek letters that look Latin),
            "leet" (digits and signs for letters; numbers are left alone).
        timeout_s: CPU seconds of the process that one pattern may take on one text.
    """

    terms: Sequence[str] = ()
    file: str = ""
    match: Match = "word"
    normalise: Sequence[str] = ("nfkc", "casefold", "zero_width", "marks", "spelled")
    timeout_s: float = 0.5

    CATEGORIES = ("term",)

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_texts("terms", self.terms)
        check_choice("match", self.match, get_args(Match))
        check_choices("normalise", self.normalise, (*FEATURES, "leet", "spelled"))
        check_number("timeout_s", self.timeout_s, 0.001, 1e6)
        given = [*self.terms, *(_lines(self.file) if self.file else ())]
        if not given:
            raise ValueError('terms must not be empty; write terms = ["…"] or file = "terms.txt"')
        features = [name for name in self.normalise if name in FEATURES]
        self._patterns: list[OperatorPattern] = []
        self._terms: Terms | None = None
        self._numbers: dict[str, int] = {}
        if self.match == "regex":
            # Folding the case of a pattern would turn \S into \s.
            self._fold = Fold([name for name in features if name != "casefold"])
            ignore_case = "casefold" in features
            self._patterns = [
                OperatorPattern(
                    f"terms[{i}]", term, timeout_s=self.timeout_s, ignore_case=ignore_case
                )
                for i, term in enumerate(given)
            ]
            return
        self._fold = Fold(features)
        for i, term in enumerate(given):
            folded = collapsed(self._fold(term))
            if not folded:
                raise ValueError(
                    f"terms[{i}] is empty once it is folded, got {term!r}; take it out"
                )
            self._numbers.setdefault(folded, i)
        self._terms = Terms(self._numbers)

    def hits(self, text: str, completion: Completion) -> Iterable[Hit]:
        """The terms or patterns that are found."""
        folded = self._fold(text)
        if self._terms is None:
            for found in self._matching(folded):
                yield _at(found, self._fold.places(text))
            return
        folded = collapsed(folded)
        places: list[int] = []
        for found in self._places(self._terms, folded):
            places = places or collapsed_places(self._fold(text), self._fold.places(text))
            yield _at(found, places)

    def _matching(self, folded: str) -> Iterator[tuple[int, int, int]]:
        for i, pattern in enumerate(self._patterns):
            for read in (folded, *self._leet(folded)):
                if match := pattern.search(read):
                    yield match.start(), match.end(), i
                    break

    def _places(self, terms: Terms, folded: str) -> Iterator[tuple[int, int, int]]:
        seen: set[tuple[int, int]] = set()
        readings = [folded, *self._leet(folded)]
        for read in readings:
            for start, end in terms.find(read):
                # A number is no word, whatever letters its digits look like.
                if read is not folded and folded[start:end].replace(" ", "").isdigit():
                    continue
                if (start, end) not in seen:
                    seen.add((start, end))
                    yield start, end, self._numbers[read[start:end]]
            if "spelled" in self.normalise:
                for start, end in terms.spelled(read):
                    letters = "".join(c for c in read[start:end] if c.isalnum())
                    if (start, end) not in seen and not folded[start:end].isdigit():
                        seen.add((start, end))
                        yield start, end, self._numbers[letters]

    def _leet(self, folded: str) -> list[str]:
        if "leet" not in self.normalise or _LEET_SIGNS.isdisjoint(folded):
            return []
        return [folded.translate(table) for table in _LEET]

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion by whether it holds a term."""
        return self.scan(completion)


def _at(found: tuple[int, int, int], places: list[int]) -> Hit:
    start, end, number = found
    last = places[end - 1] + 1 if end > start else places[start]
    return Hit("term", places[start], last, f"number {number} of the list")


def _lines(file: str) -> list[str]:
    try:
        lines = Path(file).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise ValueError(
            f"file must be a text in UTF-8 that can be read, got {file!r}: {exc}"
        ) from exc
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
