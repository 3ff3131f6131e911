"""The keys of `[rewards.<name>]` and `[scoring]`: types, ranges, and what a wrong one is told."""

import tomllib
from typing import Any

import pytest

from grpo_core.reader import parse_reward, read_config
from grpo_core.record import to_toml
from grpo_core.sections import RewardSection, WeightSchedule, calls_per_second

BASE = '[model]\nname = "m"\n[data]\npath = "d.jsonl"\n[rewards.a]\nuse = "x/y"\n'


def parsed(lines: str) -> tuple[RewardSection | None, list[str]]:
    """The section of a reward's lines in TOML, and the problems."""
    problems: list[Any] = []
    section = parse_reward(tomllib.loads('use = "x/y"\n' + lines), "rewards.a", problems)
    return section, [str(p) for p in problems]


def section_of(lines: str) -> RewardSection:
    section, problems = parsed(lines)
    assert problems == []
    assert section is not None
    return section


EVERYTHING = """
weight = { start = 0.0, end = 0.1, steps = 200, shape = "cosine", begin = 20 }
transform = { clip = [0, 2], rescale = [-1, 1] }
requires = { format = 0.5, safe = 1 }
otherwise = -1
shadow = true
modes = ["eval"]
isolation = "thread"
timeout_s = 2
on_timeout = "missing"
on_error = 0
retries = 3
concurrency = 16
rate = "60/min"
cache = false
[inputs]
correct = { reward = "right" }
"""


def test_reward_section_takes_every_key():
    section = section_of(EVERYTHING)

    assert section.weight == WeightSchedule(
        start=0.0, end=0.1, steps=200, share=None, shape="cosine", begin=20.0
    )
    assert section.transform is not None
    assert (section.transform.clip, section.transform.rescale) == ((0.0, 2.0), (-1.0, 1.0))
    assert section.requires == {"format": 0.5, "safe": 1.0}
    assert (section.otherwise, section.shadow, section.modes) == (-1.0, True, ["eval"])
    assert (section.isolation, section.timeout_s) == ("thread", 2.0)
    assert (section.on_timeout, section.on_error) == ("missing", 0.0)
    assert (section.retries, section.concurrency, section.rate) == (3, 16, "60/min")
    assert section.cache is False
    assert section.inputs == {"correct": {"reward": "right"}}


def test_reward_section_without_keys_has_the_defaults():
    section = section_of("")

    assert (section.weight, section.transform, section.requires) == (1.0, None, {})
    assert (section.otherwise, section.shadow, section.modes) == (None, False, ["train", "eval"])
    assert (section.isolation, section.timeout_s, section.retries) == (None, None, 0)
    assert (section.on_timeout, section.on_error) == (None, None)
    assert (section.concurrency, section.rate, section.cache) == (None, None, None)


