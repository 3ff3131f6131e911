"""`CompositeReward`: the graph, gates, shadows, failures, groups and the cache."""

import math
from typing import Any

import numpy as np
import pytest

from grpo_core import Completion, CompositeReward, Fail, reward
from grpo_core.errors import ConfigError, RewardError
from grpo_core.outcome import Outcome

CALLS: list[str] = []


@reward(range=(0.0, 1.0), isolation="inline")
def correct(completion: Completion, answer: str) -> float | Fail | None:
    CALLS.append(completion.text)
    if completion.text == "broken":
        return Fail("no gold")
    if completion.text == "n/a":
        return None
    return float(completion.text == answer)


@reward(range=(-1.0, 1.0), isolation="inline")
def brief(completion: Completion, correct: float | None = None) -> float:
    if correct is None:
        return 0.0
    return 1.0 if correct else -1.0


@reward(range=(0.0, 1.0), isolation="inline")
def needs_it(completion: Completion, correct: float) -> float:
    return correct / 2


@reward(range=(0.0, 1.0), isolation="inline")
def starts_with_a(completion: Completion) -> float:
    return float(completion.text.startswith("a"))


@reward(range=(-2.0, 2.0), scope="group", isolation="inline")
def above_the_group(completions: list[Completion]) -> list[float]:
    """Length minus the mean length of the group."""
    assert [c.index_in_group for c in completions] == list(range(len(completions)))
    assert {c.group_size for c in completions} == {len(completions)}
    mean = sum(len(c.text) for c in completions) / len(completions)
    return [len(c.text) - mean for c in completions]


@reward(range=(0.0, 1.0), scope="batch", isolation="inline")
def nth_answer(completions: list[Completion], answer: list[str]) -> list[float]:
    """Share of the batch that has the same answer."""
    return [answer.count(a) / len(answer) for a in answer]


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def rows(*texts: str, answer: str | None = "ab") -> list[Completion]:
    return [Completion(t, columns={"answer": answer}) for t in texts]


def values(composite: CompositeReward, completions: list[Completion], **kwargs: Any) -> Any:
    table = composite.score(completions, **kwargs)
    return {n: [o.value for o in c] for n, c in zip(table.names, table.outcomes, strict=True)}


def test_input_of_another_reward_is_its_value_and_it_is_evaluated_once():
    composite = CompositeReward(
        {
            "brief": {"use": brief, "inputs": {"correct": {"reward": "right"}}},
            "half": {"use": needs_it, "inputs": {"correct": {"reward": "right"}}},
            "right": correct,
        }
    )

    found = values(composite, rows("ab", "xx", "n/a", "broken"))

    assert found == {
        "brief": [1.0, -1.0, 0.0, 0.0],
        "half": [0.5, 0.0, None, None],
        "right": [1.0, 0.0, None, None],
    }
    assert CALLS == ["ab", "xx", "n/a", "broken"]


def test_input_of_a_reward_that_failed_is_missing_and_says_why():
    composite = CompositeReward(
        {"right": correct, "half": {"use": needs_it, "inputs": {"correct": {"reward": "right"}}}}
    )

    outcomes = composite.score(rows("broken")).outcomes[1]

    assert outcomes == [Outcome(None, "skipped", "input 'correct': reward 'right' failed: no gold")]


def test_circle_and_unknown_names_are_refused_at_once():
    with pytest.raises(ConfigError) as caught:
        CompositeReward(
            {
                "a": {"use": brief, "inputs": {"correct": {"reward": "b"}}},
                "b": {"use": brief, "inputs": {"correct": {"reward": "a"}}},
                "c": {"use": brief, "inputs": {"correct": {"reward": "d"}}},
            }
        )

    text = str(caught.value)
    assert "a -> b -> a" in text
    assert "rewards.c.inputs.correct: expected the name of another reward, got 'd'" in text


def test_gate_gives_the_low_end_where_it_is_closed_and_misses_where_it_is_missing():
    composite = CompositeReward(
        {
            "right": correct,
            "a": {"use": starts_with_a, "requires": {"right": 1.0}},
            "other": {"use": brief, "requires": {"right": 0.5}, "otherwise": -0.5},
        }
    )
    table = composite.score(rows("ab", "ax", "n/a", "ab"))

    combined = composite.combined(table, group_size=1)

    nan = math.nan
    expected = [[1.0, 1.0, 0.0], [0.0, 0.0, -0.5], [nan, nan, nan], [1.0, 1.0, 0.0]]
    np.testing.assert_array_equal(combined.effective, expected)
    assert combined.closed.tolist() == [
        [False, False, False],
        [False, True, True],
        [False, False, False],
        [False, False, False],
    ]


