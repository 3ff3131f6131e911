"""The contract of grpo-core for every reward of the plugin."""

from __future__ import annotations

from grpo_core import Completion
from grpo_core.testing import RewardContract


def of(n, text="a"):
    return Completion(text, token_ids=tuple(range(n)))


class TestSoftLimit(RewardContract):
    reward = "brevity/soft_limit"
    options = {"max_length": 20, "unit": "chars"}
    good = ("four", "It is four.")
    bad = ("", "It is four, and that is so.", " \n")
    attacks = ("", "four " * 100)


class TestLinear(RewardContract):
    reward = "brevity/linear"
    options = {"max_length": 20, "unit": "words"}
    good = ("four", "It is four.")
    bad = ("", "word " * 25)
    attacks = ("", "four " * 100)


class TestCosine(RewardContract):
    reward = "brevity/cosine"
    options = {"max_length": 40, "unit": "chars"}
    inputs = {"correct": 1.0}
    good = ("four",)
    bad = (("four", {"correct": 0.0}), "It is four, since two and two are four.", "")
    attacks = (("", {"correct": 0.0}), ("so " * 100, {"correct": 0.0}))


class TestTarget(RewardContract):
    reward = "brevity/target"
    options = {"target": 4, "alpha": 0.1, "unit": "chars"}
    inputs = {"correct": 1.0, "target_length": None}
    good = ("four", ("eight", {"target_length": 5}))
    bad = (("four", {"correct": 0.0}), "It is four.", "")
    attacks = (("", {"correct": 0.0}), "four " * 100)
    none_inputs = {"target_length": "scored"}


class TestBudget(RewardContract):
    reward = "brevity/budget"
    options = {"budget": 20, "alpha": 0.1, "unit": "chars"}
    inputs = {"correct": 1.0, "target_length": None}
    good = ("four",)
    bad = (("four", {"correct": 0.0}), "It is four, and that is so.", "")
    attacks = (("", {"correct": 0.0}), "four " * 100)
    none_inputs = {"target_length": "scored"}


class TestGroupRelative(RewardContract):
    reward = "brevity/group_relative"
    options = {"unit": "chars"}
    inputs = {"correct": 1.0}
    good = ("four",)
    bad = (("It is four.", {"correct": 0.0}),)


class TestPublishedOverlong(RewardContract):
    reward = "brevity/published_overlong"
    options = {"rule": "trl", "max_length": 20, "cache": 5}
    good = (of(3), of(15))
    bad = (of(20), of(400))
    attacks = (of(5000),)


class TestPublishedCosine(RewardContract):
    reward = "brevity/published_cosine"
    options = {"rule": "open_r1", "max_length": 1000}
    inputs = {"correct": 1.0}
    good = ("four",)
    bad = (("four", {"correct": 0.0}), "It is four. " * 50)
    attacks = (("", {"correct": 0.0}), ("so " * 100, {"correct": 0.0}))
