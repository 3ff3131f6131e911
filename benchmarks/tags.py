"""`format/tags` on hostile text of 1 MB: `python -m benchmarks tags`.

Texts repeat a unit at some place of a right text, for contracts of one to four blocks and of ten.
Each text meets the default options and a seeded sample of their combinations; the slowest are then
timed again, several times. A quarter of the slowest text shows how the time grows.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from grpo_reward_format import Tags

from benchmarks.report import Line
from grpo_core import Completion

SIZE = 1_000_000
BOUND_MS = 50.0
GROWTH = 6.0  # for 4 times the text; 16 would be quadratic
SAMPLE = 6
FINALISTS = 6
REPEATS = 7

DEFAULT = ("think", "answer")
CONTRACTS = (DEFAULT, ("answer",), ("a", "b", "c", "d"))
TEN = tuple("abcdefghij")
# The default of each option comes first.
OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "mode": ("strict", "soft"),
    "outside_text": ("forbid", "allow_after", "allow"),
    "layout": ("any", "lines"),
    "prompt_prefix": (None, "the first opening tag"),
    "prefix_policy": ("exact", "lenient"),
    "empty_body": ("reject", "allow"),
    "tail": ("optional", "require"),
    "ignore_code_fences": (False, True),
    "strip_suffixes": ((), ("</s>", "<|im_end|>", "<|end|>")),
}


class Case(NamedTuple):
    """A text and options, and the CPU time of one call in milliseconds."""

    ms: float
    text: str
    options: dict[str, Any]

    def again(self, size: int = SIZE) -> Case:
        """The same case, the least of several calls."""
        text = dict(hostile(size, self.options["tags"]))[self.text]
        return self._replace(ms=cpu_ms(Tags(**self.options), text, REPEATS))

    def __str__(self) -> str:
        changed = {k: v for k, v in self.options.items() if (k, v) != ("tags", DEFAULT)}
        options = ", ".join(f"{k}={v!r}" for k, v in changed.items()) or "default options"
        return f"{self.text}; {options}"


def run() -> list[Line]:
    """Times all texts, then the slowest again."""
    rng = random.Random(0)
    found = [case for tags in CONTRACTS for case in timed(tags, rng)]
    plain = slowest([case for case in found if case.options == {"tags": DEFAULT}])
    worst = slowest(found)
    ten = slowest(list(timed(TEN, rng)))
    growth = worst.ms / worst.again(SIZE // 4).ms
    return [
        Line("1 MB, default options, worst text", plain.ms, "ms", BOUND_MS, str(plain)),
        Line(f"1 MB, 1 to 4 blocks, worst of {len(found)}", worst.ms, "ms", BOUND_MS, str(worst)),
        Line("its time at 1 MB / at 0.25 MB; 4 is linear", growth, "", GROWTH),
        Line(
            f"1 MB, {len(TEN)} blocks, worst; time grows with blocks", ten.ms, "ms", None, str(ten)
        ),
    ]


def timed(tags: Sequence[str], rng: random.Random) -> Iterator[Case]:
    """One call for each text and each of the sampled options."""
    rewards = [({"tags": tags, **o}, Tags(tags=tags, **o)) for o in sampled(tags, rng)]
    for name, text in hostile(SIZE, tags):
        for options, reward in rewards:
            yield Case(cpu_ms(reward, text), name, options)


def slowest(cases: Sequence[Case]) -> Case:
    """The slowest case, after the slowest few were timed again."""
    finalists = sorted(cases, key=lambda case: case.ms, reverse=True)[:FINALISTS]
    return max((case.again() for case in finalists), key=lambda case: case.ms)


def sampled(tags: Sequence[str], rng: random.Random) -> list[dict[str, Any]]:
    """The default options and some of the other combinations, each as what it changes."""
    combinations = [
        {name: value for name, value in zip(OPTIONS, row, strict=True) if value != OPTIONS[name][0]}
        for row in itertools.product(*OPTIONS.values())
    ]
    # A tail that is required and forbidden is refused.
    allowed = [o for o in combinations if "tail" not in o or "outside_text" in o]
    chosen = [{}, *rng.sample(allowed[1:], SAMPLE)]
    opened = {"prompt_prefix": f"<{tags[0]}>\n"}
    return [options | opened if "prompt_prefix" in options else options for options in chosen]


def units(tags: Sequence[str]) -> dict[str, str]:
    """What hostile texts are made of, by name."""
    first, last = tags[0], tags[-1]
    return {
        "blanks": " ",
        "newlines": "\n",
        "CRLF": "\r\n",
        "zero-width": "\u200b",
        "words": "word ",
        "'<'": "<",
        "'</'": "</",
        "unclosed tags": f"<{first}",
        "openers": f"<{first}>",
        "openers on lines": f"<{first}>\n",
        "nested openers": "".join(f"<{tag}>" for tag in tags),
        "closers": "".join(f"</{tag}>" for tag in reversed(tags)),
        "tag pairs": f"<{first}></{first}>",
        "last pairs": f"<{last}></{last}>",
        "blocks": right(tags),
        "fences": "```\n",
        "fences of two marks": "```\n~~~\n",
        "indented fences": "   ```a`\n",
        "one long fence": "`",
        "suffixes": "</s>",
        "suffixes, blanks": "<|im_end|> \n",
    }


def right(tags: Sequence[str]) -> str:
    """A text that keeps the contract."""
    return "".join(f"<{tag}>4</{tag}>" for tag in tags)


def hostile(size: int, tags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Texts of about `size` bytes: each unit over and over, at each place, by name."""
    text = right(tags)
    body, _, rest = text.partition("4")
    places = {
        "alone": ("", ""),
        "in front": ("", text),
        "behind": (text + "\n", ""),
        "in a body": (body, rest),
        "in a body behind a tag": (f"{body}<{tags[-1]}>", rest),
        "in a fence": ("```\n", "\n```\n" + text),
        "after an opener": (f"<{tags[0]}>\n", ""),
    }
    for unit_name, unit in units(tags).items():
        filling = unit * (size // len(unit.encode()))
        for place, (before, after) in places.items():
            yield f"{unit_name}, {place}", before + filling + after


def cpu_ms(reward: Tags, text: str, repeats: int = 1) -> float:
    """Least CPU time of a call, in milliseconds."""
    completion = Completion(text)
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        reward(completion)
        least = min(least, time.process_time() - start)
    return least * 1000
