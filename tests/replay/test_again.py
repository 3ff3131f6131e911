"""Which rewards are called again, and what is compared."""

import dataclasses

import numpy as np
import pytest
from recorded_batches import batch_of

from grpo_core import Completion, CompositeReward, Fail, reward
from grpo_core.outcome import Outcome
from grpo_core.record import to_json
from grpo_core.replay.again import Replay
from grpo_core.replay.compare import compared
from grpo_core.replay.limits import exceeded, read_limits
from grpo_core.replay.report import as_text
from grpo_core.table import ScoreTable

CALLS = []


@reward(isolation="inline")
def first(completion: Completion, *, low: float = 0.0) -> float:
    """1.0 where the text begins with x."""
    CALLS.append("first")
    return 1.0 if completion.text.startswith("x") else low


@reward(isolation="inline")
def second(completion: Completion, given: float | None) -> float:
    """Half of another reward."""
    CALLS.append("second")
    return (given or 0.0) / 2


@reward(isolation="inline", scope="group")
def others(completions: list[Completion]) -> list[float]:
    """Share of the group that has another text."""
    CALLS.append("others")
    texts = [c.text for c in completions]
    return [sum(t != own for t in texts) / len(texts) for own in texts]


@reward(isolation="inline", scope="batch")
def whole(completions: list[Completion]) -> list[float]:
    """How many there are, in a hundred."""
    CALLS.append("whole")
    return [len(completions) / 100] * len(completions)


@reward(isolation="inline")
def broken(completion: Completion) -> Fail:
    """Fails."""
    return Fail("down")


@pytest.fixture(autouse=True)
def calls():
    CALLS.clear()
    return CALLS


def recorded(rewards, texts=("x", "y", "y", "x"), step=1, **changes):
    """A batch in groups of two, scored by the rewards as a run would."""
    composite = CompositeReward(rewards)
    completions = [Completion(t, "p", columns={"prompt": "p"}) for t in texts]
    table = composite.score(completions, group_size=2)
    combined = composite.combined(table, 2)
    CALLS.clear()
    return batch_of(
        step,
        rewards=to_json(composite.describe()),
        counted=composite.counted,
        completions=completions,
        table=table,
        effective=combined.effective,
        weights=composite.weights,
        totals=combined.totals,
        size=len(texts),
        **({"advantages": np.array([0.7, -0.7, -0.7, 0.7])} | changes),
    )


def replayed(batches, rewards, **settings):
    replay = Replay(CompositeReward(rewards), **settings)
    return list(replay.run(batches)), replay.reasons


BOTH = {"a": first, "b": {"use": second, "inputs": {"given": {"reward": "a"}}}}


def test_unchanged_rewards_are_not_called():
    [pair], reasons = replayed([recorded(BOTH)], BOTH)

    assert CALLS == []
    assert reasons == {}
    assert pair.now.table.values.tolist() == [[1.0, 0.5], [0.0, 0.0], [0.0, 0.0], [1.0, 0.5]]


def test_changed_option_calls_the_reward_and_those_that_read_it():
    now = {**BOTH, "a": {"use": first, "options": {"low": 0.5}}}

    [pair], reasons = replayed([recorded(BOTH)], now)

    assert sorted(set(CALLS)) == ["first", "second"]
    assert reasons == {
        "a": "changed: options",
        "b": "another that is scored again is its input or reads it",
    }
    assert pair.now.table.values[:, 0].tolist() == [1.0, 0.5, 0.5, 1.0]
    assert pair.now.table.values[:, 1].tolist() == [0.5, 0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("key", "value"),
    [("on_error", 0.5), ("timeout_s", 3.0), ("inputs", {"given": {"value": 1.0}})],
)
def test_what_decides_a_value_calls_the_reward(key, value):
    rewards = {"b": {"use": second, "inputs": {"given": {"value": 0.5}}, "isolation": "thread"}}

    _, reasons = replayed([recorded(rewards)], {"b": {**rewards["b"], key: value}})

    assert reasons == {"b": f"changed: {key}"}


@pytest.mark.parametrize(
    ("key", "value"),
    [("weight", 2.0), ("missing", "drop"), ("transform", {"clip": [0, 0.5]}), ("shadow", True)],
)
def test_what_decides_the_total_calls_nothing(key, value):
    now = {"a": {"use": first, key: value}, "c": others}

    replayed([recorded({"a": first, "c": others})], now)

    assert CALLS == []


def test_new_rewards_alone_are_called_where_asked():
    now = {"a": {"use": first, "options": {"low": 0.5}}, "c": others}

    [pair], reasons = replayed([recorded({"a": first})], now, rescore="new")

    assert reasons == {"c": "it was not recorded"}
    assert CALLS == ["others"] * 2
    assert pair.now.table.values.tolist() == [[1.0, 0.5], [0.0, 0.5], [0.0, 0.5], [1.0, 0.5]]


def test_all_are_called_where_asked():
    _, reasons = replayed([recorded({"a": first})], {"a": first}, rescore="all")

    assert reasons == {"a": "all are"}
    assert CALLS == ["first"] * 4


def test_reward_of_scope_batch_gets_each_generation():
    batches = [recorded({"a": first}, step=s) for s in (1, 2, 3)]

    pairs, _ = replayed(batches, {"a": first, "w": whole})

    assert CALLS == ["whole"] * 3
    assert [p.now.table.values[0, 1] for p in pairs] == [0.04] * 3


def test_generations_are_scored_at_once_and_come_back_one_by_one():
    batches = [recorded({"a": first}, texts) for texts in (["x"] * 4, ["y"] * 4, ["x", "y"] * 2)]

    pairs, _ = replayed(batches, {"a": first, "c": others})

    assert [p.now.table.values[:, 1].tolist() for p in pairs] == [[0.0] * 4, [0.0] * 4, [0.5] * 4]


