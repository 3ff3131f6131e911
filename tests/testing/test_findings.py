"""What the tests of a contract find, and how they say it."""

from __future__ import annotations

import random
import re

import pytest
import sound_rewards
import wrong_rewards
from contracts import contract, failed

from grpo_core import Completion


def the_failure(reward, **attributes):
    """Name and text of the one test that fails."""
    found = failed(contract(reward, **attributes))
    assert len(found) == 1, found
    return next(iter(found.items()))


@pytest.mark.parametrize("reward", [wrong_rewards.hangs, wrong_rewards.hangs_waiting])
def test_reward_that_hangs_is_told_by_its_deadline(reward):
    name, text = the_failure(reward, bad=("41",))

    assert name == "test_calls_return"
    assert re.search(r"  - '41': (did not return within|took longer than) 2.5 s", text)


def test_reward_that_ends_its_process_does_not_end_pytest():
    name, text = the_failure(wrong_rewards.ends_the_process, bad=("41", "42.5"))

    assert name == "test_calls_return"
    assert text == (
        "A call must return, with Fail(reason) where nothing else will do:\n"
        "  - '41': its worker ended with exit code 1\n"
        "  - '42.5': its worker ended with exit code 1"
    )


def test_reward_of_a_batch_that_crashes_is_told_with_the_example():
    name, text = the_failure(wrong_rewards.ends_the_process_of_all, bad=("41",))

    assert name == "test_calls_return"
    assert text.splitlines()[1:] == ["  - '41': its worker was killed by signal 11 (SIGSEGV)"]


def test_reward_that_crashes_without_an_input_does_not_end_pytest():
    name, text = the_failure(wrong_rewards.crashes_on_none)

    assert name == "test_none_inputs_give_the_documented_outcome"
    assert "  - 'answer' is None: failed (its worker ended with exit code 1)" in text


def test_reward_that_raises_is_told_with_the_place():
    name, text = the_failure(wrong_rewards.raises, bad=("41",))

    assert name == "test_calls_return"
    line = r"  - '41': raised ZeroDivisionError: .* \(.*wrong_rewards\.py:\d+\)"
    assert re.fullmatch(line, text.splitlines()[1])


def test_reward_that_exits_on_junk_is_told_with_the_junk():
    name, text = the_failure(wrong_rewards.exits_on_junk)

    assert name == "test_junk_is_survived"
    assert re.search(r"- empty: failed \(raised SystemExit: 0 .*wrong_rewards.py:\d+\)", text)
    assert "  - blanks: failed" in text


def test_reward_that_exits_is_told_as_what_it_raised():
    _, text = the_failure(wrong_rewards.exits)

    assert text.splitlines()[1].startswith("  - '41': raised SystemExit: 0 (")


def test_reward_that_guesses_a_field_is_told():
    name, text = the_failure(wrong_rewards.guesses)

    assert name == "test_unknown_fields_are_not_guessed"
    assert text == (
        "A field that decides must be named in @reward(needs=…):\n"
        "  - good[0] '42': 1 where truncated is unknown, 1 and 0 where it is known"
    )


def test_reward_that_reads_the_reply_is_told():
    name, text = the_failure(wrong_rewards.reads_the_reply)

    assert name == "test_plain_and_chat_data_score_the_same"
    assert "  - good[0] '42': 1 as given, 0 as a chat\n" in text


def test_reward_whose_default_does_not_work_is_told():
    found = failed(contract(wrong_rewards.needs_its_input, inputs={"answer": "42", "extra": "x"}))

    assert set(found) == {
        "test_missing_inputs_give_the_documented_outcome",
        "test_none_inputs_give_the_documented_outcome",
    }
    assert "without 'extra': failed (raised ZeroDivisionError" in found[min(found)]


def test_reward_that_is_random_now_and_then_is_told_so():
    for seed in range(6):
        random.seed(seed)

        found = failed(contract(wrong_rewards.seldom_random))

        told = {text.splitlines()[0] for text in found.values()}
        assert told <= {"Equal calls differ; keep no state, or declare deterministic=False:"}, found


