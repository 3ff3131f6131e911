"""What counts as the length of a completion."""

from __future__ import annotations

import pytest
from grpo_reward_brevity import (
    Budget,
    Cosine,
    GroupRelative,
    Linear,
    PublishedCosine,
    SoftLimit,
    Target,
)

from grpo_core import Completion, Fail, Skip, load_reward

THOUGHT = "<think>two and two</think> It is four. "


@pytest.mark.parametrize(
    ("options", "text", "prefill", "n"),
    [
        ({"unit": "chars"}, "  abc ", "", 3),
        ({"unit": "chars", "strip": False}, "  abc ", "", 6),
        ({"unit": "chars"}, "👨‍👩‍👧", "", 5),  # three people and two joiners: code points
        ({"unit": "words"}, " a  b\nc ", "", 3),
        ({"unit": "words"}, THOUGHT, "", 6),
        ({"unit": "words", "part": "think"}, THOUGHT, "", 3),
        ({"unit": "words", "part": "answer"}, THOUGHT, "", 3),
        # The prompt had opened the reasoning.
        ({"unit": "words", "part": "think"}, "two and two</think>four", "<think>\n", 3),
        ({"unit": "words", "part": "answer"}, "two and two</think>four", "<think>\n", 1),
        # Never closed: all of it is reasoning.
        ({"unit": "words", "part": "think"}, "<think>two and", "", 2),
        ({"unit": "words", "part": "answer"}, "<think>two and", "", 0),
        ({"unit": "words", "part": "think"}, "two and", "<think>", 2),
        ({"unit": "words", "part": "answer"}, "two and", "<think>", 0),
        # No reasoning at all.
        ({"unit": "words", "part": "think"}, "four", "", 0),
        ({"unit": "words", "part": "answer"}, "four", "", 1),
        # Twice: the reasoning runs from its first tag to its last, which are words on the way.
        ({"unit": "words", "part": "think"}, "<think>a b</think> <think>c</think>d", "", 3),
        ({"unit": "words", "part": "think", "think_tag": "work"}, "<work>a b</work>c", "", 2),
    ],
)
def test_length(options, text, prefill, n):
    measured = Linear(max_length=5, **options)
    assert measured.length(Completion(text, prefill=prefill)) == n


def test_tokens_are_the_trainers_and_never_guessed():
    one = Completion("a b c", token_ids=(1, 2, 3, 4, 5, 6, 7))
    assert Linear(max_length=5).length(one) == 7
    with pytest.raises(ValueError, match="the completion has no token ids"):
        Linear(max_length=5).length(Completion("a b c"))
    outcome = load_reward("brevity/linear", options={"max_length": 5})("a b c")
    assert outcome.status == "skipped"
    assert "token_ids" in outcome.reason


def test_silence_earns_the_low_end():
    for built, low in (
        (Linear(max_length=9, unit="chars"), 0.0),
        (SoftLimit(max_length=9, unit="chars"), -1.0),
    ):
        assert built(Completion(" \n ")).value == low
        assert built(Completion("a")).value > low
    assert Linear(max_length=9, unit="chars")(Completion("")).reason == (
        "0 chars, fewer than min_length = 1"
    )
    # Not thinking at all is no short thought.
    think = Linear(max_length=9, unit="chars", part="think")
    assert think(Completion("four")).value == 0.0
    cosine = Cosine(max_length=9, unit="chars")
    assert cosine(Completion(""), 1.0).value == -1.0
    group = GroupRelative(unit="chars")([Completion(""), Completion("four")], [0.0, 1.0])
    assert [s.value for s in group] == [-0.5, 0.1]


@pytest.mark.parametrize(
    "text",
    # The trainer's ids hold the token that ends the text, so the empty reply has one.
    [
        "",
        " \n ",
        "\u200b",
        "\ufeff\u200d",
        "\xad",
        "\0",
        "\u3164\u115f",
        "\u2800",
        "\u0301",
        "\ud800",
    ],
)
def test_what_cannot_be_seen_is_silence_in_every_unit(text):
    one = Completion(text, token_ids=(5, 6, 2))
    for unit in ("tokens", "chars", "words"):
        options = {"unit": unit}
        lows = [
            (Linear(max_length=9, **options)(one), 0.0),
            (SoftLimit(max_length=9, **options)(one), -1.0),
            (Cosine(max_length=9, **options)(one, 1.0), -1.0),
            (Target(target=3, **options)(one, 1.0), 0.0),
            (Budget(budget=9, **options)(one, 1.0), 0.0),
            (
                GroupRelative(**options)([one, Completion("four", token_ids=(1,))], [1.0, 1.0])[0],
                -0.5,
            ),
        ]
        for score, low in lows:
            assert score.value == low
    assert Linear(max_length=9)(one).reason == "3 tokens, and nothing to be seen in them"
    # The formulas alone, as published.
    assert Linear(max_length=9, min_length=0)(one).value == 1.0


