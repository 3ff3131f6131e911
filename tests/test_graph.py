"""Which reward reads which: unknown names, circles, gates that never open."""

from typing import Any

import pytest

from grpo_core.graph import cycle, graph_problems, inputs_from
from grpo_core.sections import RewardSection

RANGES = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (-1.0, 2.0)}


def sections(**tables: dict[str, Any]) -> dict[str, RewardSection]:
    return {name: RewardSection(use="x/y", **table) for name, table in tables.items()}


def problems(**tables: dict[str, Any]) -> list[str]:
    return [str(p) for p in graph_problems(sections(**tables), RANGES)[0]]


def reads(name: str) -> dict[str, Any]:
    return {"inputs": {"correct": {"reward": name}}}


def test_inputs_from_names_the_rewards_and_no_columns():
    (section,) = sections(
        a={"inputs": {"x": "column", "y": {"value": 1}, "z": {"reward": "b"}}}
    ).values()

    assert inputs_from(section) == ("b",)


def test_chain_of_inputs_and_gates_is_no_circle():
    chain = sections(a={}, b=reads("a"), c={"requires": {"a": 0.5, "b": 0.5}})

    assert cycle(chain) == []


@pytest.mark.parametrize(
    ("tables", "path"),
    [
        ({"a": {"requires": {"a": 0.5}}}, ["a", "a"]),
        ({"a": {"requires": {"b": 0.5}}, "b": {"requires": {"a": 0.5}}}, ["a", "b", "a"]),
        ({"x": {}, "a": reads("b"), "b": reads("c"), "c": reads("a")}, ["a", "b", "c", "a"]),
        ({"a": reads("b"), "b": reads("c"), "c": {"requires": {"b": 1}}}, ["b", "c", "b"]),
    ],
)
def test_circle_is_refused_with_its_path(tables, path):
    assert cycle(sections(**tables)) == path
    assert problems(**tables)[-1].startswith(f"rewards.{path[0]}: {' -> '.join(path)}: each reads")


def test_gate_on_an_unknown_reward_gives_near_names():
    assert problems(correct={}, b={"requires": {"corect": 0.5}}) == [
        "rewards.b.requires.corect: there is no reward 'corect'. Did you mean 'correct'? Rewards "
        "are b, correct"
    ]


def test_threshold_above_the_range_never_opens():
    assert problems(a={}, b={"requires": {"a": 1.5}}) == [
        "rewards.b.requires.a: expected at most 1, the highest value of 'a', got 1.5; the gate "
        "would never open"
    ]


def test_threshold_at_the_low_end_is_a_warning():
    wrong, meant = graph_problems(sections(c={}, b={"requires": {"c": -1}}), RANGES)

    assert wrong == []
    assert [str(w) for w in meant] == [
        "rewards.b.requires.c: -1 is the lowest value of 'c': always open"
    ]


@pytest.mark.parametrize("tie", [{"requires": {"a": 0.5}}, reads("a")])
def test_reading_what_does_not_run_is_refused(tie):
    (text,) = problems(a={"modes": ["eval"]}, b=tie)

    assert text == (
        "rewards.b: 'b' runs in train and reads 'a', which does not; give 'a' the modes "
        "['train', 'eval']"
    )


def test_reading_what_runs_more_often_is_fine():
    assert problems(a={"shadow": True}, b={"requires": {"a": 0.5}, "modes": ["eval"]}) == []


def test_reward_that_reads_itself_is_told_once_where_it_is_bound():
    # plan_inputs says it: the reward is not among the others that an input may name.
    assert problems(a=reads("a")) == []