def test_reward_that_changes_with_time_is_told_so(monkeypatch):
    monkeypatch.setattr(wrong_rewards, "calls", 0)

    found = failed(contract(wrong_rewards.drifts))

    told = {text.splitlines()[0] for text in found.values()}
    assert told == {"Equal calls differ; keep no state, or declare deterministic=False:"}, found


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (wrong_rewards.edits_its_input, "'42': input 'answers' not as before"),
        (wrong_rewards.edits_columns, "'42': completion.columns not as before"),
        (
            wrong_rewards.sorts_completions,
            "'42': completions not as before",
        ),
    ],
)
def test_reward_that_changes_an_argument_is_told_which(reward, told):
    found = failed(contract(reward, inputs={"answers": ["43", "42"]}, bad=("41",)))

    text = found["test_arguments_stay_unchanged"]
    assert text.splitlines()[:2] == ["Work on a copy of what you get:", f"  - {told}"]


def test_reward_declared_as_random_is_not_asked_to_repeat():
    assert failed(contract(wrong_rewards.declared_random)) == {}


def test_reward_that_cannot_score_a_group_of_one_is_told():
    name, text = the_failure(wrong_rewards.needs_mates, bad=("41",))

    assert name == "test_groups_are_scored_apart"
    assert "  - good[0] '42' as a group of one: failed (raised ZeroDivisionError" in text


def test_reward_that_returns_one_number_for_many_is_told():
    name, text = the_failure(wrong_rewards.returns_one)

    assert name == "test_returned_types_are_right"
    assert "the call for '42' and 3 more: returned float at scope 'batch'; return a list" in text


def test_reward_without_documents_is_told_what_is_missing():
    found = failed(contract(wrong_rewards.undocumented, inputs={"gold_answer": "42"}))

    assert set(found) == {
        "test_docstring_says_what_comes_back",
        "test_docstring_tells_the_range",
        "test_docstring_names_the_inputs",
    }
    assert (
        "end in a full stop, got 'Compares the text'"
        in found["test_docstring_says_what_comes_back"]
    )
    assert "0 is not there" in found["test_docstring_tells_the_range"]
    assert "'gold_answer' is not there" in found["test_docstring_names_the_inputs"]


def test_reward_that_no_example_reaches_is_told():
    name, text = the_failure(wrong_rewards.wants_tokens)

    assert name == "test_calls_return"
    assert "no example reaches the reward: skipped (needs token_ids, which is not known" in text


def test_reward_whose_examples_have_the_fields_it_needs_passes():
    good, bad = (Completion(text, token_ids=(1,)) for text in ("42", "41"))

    assert failed(contract(wrong_rewards.wants_tokens, good=(good,), bad=(bad,))) == {}


@pytest.mark.parametrize(
    ("reward", "attributes", "text"),
    [
        ("no_such/reward", {}, "no reward 'no_such/reward'"),
        (wrong_rewards.untagged, {}, "'untagged' is not tagged; a contract is for rewards"),
        (sound_rewards.answer_equals, {"options": {"stripp": True}}, "Did you mean 'strip'?"),
        (sound_rewards.Shortest, {"options": {"step": 0}}, "step must be at least 1, got 0"),
    ],
)
def test_reward_that_cannot_be_built_fails_one_test(reward, attributes, text):
    name, told = the_failure(reward, **attributes)

    assert name == "test_reward_is_found_and_built"
    assert text in told


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"good": ()}, "good: expected at least one example, got none; give texts that the rew"),
        ({"bad": ()}, "bad: expected at least one example, got none; give texts that the rewa"),
        ({"inputs": {}}, "good[0] '42': answer: 'answer_equals' needs this input (str)"),
        ({"inputs": {"answer": "42", "gold": 1}}, "gold: 'answer_equals' has no such input"),
        ({"good": "42"}, "good: expected a tuple of examples, got '42'"),
        ({"cases": "none.jsonl"}, "none.jsonl cannot be read"),
        ({"none_inputs": {"gold": "scored"}}, "none_inputs: the reward has no input 'gold'"),
        ({"none_inputs": {"answer": "zero"}}, "none_inputs: expected 'scored', 'skipped' or 'f"),
    ],
)
def test_examples_that_are_not_complete_fail_one_test(attributes, text):
    name, told = the_failure(sound_rewards.answer_equals, **attributes)

    assert name == "test_examples_are_complete"
    assert text in told


def test_none_input_that_may_be_scored_is_declared():
    name, _ = the_failure(wrong_rewards.swallowed_error)
    assert name == "test_none_inputs_give_the_documented_outcome"

    declared = contract(wrong_rewards.swallowed_error, none_inputs={"answer": "scored"})
    assert failed(declared) == {}


def test_ranking_names_both_examples():
    _, text = the_failure(wrong_rewards.constant, bad=("41",))

    assert text == (
        "Good examples must earn more than bad ones:\n  - bad[0] '41' earns 1, and good[0] '42' 1"
    )
