"""`batch_problems`: batches that do not hold whole groups, and values that do."""

import math

import pytest

from grpo_core.batch import (
    batch_problems,
    eval_batch,
    eval_batch_problems,
    launched_processes,
    listed_numbers,
    rows_problems,
)


def test_batch_of_whole_groups_has_no_problem():
    assert batch_problems({}) == []
    assert (
        batch_problems({"per_device_train_batch_size": 1, "gradient_accumulation_steps": 4}) == []
    )
    assert batch_problems({"generation_batch_size": 16, "num_generations": 16}) == []


def test_batch_that_is_not_whole_names_values_that_are():
    train = {
        "per_device_train_batch_size": 3,
        "gradient_accumulation_steps": 2,
        "num_generations": 4,
    }

    (problem,) = batch_problems(train)

    assert str(problem) == (
        "train.num_generations: 4 does not divide the 6 completions of a batch "
        "(per_device_train_batch_size 3 x 2 x 1 process). Valid with this batch: num_generations "
        "= 2, 3, 6; or keep 4 and set per_device_train_batch_size = 2, 4, 6"
    )


def test_batch_group_of_one_names_values_that_are_valid():
    (problem,) = batch_problems({"num_generations": 1, "gradient_accumulation_steps": 1})

    assert problem.message == (
        "a group needs at least 2 completions to compare, got 1. Valid with this batch: "
        "num_generations = 2, 4, 8"
    )


def test_batch_given_as_a_whole_names_valid_sizes():
    train = {
        "generation_batch_size": 20,
        "per_device_train_batch_size": 8,
        "num_generations": 6,
    }

    size, groups = batch_problems(train)

    assert str(size) == (
        "train.generation_batch_size: expected a multiple of 8 (per_device_train_batch_size 8 x 1 "
        "process), got 20; set generation_batch_size = 24, 48, 72"
    )
    assert str(groups) == (
        "train.num_generations: 6 does not divide the 20 completions of a batch "
        "(generation_batch_size). Valid with this batch: num_generations = 2, 4, 5, 10, 20; or "
        "keep 6 and set generation_batch_size = 24, 48, 72"
    )


def test_batch_given_in_two_ways_is_refused():
    (problem,) = batch_problems({"generation_batch_size": 8, "steps_per_generation": 1})

    assert problem.where == "train.generation_batch_size"


def test_batch_of_one_completion_has_no_valid_group():
    train = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 1}

    assert "num_generations = none; or keep 4 and set" in batch_problems(train)[0].message


@pytest.mark.parametrize("value", ["8", 8.0, True, 0, -1])
def test_batch_numbers_of_another_type_are_left_to_the_trainer(value):
    assert batch_problems({"per_device_train_batch_size": value, "num_generations": 3}) == []


def test_batch_none_counts_as_absent():
    assert batch_problems({"generation_batch_size": None, "steps_per_generation": None}) == []


def numbers_after(text: str, phrase: str) -> list[int]:
    part = text.split(phrase)[1].split(";")[0]
    return [int(n) for n in part.replace("…", "").split(",") if n.strip().isdigit()]


def test_batch_alternatives_are_valid_and_complete_by_brute_force():
    checked = 0
    for per_device in range(1, 7):
        for steps in range(1, 5):
            for group in range(2, 10):
                for world in (1, 2, 3):
                    train = {
                        "per_device_train_batch_size": per_device,
                        "steps_per_generation": steps,
                        "num_generations": group,
                    }
                    batch = per_device * steps * world
                    problems = batch_problems(train, world)
                    assert bool(problems) == (batch % group != 0)
                    if not problems:
                        continue
                    text = problems[0].message
                    groups = [g for g in range(2, batch + 1) if batch % g == 0]
                    sizes = [n for n in range(1, 99) if n * steps * world % group == 0]
                    assert numbers_after(text, "with this batch: num_generations = ") == groups[:12]
                    assert numbers_after(text, "per_device_train_batch_size = ") == sizes[:3]
                    checked += 1
    assert checked > 300


def test_batch_whole_sizes_are_valid_by_brute_force():
    for per_device in range(1, 6):
        for group in range(2, 8):
            for batch in range(1, 30):
                train = {
                    "per_device_train_batch_size": per_device,
                    "generation_batch_size": batch,
                    "num_generations": group,
                }
                problems = batch_problems(train)
                assert bool(problems) == (batch % per_device != 0 or batch % group != 0)
                for problem in problems:
                    sizes = numbers_after(problem.message, "set generation_batch_size = ")
                    assert sizes[0] == math.lcm(per_device, group)
                    assert all(n % per_device == 0 and n % group == 0 for n in sizes)


def test_listed_numbers_are_cut():
    assert listed_numbers(range(1, 15)) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …"
    assert listed_numbers([]) == "none"


@pytest.mark.parametrize(
    ("per_device", "generations", "batch"),
    [(8, 4, 8), (8, 3, 6), (8, 1, 8), (2, 8, 8), (None, 4, 8), ("x", 5, 5)],
)
def test_eval_batch_holds_whole_groups_and_no_more_than_a_training_step(
    per_device, generations, batch
):
    assert eval_batch({"per_device_train_batch_size": per_device}, generations) == batch


@pytest.mark.parametrize(
    ("train", "generations"),
    [
        ({}, 3),
        ({"per_device_eval_batch_size": 6}, 3),
        ({"per_device_eval_batch_size": 4}, None),
        ({"per_device_eval_batch_size": "x"}, 3),
        ({"per_device_eval_batch_size": 5, "num_generations": "x"}, None),
    ],
)
def test_eval_batch_of_whole_groups_or_of_another_type_has_no_problem(train, generations):
    assert eval_batch_problems(train, generations) == []


@pytest.mark.parametrize("batch", [0, 2, 6])
def test_eval_batch_that_is_not_whole_names_values_that_are(batch):
    (problem,) = eval_batch_problems({"per_device_eval_batch_size": batch}, None)

    assert str(problem) == (
        "train.per_device_eval_batch_size: expected a multiple of the 4 completions per prompt of "
        f"an evaluation, got {batch}; leave it out or set it to 4, 8, 12"
    )


@pytest.mark.parametrize(("given", "expected"), [("", 1), ("4", 4), ("0", 1), ("x", 1)])
def test_launched_processes_are_those_of_the_launcher(monkeypatch, given, expected):
    monkeypatch.setenv("WORLD_SIZE", given)

    assert launched_processes() == expected


def test_rows_are_compared_with_the_batch_of_all_processes():
    train = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1}

    assert rows_problems(train, 4, "data", 2) == []  # 16 completions: 4 groups of 4
    (problem,) = rows_problems(train, 4, "data", 3)
    assert problem.message.startswith("a batch takes 6 prompts (24 completions in groups of 4)")
