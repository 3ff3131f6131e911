"""What counts as the length of a completion."""

from __future__ import annotations

import pytest
from grpo_reward_brevity import Cosine, GroupRelative, Linear, SoftLimit, Target

from grpo_core import Completion, Skip, load_reward

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
