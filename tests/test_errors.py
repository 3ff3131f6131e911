"""The exceptions: their texts, and that they survive pickling on the way from a worker."""

import pickle

import pytest

from grpo_core import GrpoError
from grpo_core.errors import (
    ConfigError,
    DataError,
    MissingExtraError,
    PluginError,
    Problem,
    RankError,
    RewardError,
    RunDirError,
    UnknownRewardError,
    listed,
    near,
)


def test_problem_text_with_path_starts_with_it():
    assert str(Problem("train.lr", "expected a number")) == "train.lr: expected a number"


def test_problem_text_without_path_is_the_message():
    assert str(Problem("", "expected a number")) == "expected a number"


def test_config_error_of_one_problem_has_no_heading():
    assert str(ConfigError("no rewards")) == "no rewards"


def test_config_error_of_two_problems_lists_both_under_the_source():
    error = ConfigError([Problem("a.b", "is missing"), Problem("c", "is 3")], "run.toml")

    assert str(error) == "2 problems in run.toml:\n  - a.b: is missing\n  - c: is 3"


def test_config_error_of_one_problem_with_source_names_it():
    assert str(ConfigError("no rewards", "run.toml")) == "1 problem in run.toml:\n  - no rewards"


def test_config_error_pickled_keeps_problems_and_source():
    error = ConfigError([Problem("a", "is 1"), Problem("b", "is 2")], "run.toml")

    back = pickle.loads(pickle.dumps(error))

    assert type(back) is ConfigError
    assert back.problems == (Problem("a", "is 1"), Problem("b", "is 2"))
    assert back.source == "run.toml"
    assert str(back) == str(error)


def test_missing_extra_error_pickled_keeps_the_pip_line():
    back = pickle.loads(pickle.dumps(MissingExtraError("grpo train", "train")))

    assert (back.what, back.extra) == ("grpo train", "train")
    assert str(back) == (
        "grpo train needs the extra 'train', which is not installed. "
        'Install it with: pip install "grpo-core[train]"'
    )


@pytest.mark.parametrize(
    "kind",
    [GrpoError, UnknownRewardError, PluginError, RewardError, DataError, RunDirError, RankError],
)
def test_error_pickled_keeps_class_and_text(kind):
    back = pickle.loads(pickle.dumps(kind("row 3: it's odd")))

    assert type(back) is kind
    assert str(back) == "row 3: it's odd"


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (ConfigError, ValueError),
        (UnknownRewardError, LookupError),
        (DataError, ValueError),
        (MissingExtraError, ImportError),
    ],
)
def test_error_is_caught_as_grpo_error_and_as_its_builtin(kind, builtin):
    assert issubclass(kind, GrpoError)
    assert issubclass(kind, builtin)


def test_near_close_name_is_suggested():
    assert near("wieght", ["weight", "use"]) == " Did you mean 'weight'?"


def test_near_several_close_names_are_joined():
    assert near("tag", ["tags", "tap"]) == " Did you mean 'tags' or 'tap'?"


def test_near_nothing_close_is_empty():
    assert near("zzz", ["weight", "use"]) == ""


def test_listed_names_are_sorted():
    assert listed({"b", "a", "c"}) == "a, b, c"


def test_listed_nothing_says_none():
    assert listed([]) == "none"


def test_listed_too_many_are_cut_and_counted():
    assert listed("dcba", limit=2) == "a, b, … (2 more)"
