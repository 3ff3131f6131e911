"""`CompositeReward`: several rewards by name, tagged and untagged, scored together."""

import copy
import json
import warnings
from typing import Any

import numpy as np
import pytest

from grpo_core import CompositeReward, reward
from grpo_core.completion import Completion
from grpo_core.errors import ConfigError
from grpo_core.outcome import Outcome, Skip
from grpo_core.reader import read_config
from grpo_core.sections import RewardSection


@reward
def equals(completion, answer: str, *, strip: bool = False):
    """1.0 if the text is the answer."""
    return float(completion.text == answer)


@reward
def has_keys(completion, schema: dict):
    return float("a" in schema)


@reward
def sometimes(completion, value: float | None):
    return Skip("none") if value is None else value


def lengths(completions, bonus=None):
    return [float(len(c)) for c in completions]


def problems_of(rewards: Any, **kwargs: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        CompositeReward(rewards, **kwargs)
    return [str(p) for p in caught.value.problems]


def completions(*texts: str, **columns: list[Any]) -> list[Completion]:
    return [
        Completion(t, columns={k: v[i] for k, v in columns.items()}) for i, t in enumerate(texts)
    ]


def test_score_tagged_and_untagged_keep_the_order_of_the_rewards():
    composite = CompositeReward({"long": lengths, "right": equals, "again": lengths})

    table = composite.score(completions("aa", "b", answer=["aa", "x"]))

    assert table.names == ("long", "right", "again")
    np.testing.assert_array_equal(table.values, [[2.0, 1.0, 2.0], [1.0, 0.0, 1.0]])


def test_score_no_completions_is_an_empty_table():
    table = CompositeReward({"long": lengths, "right": equals}).score([])

    assert table.values.shape == (0, 2)


def test_score_same_function_under_two_names_has_its_own_options_and_inputs():
    composite = CompositeReward(
        {
            "a": {"use": equals, "inputs": {"answer": "gold"}},
            "b": {"use": equals, "inputs": {"answer": {"value": "x"}}},
        }
    )

    table = composite.score(completions("x", gold=["y"]))

    np.testing.assert_array_equal(table.values, [[0.0, 1.0]])


def test_score_reward_that_edits_what_it_gets_changes_nothing_for_the_next():
    @reward
    def spoil(completion, tests: list):
        tests.append("X")
        completion.columns["tests"] = "X"
        return 1.0

    def spoil_too(completions, prompts, tests):
        tests[0].append("X")
        prompts[0].get("tests").append("X")
        completions.append("X")
        return [1.0]

    @reward
    def sees(completion, tests: list):
        return float(tests == ["t"])

    rows = completions("c", tests=[["t"]])
    before = copy.deepcopy(rows)

    table = CompositeReward({"a": spoil, "b": spoil_too, "c": sees}).score(rows)

    np.testing.assert_array_equal(table.values, [[1.0, 1.0, 1.0]])
    assert rows == before


def test_score_fault_is_named_with_its_row_and_hurts_no_other():
    @reward
    def broken(completion, answer: str):
        return 7 if answer == "bad" else 1

    table = CompositeReward({"x": broken, "long": lengths}).score(
        completions("a", "b", answer=["good", "bad"])
    )

    ((name, row, outcome),) = table.faults()
    assert (name, row) == ("x", 1)
    assert outcome.reason.startswith("returned 7.0, outside its range [0, 1]")
    np.testing.assert_array_equal(table.values, [[1.0, 1.0], [np.nan, 1.0]])


def test_label_names_instance_and_distribution(site):
    site.install("grpo-reward-fake", version="1.2")

    (entry,) = CompositeReward({"right": "fake/answer_equals"}).entries

    assert entry.label == "'right' (grpo-reward-fake 1.2)"


def missing_in(mode: str) -> tuple[list[float | None], list[float]]:
    """Effective values and totals of 1, 0, -, - beside a reward that gives 1 to all."""
    composite = CompositeReward(
        {"a": {"use": sometimes, "missing": mode}, "b": {"use": lengths, "weight": 2.0}}
    )
    table = composite.score(completions("x", "x", "x", "x", value=[1.0, 0.0, None, None]))
    values = composite.effective(table, 4)[:, 0].tolist()
    return values, composite.totals(table, 4).tolist()


def test_totals_neutral_takes_the_mean_of_the_group():
    assert missing_in("neutral") == ([1.0, 0.0, 0.5, 0.5], [3.0, 2.0, 2.5, 2.5])


def test_totals_zero_counts_missing_as_zero():
    assert missing_in("zero") == ([1.0, 0.0, 0.0, 0.0], [3.0, 2.0, 2.0, 2.0])


def test_totals_drop_takes_the_row_out():
    nan = pytest.approx(np.nan, nan_ok=True)

    assert missing_in("drop") == ([1.0, 0.0, nan, nan], [3.0, 2.0, nan, nan])


def test_weights_default_to_one_and_keep_the_order():
    composite = CompositeReward({"a": lengths, "b": {"use": equals, "weight": 0.25}})

    np.testing.assert_array_equal(composite.weights, [1.0, 0.25])


def test_section_object_is_taken_as_it_is():
    composite = CompositeReward({"a": RewardSection(use=equals, weight=0.5)})

    assert composite.weights.tolist() == [0.5]


def test_weight_negative_is_warned_of_once_with_its_names():
    with pytest.warns(
        UserWarning, match="negative weights turn rewards into penalties: b, c"
    ) as said:
        CompositeReward(
            {
                "a": lengths,
                "b": {"use": lengths, "weight": -1},
                "c": {"use": lengths, "weight": -0.5},
            }
        )
    assert [w.filename for w in said] == [__file__]


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf")])
def test_weight_that_is_not_finite_is_refused(weight):
    assert problems_of({"a": {"use": lengths, "weight": weight}}) == [
        f"rewards.a.weight: expected a finite number, got {weight!r}"
    ]


@pytest.mark.parametrize("weight", ["1", True, None, [1.0]])
def test_weight_that_is_no_number_is_refused(weight):
    (text,) = problems_of({"a": {"use": lengths, "weight": weight}})

    assert text == f"rewards.a.weight: Input should be a valid number, got {weight!r}"


def test_weight_all_zero_is_refused():
    assert problems_of(
        {"a": {"use": lengths, "weight": 0}, "b": {"use": lengths, "weight": 0.0}}
    ) == ["rewards: every weight is 0, so nothing can be learnt; set one above 0"]


def test_weight_zero_beside_a_broken_section_is_not_called_all_zero():
    texts = problems_of({"a": {"use": lengths, "weight": 0}, "b": {"use": lengths, "weight": "x"}})

    assert len(texts) == 1


@pytest.mark.parametrize("rewards", [{}, [], None, "fake/answer_equals", [lengths]])
def test_init_without_a_dict_of_rewards_is_refused(rewards):
    (text,) = problems_of(rewards)

    assert text.startswith("rewards: expected a dict of at least one reward by name, got ")


@pytest.mark.parametrize("name", ["", "  ", 5, None])
def test_init_name_that_is_no_text_is_refused(name):
    assert problems_of({name: lengths}) == [
        f"rewards: a reward's name must be a text, got {name!r}"
    ]


@pytest.mark.parametrize("name", ["prompt", "completion", "step", "advantage", "reward", "total"])
def test_init_name_that_the_trainer_uses_is_refused(name):
    assert problems_of({name: lengths}) == [
        f"rewards.{name}: a reward cannot be called {name!r}; the trainer logs under that name"
    ]


@pytest.mark.parametrize("use", [5, None, ["fake/x"]])
def test_init_use_that_is_neither_name_nor_callable_is_refused(use):
    (text,) = problems_of({"a": use})

    assert text.startswith("rewards.a.use: a reward is a name or a callable, got ")


def test_init_all_problems_are_reported_together():
    texts = problems_of(
        {
            "a": "nowhere/to_be_found",
            "b": {"use": equals, "options": {"strip": 1}, "inputs": {"answr": "x"}},
            "c": {"use": lengths, "options": {"x": 1}, "weight": float("nan")},
            "d": {"weight": 1.0},
            "e": max,
        },
        columns=["prompt"],
    )

    assert [t.split(": ")[0] for t in texts] == [
        "rewards.d.use",
        "rewards.a.use",
        "rewards.b.options.strip",
        "rewards.b.inputs.answr",
        "rewards.b.inputs.answer",
        "rewards.c.options",
        "rewards.e.use",
    ]


def test_init_class_that_refuses_its_options_is_reported_with_the_others():
    @reward
    class Band:
        def __init__(self, *, low: int, high: int):
            if low > high:
                raise ValueError("low is above high")

        def __call__(self, completion):
            return 1.0

    texts = problems_of({"a": {"use": Band, "options": {"low": 2, "high": 1}}, "b": "x/y"})

    assert texts[0] == "rewards.a.options: 'band' refuses them: low is above high"
    assert texts[1].startswith("rewards.b.use: no reward 'x/y'")


def test_init_untagged_function_takes_no_inputs():
    (text,) = problems_of({"a": {"use": lengths, "inputs": {"bonus": "x"}}})

    assert text == (
        "rewards.a.inputs: 'lengths' is an untagged function and takes no inputs; put @reward "
        "above it"
    )


def test_check_columns_names_what_tagged_and_untagged_lack():
    def needs(completions, solution):
        return [1.0]

    composite = CompositeReward({"a": equals, "b": needs, "c": lengths})

    texts = [str(p) for p in composite.check_columns(["prompt", "gold"])]

    assert len(texts) == 2
    assert texts[0].startswith("rewards.a.inputs.answer: 'equals' reads column 'answer'")
    assert texts[1].startswith("rewards.b: function 'needs' has a parameter 'solution'")
    assert composite.check_columns(["answer", "solution"]) == []


CONFIG = """
[model]
name = "m"
[data]
path = "d.jsonl"
[rewards.keys]
use = "rewards.py:has_keys"
inputs = { schema = { file = "s.json" } }
"""

FILE_REWARD = """
from grpo_core import reward

@reward
def has_keys(completion, schema: dict):
    return float("a" in schema)
"""


def test_from_config_paths_are_relative_to_the_config(tmp_path, monkeypatch):
    (tmp_path / "c.toml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "rewards.py").write_text(FILE_REWARD, encoding="utf-8")
    (tmp_path / "s.json").write_text('{"a": 1}', encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    composite = CompositeReward.from_config(read_config(tmp_path / "c.toml"))

    assert composite.check_columns(["prompt"]) == []
    np.testing.assert_array_equal(composite.score([Completion("c")]).values, [[1.0]])


def test_describe_holds_what_the_manifest_needs(site):
    site.install("grpo-reward-fake", version="1.2")
    (site.folder / "s.json").write_text('{"a": 1}', encoding="utf-8")
    rewards = {
        "right": {
            "use": "fake/answer_equals",
            "weight": 0.5,
            "options": {"strip": False},
            "inputs": {"answer": "gold"},
            "missing": "drop",
        },
        "keys": {"use": has_keys, "inputs": {"schema": {"file": "s.json"}}},
    }

    described = CompositeReward(rewards, folder=site.folder).describe()

    right = described["right"]
    assert len(right.pop("source_sha256")) == 64
    assert right == {
        "use": "fake/answer_equals",
        "distribution": "grpo-reward-fake",
        "version": "1.2",
        "origin": "grpo-reward-fake 1.2",
        "scope": "sample",
        "weight": 0.5,
        "missing": "drop",
        "policy": {
            "isolation": "process",
            "timeout_s": 10.0,
            "on_timeout": 0.0,
            "on_error": None,
            "retries": 0,
            "concurrency": 8,
            "rate": None,
            "cache": True,
        },
        "inputs": {"answer": "gold"},
        "input_files": {},
        "options": {"strip": False},
    }
    assert described["keys"]["distribution"] is None
    assert described["keys"]["input_files"] == {
        # sha256sum of {"a": 1}
        str(site.folder / "s.json"): (
            "f9d86028c6e0d64e225186f96acb69338b2c59764df79162107f5c4bb34d1310"
        )
    }
    assert json.loads(json.dumps(described)) == described


def test_describe_does_not_follow_what_a_reward_does_to_its_options():
    @reward
    def spoil(completion, *, words: list):
        words.append("X")
        return 1.0

    composite = CompositeReward({"a": {"use": spoil, "options": {"words": ["w"]}}})
    composite.score(completions("c"))

    assert composite.describe()["a"]["options"] == {"words": ["w"]}


def test_init_positive_weights_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        composite = CompositeReward({"a": lengths})

    assert composite.score(completions("c")).outcomes == ([Outcome(1.0)],)
