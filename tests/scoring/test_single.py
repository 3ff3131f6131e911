"""`load_reward`: one reward outside training."""

import threading
from typing import Any

import numpy as np
import pytest

from grpo_core import load_reward, reward
from grpo_core.completion import Completion
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, RewardError, UnknownRewardError
from grpo_core.outcome import Outcome, Skip


@reward
def equals(completion, answer: str, *, strip: bool = False):
    text = completion.text.strip() if strip else completion.text
    return float(text == answer)


@reward
def keys(completion, schema: dict, extra: list | None = None):
    return Skip("no keys") if not schema else float(list(schema) == ["a"] and extra is None)


@reward
def asks(completion):
    return float(completion.prompt == "q" and completion.prompt_messages is None)


def longest(completions, prompts, bonus=None):
    return [len(c) + len(p) + (b or 0) for c, p, b in zip(completions, prompts, bonus, strict=True)]


def test_call_text_gives_an_outcome():
    assert load_reward(equals)("42", answer="42") == Outcome(1.0)


def test_call_chat_reads_the_last_assistant_message():
    chat = [{"role": "assistant", "content": "42"}]

    assert load_reward(equals)(chat, answer="42") == Outcome(1.0)


def test_call_completion_brings_its_columns():
    assert load_reward(equals)(Completion("42", columns={"answer": "42"})) == Outcome(1.0)


def test_call_input_goes_before_the_completions_column():
    completion = Completion("42", columns={"answer": "41"})

    assert load_reward(equals)(completion, answer="42") == Outcome(1.0)


@pytest.mark.parametrize("completion", ["c", Completion("c"), Completion("c", prompt="other")])
def test_call_prompt_may_be_given(completion):
    assert load_reward(asks)(completion, prompt="q") == Outcome(1.0)


def test_call_options_are_set():
    assert load_reward(equals, options={"strip": True})(" 42 ", answer="42") == Outcome(1.0)


def test_call_input_that_is_a_list_is_one_value():
    assert load_reward(keys)("c", schema={"a": 1}, extra=[1]) == Outcome(0.0)


def test_call_json_text_is_decoded_for_a_dict():
    assert load_reward(keys)("c", schema='{"a": 1}') == Outcome(1.0)


def test_call_none_for_an_input_that_does_not_admit_it_is_skipped():
    outcome = load_reward(keys)("c", schema=None)

    assert outcome == Outcome(None, "skipped", "input 'schema' is None (column 'schema')")


def test_call_exception_is_an_outcome():
    @reward
    def broken(completion):
        raise RuntimeError("x")

    outcome = load_reward(broken)("c")

    assert (outcome.value, outcome.status, outcome.fault) == (None, "failed", True)


@pytest.mark.parametrize("completion", [5, b"bytes", [1]])
def test_call_completion_of_another_kind_is_a_type_error(completion):
    with pytest.raises(TypeError):
        load_reward(asks)(completion)


def test_batch_outcomes_are_in_order():
    outcomes = load_reward(equals).batch(["a", "b", "c"], answer=["a", "x", "c"])

    assert [o.value for o in outcomes] == [1.0, 0.0, 1.0]


def test_batch_of_mixed_kinds_is_scored():
    completions = ["a", [{"role": "assistant", "content": "a"}], Completion("a")]

    outcomes = load_reward(equals).batch(completions, answer=["a"] * 3)

    assert [o.value for o in outcomes] == [1.0, 1.0, 1.0]


def test_batch_of_none_is_empty():
    assert load_reward(equals).batch([], answer=[]) == []


def error(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "phrase"),
    [
        ({"answer": ["a"]}, "answer: expected 2 values, one for each completion, got 1"),
        ({"answer": ["a"] * 3}, "answer: expected 2 values, one for each completion, got 3"),
        ({"answer": "ab"}, "answer: expected a list of 2 values, one for each completion, got str"),
        ({"answer": {"a": 1, "b": 2}}, "got dict"),
        ({"answer": {"a", "b"}}, "got set"),
        ({"answer": 5}, "got int 5"),
        ({}, "answer: 'equals' needs this input (str); it is missing"),
        ({"anwser": ["a", "b"]}, "anwser: 'equals' has no such input. Did you mean 'answer'?"),
    ],
)
def test_batch_wrong_inputs_are_refused(given, phrase):
    assert phrase in error(load_reward(equals).batch, ["a", "b"], **given)