@pytest.mark.parametrize("text", [".", "4", "é", "👍", "漢", "a\u200b", "<think>\n</think>"])
def test_what_can_be_seen_is_no_silence(text):
    assert Linear(max_length=9)(Completion(text, token_ids=(5, 2))).value == 1.0


def test_part_that_shows_nothing_is_silence_whatever_the_rest_says():
    text = "<think>\u200b</think>It is four."
    think = Linear(max_length=9, unit="chars", part="think")
    assert think(Completion(text)).value == 0.0
    assert Linear(max_length=20, unit="chars", part="answer")(Completion(text)).value == 1.0


NAN = float("nan")


@pytest.mark.parametrize(
    "built",
    [
        Cosine(max_length=9),
        Target(target=9),
        Budget(budget=9),
        PublishedCosine(rule="trl", max_length=9),
    ],
)
def test_answer_that_is_neither_right_nor_wrong_fails(built):
    for given in (NAN, "yes"):
        outcome = built(Completion("four", token_ids=(1,)), given)
        assert outcome == Fail(
            f"correct must be a number or a boolean, to be held to a threshold; got {given!r}"
        )


def test_one_unknown_answer_of_a_group_fails_and_the_others_are_scored():
    group = [Completion("four", token_ids=tuple(range(n))) for n in (1, 2, 3)]
    scores = GroupRelative()(group, [1.0, NAN, 1.0])
    assert isinstance(scores[1], Fail)
    assert [scores[0].value, scores[2].value] == pytest.approx([0.5, 0.1])


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    one = Completion("four", token_ids=tuple(range(4)))
    for right in (numpy.bool_(True), numpy.float32(1.0), numpy.int64(1)):
        assert Target()(one, right, numpy.int64(4)).value == 1.0


@pytest.mark.parametrize("name", ["cosine", "group_relative"])
def test_a_column_of_booleans_says_what_is_right(name):
    options = {"unit": "chars", **({"max_length": 9} if name == "cosine" else {})}
    reward = load_reward(f"brevity/{name}", options=options)
    if name == "cosine":
        assert reward("four", correct=True).value == reward("four", correct=1.0).value
        assert reward("four", correct=False).value == reward("four", correct=0.0).value
    else:
        assert reward("four", correct=True).value == 0.0


def test_what_was_cut_off_is_told_apart():
    cut = Completion("a" * 50, truncated=True)
    whole = Completion("a" * 50, truncated=False)
    counted = Linear(max_length=100, unit="chars")
    assert counted(cut).value == counted(whole).value == 1.0
    assert counted(cut).metrics == {"length": 50.0, "truncated": 1.0}
    assert counted(whole).metrics == {"length": 50.0, "truncated": 0.0}
    low = Linear(max_length=100, unit="chars", truncated="low")
    assert low(cut).value == 0.0
    assert low(cut).reason == "cut off after 50 chars"
    assert low(whole).value == 1.0
    skip = Linear(max_length=100, unit="chars", truncated="skip")
    assert skip(cut) == Skip("cut off after 50 chars")
    assert skip(whole).value == 1.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Linear(max_length=0), "max_length must be from 1"),
        (lambda: Linear(max_length=float("nan")), "max_length must be from 1"),
        (lambda: Linear(max_length=10, zero_length=10), "zero_length must be from 11"),
        (lambda: Linear(max_length=10, unit="token"), "unit must be one of 'tokens', 'chars'"),
        (lambda: Linear(max_length=10, part="answer"), "has no token count of its own"),
        (lambda: Linear(max_length=10, unit="chars", tokenizer="x"), "leave one of them out"),
        (lambda: Linear(max_length=10, think_tag="<think>"), "write 'think'"),
        (lambda: SoftLimit(max_length=10, cache=11), "cache must be from 0 to 10, got 11"),
        (lambda: Cosine(max_length=10, right=[1.0, 0.5]), r"\[0.5, 1\]|swap them"),
        (lambda: Cosine(max_length=10, right=[1.0]), "two numbers"),
        (lambda: Target(target=0), "target must be from 1"),
        (lambda: Target(target=5, alpha=0), "alpha must be from"),
    ],
)
def test_options_that_cannot_be_meant(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_tokens_of_a_part_by_a_tokenizer(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {"two": 0, "and": 1, "four": 2, "?": 3}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="?"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=model, unk_token="?").save_pretrained(
        tmp_path
    )
    think = Linear(max_length=5, part="think", tokenizer=str(tmp_path))
    assert think.length(Completion("<think>two and two</think>four")) == 3
    answer = Linear(max_length=5, part="answer", tokenizer=str(tmp_path))
    assert answer.length(Completion("<think>two and two</think>four")) == 1


def test_silence_under_the_sum_is_a_wrong_answer_of_no_length():
    summed = Target(target=1000, form="sum", truncated="low")
    # -0.0003 * 1,000, not the end of the range, beside which no other reply would count.
    assert summed(Completion("", token_ids=(2,)), 1.0).value == pytest.approx(-0.3)
    cut = Completion("a", token_ids=tuple(range(5000)), truncated=True)
    assert summed(cut, 1.0).value == pytest.approx(-1.2)  # -0.0003 * 4,000