def test_transform_comes_before_the_gate_whose_low_end_it_moves():
    composite = CompositeReward(
        {
            "right": correct,
            "length": {
                "use": above_the_group,
                "transform": {"clip": (-1.0, 1.0), "rescale": (0.0, 4.0)},
                "requires": {"right": 1.0},
            },
        }
    )
    completions = rows("ab", "abcd", "ab", "abc") + rows("ab", "ab", "ab", "ab")
    completions[3] = Completion("abc", columns={"answer": "abc"})
    table = composite.score(completions, group_size=4)

    effective = composite.effective(table, group_size=4)

    # Lengths 2 4 2 3, mean 2.75: -0.75 1.25 -0.75 0.25; clipped and mapped from [-1, 1] to [0, 4].
    assert effective[:4, 1].tolist() == [0.5, 0.0, 0.5, 2.5]
    assert effective[4:, 1].tolist() == [2.0] * 4


def test_shadow_is_scored_and_no_column():
    plain = CompositeReward({"right": correct, "a": starts_with_a})
    shadowed = CompositeReward(
        {
            "seen": {"use": brief, "shadow": True, "weight": 7.0},
            "right": correct,
            "a": starts_with_a,
        }
    )
    completions = rows("ab", "ax", "n/a", "x")

    with_shadow, without = shadowed.score(completions), plain.score(completions)

    assert with_shadow.names == ("seen", "right", "a")
    assert shadowed.counted == (1, 2)
    assert shadowed.weights.tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(shadowed.effective(with_shadow, 4), plain.effective(without, 4))
    np.testing.assert_array_equal(shadowed.totals(with_shadow, 4), plain.totals(without, 4))


def test_only_shadows_are_refused():
    with pytest.raises(ConfigError, match="every reward is a shadow or runs in evaluations only"):
        CompositeReward({"a": {"use": starts_with_a, "shadow": True}})


def test_mode_leaves_a_reward_out():
    composite = CompositeReward({"right": correct, "a": {"use": starts_with_a, "modes": ["eval"]}})

    assert values(composite, rows("ab"), mode="train")["a"] == [None]
    assert values(composite, rows("ab"), mode="eval")["a"] == [1.0]
    assert values(composite, rows("ab"))["a"] == [1.0]
    assert (composite.ran("train"), composite.ran("eval")) == ((0,), (0, 1))


def test_group_scope_sees_whole_groups():
    composite = CompositeReward({"length": above_the_group})

    by_size = values(composite, rows("a", "abc", "abcd", "ab"), group_size=2)
    placed = [Completion(t, group=g) for t, g in [("a", 7), ("abc", 7), ("abcd", 9), ("ab", 9)]]

    assert by_size == {"length": [-1.0, 1.0, 1.0, -1.0]}
    assert values(composite, placed) == by_size


def test_group_scope_without_groups_is_refused():
    with pytest.raises(ConfigError, match="scores whole groups, and no groups are known"):
        CompositeReward({"length": above_the_group}).score(rows("a", "b"))


@pytest.mark.parametrize("size", [0, 3])
def test_group_size_that_leaves_a_part_is_refused(size):
    with pytest.raises(ConfigError, match=f"a divisor of the 4 completions, got {size}"):
        CompositeReward({"length": above_the_group}).score(rows(*"abcd"), group_size=size)


def test_groups_that_lie_apart_are_refused():
    apart = [Completion("a", group=1), Completion("b", group=2), Completion("c", group=1)]

    with pytest.raises(ConfigError, match="must be neighbours"):
        CompositeReward({"length": above_the_group}).score(apart)


def test_batch_scope_gets_lists_without_the_rows_that_lack_an_input():
    composite = CompositeReward({"n": nth_answer})
    completions = rows("x", "y", answer="1") + rows("z", answer=None) + rows("z", answer="2")

    table = composite.score(completions)

    assert [o.value for o in table.outcomes[0]] == [2 / 3, 2 / 3, None, 1 / 3]
    assert table.outcomes[0][2].status == "skipped"


@pytest.mark.parametrize(
    ("on_error", "value"), [(None, None), ("missing", None), (0.25, 0.25), (1, 1.0)]
)
def test_failed_cell_takes_on_error(on_error, value):
    composite = CompositeReward({"right": {"use": correct, "on_error": on_error}})

    (outcome,) = composite.score(rows("broken")).outcomes[0]

    assert outcome == Outcome(value, "failed", "no gold")