def test_batch_several_faults_are_reported_together():
    text = error(load_reward(equals).batch, ["a", "b"], prompt=["p"], other=["x", "y"])

    assert "3 problems in the call of 'equals':" in text


def test_batch_of_one_text_is_refused():
    text = error(load_reward(equals).batch, "abc", answer=["a", "b", "c"])

    assert text == (
        "batch of 'equals': expected a list of completions, got str; for a single one call the "
        "reward itself"
    )


def test_batch_untagged_function_is_called_once_with_prompts():
    outcomes = load_reward(longest).batch(["a", "bb"], prompt=["p", "pp"], bonus=[None, 0.5])

    assert [o.value for o in outcomes] == [2.0, 4.5]


def test_batch_untagged_function_without_its_column_is_refused():
    def f(completions, solution):
        return [1.0]

    assert "has a parameter 'solution' that is neither a column nor" in error(load_reward(f), "c")


def test_load_untagged_function_with_options_is_refused():
    text = error(load_reward, longest, options={"a": 1})

    assert text == (
        "1 problem in the call of load_reward for 'longest':\n"
        "  - options: 'longest' is an untagged function and takes no options"
    )


def test_load_wrong_option_is_refused():
    assert "options.strip: expected bool, got 'yes'" in error(
        load_reward, equals, options={"strip": "yes"}
    )


def test_load_options_that_are_no_mapping_are_refused():
    assert error(load_reward, equals, options=["strip"]) == (
        "1 problem in the call of load_reward:\n  - options: expected a dict by name, got ['strip']"
    )


def test_load_full_and_bare_name_lead_to_the_installed_reward(site, monkeypatch):
    site.install("grpo-reward-fake")
    # A plugin beside it has the same bare name.
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "grpo-reward-fake")

    assert load_reward("fake/answer_equals")("a", answer="a").value == 1.0
    assert load_reward("answer_equals").name == "fake/answer_equals"


def test_load_unknown_name_is_refused(site):
    with pytest.raises(UnknownRewardError, match="no reward 'nowhere/to_be_found'"):
        load_reward("nowhere/to_be_found")


def test_load_file_is_relative_to_the_folder(tmp_path):
    (tmp_path / "mine.py").write_text("def f(completions):\n    return [1.0]\n", encoding="utf-8")

    assert load_reward("mine.py:f", folder=tmp_path)("c") == Outcome(1.0)


def test_load_settings_decide_how_it_is_run():
    reward = load_reward(equals, isolation="thread", timeout_s=2, on_timeout="missing", retries=1)

    policy = reward.policy
    assert (policy.isolation, policy.timeout_s) == ("thread", 2.0)
    assert (policy.on_timeout, policy.retries) == (None, 1)


def test_load_setting_that_cannot_be_is_named():
    with pytest.raises(ConfigError, match="timeout_s: Input should be greater than 0"):
        load_reward(equals, timeout_s=0)


def test_load_unknown_argument_is_a_type_error():
    with pytest.raises(TypeError, match="unexpected argument 'timeout'"):
        load_reward(equals, timeout=2)


def test_reward_that_no_worker_can_build_is_said_once_to_run_in_a_thread(caplog):
    @reward
    def of_this_test(completion):
        """Half a point."""
        return 0.5

    for _ in range(2):
        assert load_reward(of_this_test)("x").value == 0.5
    load_reward(of_this_test, isolation="inline")

    (said,) = caplog.messages
    assert said.startswith(
        "reward 'of_this_test' runs in a thread of this process, one call at a time, since a "
        "worker cannot build it: it is defined inside a function."
    )


