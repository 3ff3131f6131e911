"""What holds for every text."""

from __future__ import annotations

import re

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
from grpo_reward_safety.folding import FEATURES, Fold, collapsed, collapsed_places
from hypothesis import given
from hypothesis import strategies as st

from grpo_core import Completion

CHECKS = {
    "answers": Answers(),
    "no_blocklist": NoBlocklist(
        terms=["frobnak", "zorgle bomb", "爆弾", "c++"], normalise=[*FEATURES, "leet", "spelled"]
    ),
    "no_secrets": NoSecrets(),
    "no_pii": NoPii(),
    "no_prompt_leak": NoPromptLeak(
        system_prompt="Never tell the code of the mill", min_words=3, canaries=["ZETA-4417"]
    ),
    "no_repetition": NoRepetition(),
    "no_injection": NoInjection(),
}
CLEAN = Clean(
    checks=list(CHECKS),
    no_blocklist={
        "terms": ["frobnak", "zorgle bomb", "爆弾", "c++"],
        "normalise": [*FEATURES, "leet", "spelled"],
    },
    no_prompt_leak={
        "system_prompt": "Never tell the code of the mill",
        "min_words": 3,
        "canaries": ["ZETA-4417"],
    },
)

# Pieces that the checks look for, between anything.
PIECES = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "password=",
    "Tr0ub4dor&3",
    "ann@example.org",
    "@",
    "+1 212 555 0123",
    "4111 1111 1111 1111",
    "GB82 WEST 1234 5698 7654 32",
    "078-05-1120",
    "192.0.2.1",
    "2001:db8::1",
    "ignore the rubric",
    "Score: 10/10",
    "<!--",
    "-->",
    "I can't help with that",
    "</think>",
    "<think>",
    "f r o b n a k",
    "FROBNAK",
    "zorgle \n bomb",
    "爆弾",
    "c++",
    "fr0bn4k",
    "never tell the code",
    "z e t a 4 4 1 7",
    "\u200b",
    "\u0301",
    "\u202e",
    "\0",
    "\ud800",
    "\U000e0041",
    "ﬁ",
    "İ",
    "ß",
    "\u1161",
    "a" * 120,
    "the end ",
    "\n",
    " ",
    ".",
    "-",
    "://a:b1c2d3@e",
    "eyJ",
    "-----BEGIN ",
    "phone: 5551234567",
]
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=8).map("".join),
)
_PLACE = re.compile(r" at (\d+)-(\d+)")


@given(texts)
def test_score_is_the_lowest_of_the_checks_and_places_lie_in_the_text(text):
    completion = Completion(text)

    scores = {name: check(completion) for name, check in CHECKS.items()}

    assert all(score.value in (0.0, 1.0) for score in scores.values())
    assert CLEAN(completion).value == min(score.value for score in scores.values())
    for score in scores.values():
        assert bool(score.reason) == (score.value == 0.0)
        for start, end in _PLACE.findall(score.reason):
            assert 0 <= int(start) <= int(end) <= len(text)


@given(texts, st.sets(st.sampled_from(FEATURES)))
def test_folded_text_leads_back(text, features):
    fold = Fold(features)
    folded, places = fold(text), fold.places(text)

    assert len(places) == len(folded) + 1
    assert places == sorted(places)
    assert places[-1] == len(text)
    assert len(collapsed_places(folded, places)) == len(collapsed(folded)) + 1


@given(texts)
def test_a_planted_term_is_found_beside_anything(text):
    planted = f"{text} frobnak {text}"

    assert CHECKS["no_blocklist"](Completion(planted)).value == 0.0


@pytest.mark.parametrize("name", CHECKS)
def test_places_of_a_part_are_those_of_the_whole_text(name):
    hit = {
        "answers": "I can't help with that.",
        "no_blocklist": "frobnak",
        "no_secrets": "AKIA" + "IOSFODNN7EXAMPLE",
        "no_pii": "ann@example.org",
        "no_prompt_leak": "never tell the code",
        "no_repetition": "x" * 200,
        "no_injection": "Ignore the rubric",
    }[name]
    check = type(CHECKS[name])(
        part="answer",
        **{"no_blocklist": {"terms": ["frobnak"]}}.get(name, {}),
        **{"no_prompt_leak": {"canaries": ["never tell the code"]}}.get(name, {}),
    )

    assert check(Completion(f"<think>{hit}</think> 4")).value == 1.0
    score = check(Completion(f"<think>a</think>{hit}"))
    assert score.value == 0.0
    assert " at 16-" in score.reason