def test_reward_that_did_not_run_in_the_mode_is_called():
    before = {"a": first, "c": {"use": others, "modes": ["eval"]}}

    _, reasons = replayed([recorded(before)], {"a": first, "c": others})

    assert reasons == {"c": "it was not recorded"}


def test_weight_of_a_schedule_is_that_of_the_step():
    now = {"a": {"use": first, "weight": {"start": 0.0, "end": 1.0, "steps": 10}}}

    pairs, _ = replayed([recorded({"a": first}, step=s) for s in (1, 6)], now)

    assert [p.now.weights.tolist() for p in pairs] == [[0.0], [0.5]]


def test_other_scale_is_taken():
    [pair], _ = replayed([recorded({"a": first})], {"a": first}, scale="none")

    assert pair.now.advantages.tolist() == [0.5, -0.5, -0.5, 0.5]


def test_part_of_a_generation_is_compared_with_what_it_gives_alone():
    """An advantage that depends on the whole batch cannot come of a part of it."""
    batch = recorded({"a": first}, scale="batch", advantages=np.full(4, 9.0))

    [whole_one], _ = replayed([batch], {"a": first})
    [part], _ = replayed([dataclasses.replace(batch, size=400)], {"a": first})

    assert whole_one.then.advantages.tolist() == [9.0] * 4
    np.testing.assert_array_equal(part.then.advantages, part.now.advantages)


def two_sides():
    """Reward a as it was; now it fails in the first row, and in the second has another value."""
    batch = recorded({"a": first})
    [pair], _ = replayed([batch], {"a": first})
    outcomes = [Outcome(None, "failed", "down"), Outcome(1.0, reason="now"), *[Outcome(0.0)] * 2]
    table = ScoreTable.from_columns(("a",), (outcomes,), [[0.0] * 4], 4)
    now = dataclasses.replace(
        pair.now,
        table=table,
        effective=table.values,
        totals=table.values[:, 0],
        advantages=np.array([0.0, 0.7, -0.7, 0.7]),
    )
    return [dataclasses.replace(pair, now=now)]


def test_comparison_by_hand():
    shown = compared(two_sides(), 1)

    assert (shown["completions"], shown["groups"], shown["steps"]) == (4, 2, 1)
    a = shown["rewards"]["a"]
    assert (a["mean_then"], a["mean_now"]) == (0.5, 1 / 3)
    assert (a["changed"], a["failed_then"], a["failed_now"], a["failed_newly"]) == (3, 0, 1, 1)
    assert shown["advantage"] == {
        "changed": 2,
        "flipped": 1,
        "lost": 1,
        "gained": 0,
        "mean_change": pytest.approx(0.525),
        "max_change": pytest.approx(1.4),
    }
    [row] = shown["rows"]
    assert (row["group"], row["index_in_group"], row["advantage_now"]) == (0, 1, 0.7)
    assert row["now"]["a"] == {"value": 1.0, "status": "scored", "reason": "now"}


def test_report_names_what_changed_most():
    shown = compared(two_sides(), 2)
    shown |= {"run": "runs/x", "mode": "train", "scored_again": {"a": "all are"}, "notes": ["n"]}

    lines = list(as_text(shown))

    assert lines[:3] == [
        "runs/x: 4 completions in 2 groups of 1 step, train",
        "a was scored again: all are",
        "note: n",
    ]
    assert lines[4].split() == ["a", "0.5", "0.3333", "3", "0", "1", "100.0%", "-"]
    assert lines[6] == (
        "advantage: 2 (50.0%) changed; 1 (25.0%) have the other sign, 1 (25.0%) have none any "
        "more, 0 (0.0%) have one now"
    )
    assert lines[8] == ("  step 1, group 0, completion 1: advantage -0.700 -> +0.700, total 0 -> 1")
    assert lines[9:11] == ["    'p' -> 'y'", "    a 0 -> 1  ('now')"]
    assert lines[13] == "    a 1 -> failed  ('down')"


@pytest.mark.parametrize(
    ("limit", "beyond"),
    [
        ("values", "3 of 4 cells whose value is another; at most 0 may be (--fail-on values)"),
        ("values=0.75", None),
        ("values=0.7", "3 of 4 cells whose value is another; at most 0.7 may be"),
        ("failures", "1 of 4 cells that failed or were late, and did not before"),
        ("failures=0.25", None),
        ("totals", "3 of 4 completions whose total is another"),
        ("advantages", "2 of 4 completions whose advantage is another"),
        ("flips", "1 of 4 completions whose advantage has the other sign"),
        ("flips=0.3", None),
    ],
)
def test_limits(limit, beyond):
    found = exceeded(compared(two_sides()), read_limits([limit]))

    assert [f.startswith(beyond) for f in found] == ([True] if beyond else [])


def test_groups_of_two_sizes_are_compared():
    """A run may have gone on with larger groups: two of two, and one of four."""
    batches = [recorded({"a": first}), dataclasses.replace(recorded({"a": first}), group_size=4)]

    pairs, _ = replayed(batches, {"a": {"use": first, "weight": 2.0}}, scale="none")
    shown = compared(pairs)

    assert shown["groups"] == 3
    assert shown["rewards"]["a"]["decides_now"] == pytest.approx(1.0)
    assert pairs[1].now.advantages.tolist() == [1.0, -1.0, -1.0, 1.0]


def test_cells_without_a_value_are_counted_with_the_first_reason():
    replay = Replay(CompositeReward({"a": first, "b": broken}, for_training=False))

    list(replay.run([recorded({"a": first}, step=s) for s in (1, 2)]))

    assert replay.valueless == {"b": (8, 8, "down")}