@pytest.mark.parametrize("lines", ["", EVERYTHING], ids=["defaults", "everything"])
def test_reward_section_written_to_a_run_is_read_back_the_same(lines):
    section = section_of(lines)

    text = to_toml(section.model_dump(mode="json", exclude_none=True))
    again, problems = parsed(text.replace('use = "x/y"\n', ""))

    assert problems == []
    assert again == section


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("weight = { start = 0, end = 1 }", "weight: expected a length, either steps = … or"),
        ("weight = { start = 0, end = 1, steps = 9, share = 0.5 }", "weight: expected a length"),
        ("weight = { end = 1, steps = 9 }", "weight.start: is missing"),
        ("weight = { start = 0, end = inf, steps = 9 }", "weight.end: Input should be a finite"),
        (
            "weight = { start = 0, end = 1, step = 9 }",
            "weight.step: unknown key. Did you mean 'steps'?",
        ),
        ("weight = { start = 0, end = 1, steps = 0 }", "weight.steps: Input should be greater"),
        ("weight = { start = 0, end = 1, share = 1.5 }", "weight.share: Input should be less"),
        (
            "weight = { start = 0, end = 1, steps = 9, shape = 'square' }",
            "weight.shape: Input should be 'linear', 'step' or 'cosine', got 'square'",
        ),
        ("transform = {}", "transform: expected clip = [low, high], rescale = [low, high] or bo"),
        ("transform = { clp = [0, 1] }", "transform.clp: unknown key. Did you mean 'clip'?"),
        ("transform = { clip = [1, 0] }", "transform.clip: expected two numbers [low, high], the"),
        ("transform = { rescale = [0, nan] }", "transform.rescale: expected two numbers"),
        ("transform = { rescale = [0, true] }", "transform.rescale: expected two numbers"),
        ("transform = 'clip'", "transform: Input should be a valid dictionary"),
        ("requires = 'format'", "requires: Input should be a valid dictionary, got 'format'"),
        ("requires = { format = 'yes' }", "requires.format: Input should be a valid number"),
        ("otherwise = 'low'", "otherwise: Input should be a valid number, got 'low'"),
        ("shadow = 1", "shadow: Input should be a valid boolean, got 1"),
        ("modes = []", "modes: expected at least 1 entry, got []"),
        ("modes = 'train'", "modes: Input should be a valid list, got 'train'"),
        ("modes = ['test']", "modes.0: Input should be 'train' or 'eval', got 'test'"),
        ("isolation = 'fork'", "isolation: Input should be 'inline', 'thread' or 'process', got"),
        ("timeout_s = 0", "timeout_s: Input should be greater than 0, got 0"),
        ("timeout_s = inf", "timeout_s: Input should be a finite number, got inf"),
        ("on_timeout = 'raise'", "on_timeout: expected 'low', 'missing' or a number, got 'raise'"),
        ("on_error = 'low'", "on_error: expected 'missing', 'raise' or a number, got 'low'"),
        ("on_error = true", "on_error: expected 'missing', 'raise' or a number, got True"),
        ("retries = -1", "retries: Input should be greater than or equal to 0, got -1"),
        ("retries = 1.5", "retries: Input should be a valid integer, got 1.5"),
        ("concurrency = 0", "concurrency: Input should be greater than or equal to 1, got 0"),
        ("rate = '5/m'", 'rate: expected calls a second above 0, or a text such as "5/s", '),
        ("rate = 0", "rate: expected calls a second above 0"),
        ("cache = 'yes'", "cache: Input should be a valid boolean, got 'yes'"),
        ("max_failed = 0.1", "max_failed: belongs into [scoring], since it is of all rewards"),
        ("timeout = 2", "timeout: unknown key. Did you mean 'timeout_s' or"),
    ],
)
def test_reward_section_fault_is_named(line, problem):
    _, (text,) = parsed(line)

    assert text.startswith(f"rewards.a.{problem}")


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("60/min", 1.0), ("5/s", 5.0), ("9/h", 0.0025), (" 0.5 / s ", 0.5), (4, 4.0), (0.25, 0.25)],
)
def test_calls_per_second_reads_texts_and_numbers(rate, expected):
    assert calls_per_second(rate) == expected


@pytest.mark.parametrize("rate", ["60", "/s", "1/day", "-1/s", "0/s", 0, -1, True, float("nan")])
def test_calls_per_second_refuses_all_else(rate):
    with pytest.raises(ValueError, match="expected calls a second above 0"):
        calls_per_second(rate)


def test_scoring_section_is_read(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(BASE + "[scoring]\nmax_failed = 0.25\nworkers = 2\nmemory_mb = 512\n")

    scoring = read_config(path).scoring

    assert (scoring.max_failed, scoring.batch_timeout_s) == (0.25, 300.0)
    assert (scoring.workers, scoring.memory_mb) == (2, 512)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[scoring]\nmax_failed = 1.5\n", "scoring.max_failed: Input should be less than or equal"),
        ("[scoring]\nbatch_timeout_s = 0\n", "scoring.batch_timeout_s: Input should be greater"),
        ("[scoring]\nworkers = 0\n", "scoring.workers: Input should be greater than or equal to 1"),
        ("[scoring]\nmemory_mb = 8\n", "scoring.memory_mb: Input should be greater than or equal"),
        ("[scoring]\nworker = 2\n", "scoring.worker: unknown key. Did you mean 'workers'?"),
        (
            "[scoring]\ntimeout_s = 2\n",
            "scoring.timeout_s: belongs into [rewards.<name>], since it is of one reward",
        ),
        ("[train]\nmax_failed = 0.5\n", "train.max_failed: belongs into [scoring], not into"),
        ("[train]\nbatch_timeout_s = 9\n", "train.batch_timeout_s: belongs into [scoring], not"),
        ("[train]\nworkers = 2\n", "train.workers: belongs into [scoring], not into [train]"),
    ],
)
def test_scoring_fault_is_named(tmp_path, text, problem):
    path = tmp_path / "run.toml"
    path.write_text(BASE + text)

    with pytest.raises(ValueError, match="1 problem in") as caught:
        read_config(path)
    [found] = caught.value.problems

    assert str(found).startswith(problem)
