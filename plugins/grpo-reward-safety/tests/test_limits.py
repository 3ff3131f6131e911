"""What a text may cost: linear in its length, and a limit that it reaches is a hit."""

from __future__ import annotations

import time

import pytest
from grpo_reward_safety import (
    Answers,
    Clean,
    NoBlocklist,
    NoInjection,
    NoPii,
    NoPromptLeak,
    NoRepetition,
    NoSecrets,
)

from grpo_core import Completion

# What patterns are slow on: beginnings of what they look for, without its end.
UNITS = {
    "at signs": "@",
    "a.": "a.",
    "@a.a.": "@a.a.",
    "digits": "1",
    "digits and blanks": "1 ",
    "dots": ".",
    "dotted digits": "1.",
    "groups of a card": "4111 ",
    "zeros": "0012 ",
    "beginnings of IBANs": "GB82 ",
    "plus one": "+1 ",
    "brackets": "(212) ",
    "phone": "phone is ",
    "tel": "tel 1 ",
    "colons": "2001:",
    "prefixes of keys": "sk-",
    "AKIA": "AKIA",
    "tokens": "-eyJaaaaaaaaaa",
    "keywords": "token=",
    "assignments": "password is a1b2c3 ",
    "schemes": "://a:",
    "comments": "<!--",
    "scores": "score: ",
    "ignore": "ignore a ",
    "judges": "as judge, a b ",
    "refusals": "i cannot ",
    "quotes": "'",
    "letters": "a ",
    "letters with dots": "a.b",
    "marks": "e\u0301\u0316\u0301\u0316",
    "no blanks": "漢字",
    "hidden": "\u200b",
    "lines": "a\n",
    "runs of letters": "a" * 99 + "b",
}
CHECKS = [
    Answers(),
    NoBlocklist(
        terms=["frobnak", "zorgle bomb", "爆弾", "a" * 30],
        normalise=["nfkc", "casefold", "zero_width", "marks", "spelled", "leet", "confusables"],
    ),
    NoInjection(),
    NoPii(),
    NoPromptLeak(system_prompt="a b c d e f g h i j k l m n o p", canaries=["ZETA-4417"]),
    NoRepetition(),
    NoSecrets(),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: type(check).__name__)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_hostile_text_takes_no_square(check, unit):
    # A square would take minutes here; the benchmark has the bound for 1 MB.
    completion = Completion(unit * (300_000 // len(unit.encode())))
    start = time.process_time()

    assert check(completion).value in (0.0, 1.0)
    assert time.process_time() - start < 5.0


def test_text_over_the_limit_is_a_hit():
    check = NoSecrets(max_bytes=10)

    assert check(Completion("a" * 10)).value == 1.0
    score = check(Completion("ä" * 6))
    assert score.value == 0.0
    assert score.reason == "limit: the text has 12 bytes, max_bytes is 10"
    assert score.metrics["limit_hits"] == 1.0


def test_pattern_that_runs_away_is_a_hit():
    blocked = NoBlocklist(terms=[r"(a|aa)+$"], match="regex", timeout_s=0.05)
    extra = [{"name": "x", "pattern": r"(a|aa)+$"}]
    for check in (blocked, NoPii(patterns=extra, timeout_s=0.05)):
        score = check(Completion("a" * 60 + "!"))
        assert score.value == 0.0
        assert score.reason.startswith("limit: ")
        assert score.reason.endswith(" took over 0.05 s of CPU time")


def test_limit_is_seen_in_the_lowest_of_the_checks():
    score = Clean(checks=["no_secrets"], no_secrets={"max_bytes": 3})(Completion("abcd"))

    assert (score.value, score.metrics["limit_hits"]) == (0.0, 1.0)
    assert score.reason == "no_secrets: limit: the text has 4 bytes, max_bytes is 3"
