"""A table of pairs of bare answers with the right verdict, worked out by hand, in both orders."""

import json
import re
from pathlib import Path

import pytest
from grpo_reward_math.comparing import same
from grpo_reward_math.reading import LimitHit, Unreadable, read
from grpo_reward_math.rules import Rules

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "pairs.jsonl").read_text("utf-8").splitlines()
]


def verdict(answer: str, gold: str, rules: Rules = Rules()) -> bool:  # noqa: B008
    try:
        return same(read(answer, rules), read(gold, rules), rules).equal
    except (Unreadable, LimitHit):
        return False


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{p['answer']} | {p['gold']}")
def test_pair_gets_its_verdict_in_both_orders(pair: dict) -> None:
    assert verdict(pair["answer"], pair["gold"]) is pair["equal"]
    assert verdict(pair["gold"], pair["answer"]) is pair["equal"]


# What may keep its value when one digit changes: options, whose letter decides, chains of steps,
# whose end does, and these.
KEEPS_ITS_VALUE = re.compile(
    r"\([A-J]\)|^\W*[A-J]\b|floor|ceil|max|prod|choose|binom|sqrt\{1\}|C_|_1=|=.+=|0=0|1=1|[2-9]=[2-9]"
    r"|phantom|cup.*sqrt"
)


def test_text_with_another_digit_is_another_answer() -> None:
    texts = {pair[side] for pair in PAIRS for side in ("answer", "gold")}
    equal = []
    for text in sorted(t for t in texts if not KEEPS_ITS_VALUE.search(t)):
        for match in re.finditer("[0-9]", text):
            changed = text[: match.start()] + str((int(match[0]) + 1) % 10) + text[match.end() :]
            equal += [(changed, text)] if verdict(changed, text) else []

    assert equal == []


@pytest.mark.parametrize(
    ("rules", "answer", "gold"),
    [
        (Rules(percent_sign_optional=True), r"15\%", "15"),
        (Rules(base_optional=True), "1011", "1011_2"),
        (Rules(ratios_scale=True), "10:4", "5:2"),
        (Rules(ignore_letter_case=True), "b", "B"),
        (Rules(log_base="10"), r"\log 1000", "3"),
        (Rules(units="ignored"), r"8\text{ cm}", r"8\text{ m}"),
    ],
)
def test_option_makes_a_pair_equal_that_is_not_by_default(
    rules: Rules, answer: str, gold: str
) -> None:
    assert not verdict(answer, gold)
    assert verdict(answer, gold, rules)


def test_required_unit_must_be_written() -> None:
    assert verdict("8", r"8\text{ cm}")
    assert not verdict("8", r"8\text{ cm}", Rules(units="required"))
    assert verdict("8 cm", r"8\text{ cm}", Rules(units="required"))


def test_case_of_words_matters_if_asked() -> None:
    assert verdict("Monday", "monday")
    assert not verdict("Monday", "monday", Rules(ignore_case=False))
