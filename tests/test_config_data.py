"""`[data]` and `[eval]` of a config: their keys, and the evaluation's columns and batch."""

from typing import Any

import pytest
from test_config import GOOD, File

from grpo_core.catalog import Catalog
from grpo_core.config import validate
from grpo_core.reader import read_draft


@pytest.fixture
def file(tmp_path: Any) -> File:
    return File(tmp_path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fraction = 1", "eval.fraction: Input should be less than 1, got 1"),
        ("fraction = 0.0", "eval.fraction: Input should be greater than 0, got 0.0"),
        ("every = 0", "eval.every: Input should be greater than or equal to 1, got 0"),
        ("fractoin = 0.1", "eval.fractoin: unknown key. Did you mean 'fraction'?"),
    ],
)
def test_read_fault_of_the_evaluation_is_named(file, text, problem):
    (found,) = file.problems(f"{GOOD}[eval]\n{text}\n")

    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("limit = 0", "data.limit: Input should be greater than or equal to 1, got 0"),
        ("limit = 1.5", "data.limit: Input should be a valid integer, got 1.5"),
        ("seed = -1", "data.seed: Input should be greater than or equal to 0, got -1"),
        ("split = ''", "data.split: expected a text that is not empty, got ''"),
        ("name = 5", "data.name: Input should be a valid string, got 5"),
        ("fraction = 0.1", "data.fraction: unknown key."),
        ("system = ''", "data.system: expected a text; leave it out for no system message, got ''"),
        ("system = ' '", "data.system: expected a text; leave it out for no system message, got"),
    ],
)
def test_read_fault_of_the_data_is_named(file, line, problem):
    (text,) = file.problems(GOOD.replace("[data]\n", f"[data]\n{line}\n"))

    assert text.startswith(problem)


def test_read_data_and_eval_keep_their_keys(file):
    config = file.read(
        GOOD.replace("[data]\n", "[data]\nsplit = 'a'\nname = 'b'\nlimit = 5\nseed = 0\n")
        + "[eval]\nfraction = 0.25\nevery = 20\nnum_generations = 1\n"
    )

    assert (config.data.split, config.data.name) == ("a", "b")
    assert (config.data.limit, config.data.seed) == (5, 0)
    assert (config.eval.fraction, config.eval.every, config.eval.num_generations) == (0.25, 20, 1)


EVAL = "[eval]\npath = 'e.jsonl'\nnum_generations = 3\n"


def test_validate_columns_that_only_the_evaluation_lacks_are_named(file, site):
    site.install("grpo-reward-fake")
    file.path.write_text(GOOD + EVAL, encoding="utf-8")
    draft = read_draft(file.path)

    texts = [str(p) for p in validate(draft, Catalog(), ["prompt", "answer"], ["prompt"])]

    assert [t[:87] for t in texts] == [
        "rewards.right.inputs.answer: in the rows of [eval]: 'answer_equals' reads column 'answe"
    ]


def test_validate_column_that_both_lack_is_named_once(file, site):
    site.install("grpo-reward-fake")
    file.path.write_text(GOOD + EVAL, encoding="utf-8")

    problems = validate(read_draft(file.path), Catalog(), ["prompt"], ["prompt"])

    assert [p.where for p in problems] == ["rewards.right.inputs.answer"]


def test_validate_evaluation_batch_without_whole_groups_names_valid_ones(file, site):
    site.install("grpo-reward-fake")

    (text,) = file.found(GOOD + "per_device_eval_batch_size = 8\n" + EVAL, ["prompt", "answer"])

    assert text == (
        "train.per_device_eval_batch_size: expected a multiple of the 3 completions per prompt of "
        "an evaluation, got 8; leave it out or set it to 3, 6, 9"
    )