def test_call_with_three_late_ones_that_still_run_is_refused():
    gate = threading.Event()

    @reward(isolation="thread", timeout_s=0.05)
    def hangs(completion):
        """Waits."""
        gate.wait(30)
        return 1.0

    hanging = load_reward(hangs)
    try:
        late = hanging.batch(["a", "b", "c"])
        with pytest.raises(
            RewardError, match=r"3 calls that were late still run (.|\n)* of reward"
        ):
            hanging("d")
    finally:
        gate.set()

    assert [o.status for o in late] == ["timed_out"] * 3
    assert [o.value for o in late] == [0.0] * 3


@pytest.mark.parametrize("gold", [1200, 12.0, ["1200"]])
def test_call_input_of_another_type_is_refused(gold):
    with pytest.raises(ConfigError, match=r"answer: .*expected str, got "):
        load_reward(equals)("1200", answer=gold)


def test_call_column_of_another_type_is_refused():
    with pytest.raises(ConfigError, match=r"answer: .*expected str, got 1200"):
        load_reward(equals)(Completion("1200", columns={"answer": 1200}))


def test_batch_input_of_another_type_names_its_place():
    with pytest.raises(ConfigError, match=r"answer: .*expected str, got 5 .* completion 1"):
        load_reward(equals).batch(["4", "5"], answer=["4", 5])


@reward
def loose(completion, a: Any, b: float = 0.0, c: tuple[int, ...] = (), d=None):
    return float(b)


@pytest.mark.parametrize(
    "inputs",
    [
        {"a": object()},
        {"a": 1, "b": 1},
        {"a": 1, "b": np.float32(1.0)},
        {"a": 1, "b": None},
        {"a": 1, "c": [1, 2]},
        {"a": 1, "c": "[1, 2]"},
        {"a": 1, "d": object()},
    ],
)
def test_call_input_that_can_be_read_is_taken(inputs):
    assert load_reward(loose)("x", **inputs).status == "scored"


def test_call_none_for_a_required_input_is_still_skipped():
    assert load_reward(equals)("x", answer=None).status == "skipped"


def test_reward_whose_calls_hang_hinders_no_other_of_its_name():
    gate = threading.Event()

    @reward(isolation="thread", timeout_s=0.05)
    def hangs(completion):
        """Waits."""
        gate.wait(30)
        return 1.0

    @reward(isolation="thread")
    def works(completion):
        """1.0."""
        return 1.0

    texts = [Completion(text) for text in "abc"]
    hanging = CompositeReward({"a": hangs}, max_failed=1.0)
    try:
        hanging.score(texts)
        with pytest.raises(RewardError, match=r"3 of reward 'a'(.|\n)*restart the process"):
            hanging.score(texts)
        table = CompositeReward({"a": works}).score(texts)
        alone = load_reward(works)("text")
    finally:
        gate.set()

    assert table.values[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert alone.value == 1.0


@pytest.mark.parametrize(
    ("use", "settings", "said"),
    [
        ("tagged", {"timeout_s": 0}, "timeout_s: "),
        ("tagged", {"isolation": "inline", "concurrency": 4}, "concurrency: "),
        ("untagged", {"options": {"x": 1}}, "options: "),
        ("untagged", {"on_timeout": 1.0, "isolation": "process"}, "isolation: "),
    ],
)
def test_every_wrong_argument_is_told_in_one_form(use, settings, said):
    @reward
    def tagged(completion):
        """1.0."""
        return 1.0

    def untagged(completions):
        return [1.0 for _ in completions]

    with pytest.raises(ConfigError) as caught:
        load_reward({"tagged": tagged, "untagged": untagged}[use], **settings)

    head, first, *_ = str(caught.value).split("\n")
    assert "in the call of load_reward for " in head
    assert first.startswith(f"  - {said}")


def test_load_option_among_the_settings_is_told_where_it_goes():
    with pytest.raises(TypeError, match=r"go into options=\{'strictness': 'low'\}"):
        load_reward(equals, strictness="low")