def test_failed_cell_with_on_error_raise_stops_with_the_row():
    composite = CompositeReward({"right": {"use": correct, "on_error": "raise"}})

    with pytest.raises(RewardError, match=r"'right' .* failed on 1 of 2 completions:\n  row 1: no"):
        composite.score(rows("ab", "broken"))


def test_budget_counts_what_failed_and_nothing_that_was_skipped():
    completions = rows("broken", "n/a", "n/a", "ab")
    within = CompositeReward({"right": correct}, max_failed=0.25)
    beyond = CompositeReward({"right": correct}, max_failed=0.2)

    within.check_budget(within.score(completions))

    with pytest.raises(RewardError, match=r"failed on 1 of 4(?s:.*)more than max_failed = 0.2 of"):
        beyond.check_budget(beyond.score(completions))


def test_budget_blames_what_held_the_workers_and_not_what_it_held_up(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import time\n"
        "from grpo_core import reward\n\n"
        "@reward(timeout_s=600.0)\n"
        "def hangs(completion):\n"
        "    time.sleep(600)\n"
        "    return 1.0\n\n"
        "@reward\n"
        "def right(completion):\n"
        "    time.sleep(0.02)\n"
        "    return 1.0\n"
    )
    composite = CompositeReward(
        {"j": "mine.py:hangs", "right": "mine.py:right"},
        folder=tmp_path,
        batch_timeout_s=6.0,  # a worker starts in that time
        workers=1,
        max_failed=0.0,
    )

    table = composite.score(rows(*"abcdefgh"))
    composite.close()

    ran, *never = table.outcomes[0]
    assert ran == Outcome(None, "timed_out", "the batch took longer than 6 s")
    reason = "not begun when the batch's 6 s were over"
    assert never == [Outcome(None, "timed_out", reason)] * 7
    reason += "; the workers were busy with reward 'j'"
    assert table.outcomes[1][7] == Outcome(None, "timed_out", reason, held_up=True)
    with pytest.raises(RewardError, match=r"reward 'j' .* on 8 of 8") as caught:
        composite.check_budget(table)
    assert "'right'" not in str(caught.value)


def test_budget_leaves_shadows_alone():
    composite = CompositeReward(
        {"right": {"use": correct, "shadow": True}, "a": starts_with_a}, max_failed=0.0
    )

    composite.check_budget(composite.score(rows("broken", "broken")))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"max_failed": 1.5}, "max_failed: expected a share of a batch, from 0 to 1, got 1.5"),
        ({"batch_timeout_s": 0}, "batch_timeout_s: expected seconds above 0, got 0"),
        ({"workers": 0}, "workers: expected 1 or more, got 0"),
        ({"memory_mb": 1}, "memory_mb: expected 64 or more, got 1"),
    ],
)
def test_limit_that_cannot_be_is_named(given, text):
    with pytest.raises(ConfigError, match=text):
        CompositeReward({"a": starts_with_a}, **given)


def test_cache_calls_once_for_equal_rows_of_this_and_earlier_batches():
    composite = CompositeReward({"right": {"use": correct, "cache": True}})

    first = composite.score(rows("ab", "x", "ab"))
    second = composite.score(rows("x", "ab", "y"))

    assert CALLS == ["ab", "x", "y"]
    assert [o.value for o in first.outcomes[0]] == [1.0, 0.0, 1.0]
    assert [o.value for o in second.outcomes[0]] == [0.0, 1.0, 0.0]
    assert (first.n_cached, second.n_cached) == ((1,), (2,))


def test_cache_keeps_no_failure():
    composite = CompositeReward({"right": {"use": correct, "cache": True}})

    composite.score(rows("broken"))
    composite.score(rows("broken"))

    assert CALLS == ["broken", "broken"]


def test_weights_at_follow_their_schedules():
    composite = CompositeReward(
        {
            "right": correct,
            "a": {"use": starts_with_a, "weight": {"start": 0.0, "end": 1.0, "steps": 4}},
            "b": {"use": brief, "weight": {"start": 1.0, "end": 0.0, "share": 0.5}},
        }
    )

    assert composite.weights_at(0, 20).tolist() == [1.0, 0.0, 1.0]
    assert composite.weights_at(3, 20).tolist() == pytest.approx([1.0, 0.75, 0.7])
    assert composite.weights_at(15, 20).tolist() == [1.0, 1.0, 0.0]
    assert composite.weights.tolist() == [1.0, 1.0, 0.0]
