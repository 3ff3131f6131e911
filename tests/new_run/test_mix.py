"""The starter mix of `grpo new run`: which rewards it takes, behind which gates."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from grpo_core import Completion, CompositeReward
from grpo_core.catalog import Catalog
from grpo_core.new_run.data import look_at_data
from grpo_core.new_run.mix import starter_rewards
from grpo_core.new_run.model import look_at_model
from grpo_core.new_run.rewards import Chosen
from grpo_core.new_run.text import config_text
from grpo_core.new_run.training import plan_training
from grpo_core.sections import DataSection

ALL = "grpo-reward-format,grpo-reward-math,grpo-reward-brevity,grpo-reward-safety"
MORE = f"{ALL},grpo-reward-schema,grpo-reward-code"

GSM8K = {"question": "2+3?", "answer": "We add 2 and 3: <<2+3=5>>5\n#### 5"}
PROMPT = {"prompt": "Write a poem."}
UNREADABLE = {"prompt": "2+3?", "answer": {"value": 5}}

SHORT = {"max_length": 25, "zero_length": 100}
FORMAT = ("format", "format/tags", 0.3, {})
CORRECT = ("correct", "math/answer_equals", 0.5, {})
BY_CORRECT = {"correct": 1.0}
BY_FORMAT = {"format": 1.0}

CASES = {
    "all": (
        GSM8K,
        MORE,
        [
            FORMAT,
            CORRECT,
            ("brevity", "brevity/linear", 0.1, BY_CORRECT),
            ("safety", "safety/clean", 0.1, BY_CORRECT),
        ],
    ),
    "no gold": (
        PROMPT,
        MORE,
        [
            FORMAT,
            ("brevity", "brevity/linear", 0.1, BY_FORMAT),
            ("safety", "safety/clean", 0.1, BY_FORMAT),
        ],
    ),
    "gold that math cannot read": (
        UNREADABLE,
        ALL,
        [
            FORMAT,
            ("brevity", "brevity/linear", 0.1, BY_FORMAT),
            ("safety", "safety/clean", 0.1, BY_FORMAT),
        ],
    ),
    "no format": (
        GSM8K,
        "grpo-reward-math,grpo-reward-brevity",
        [CORRECT, ("brevity", "brevity/linear", 0.1, BY_CORRECT)],
    ),
    "no brevity, no safety": (GSM8K, "grpo-reward-format,grpo-reward-math", [FORMAT, CORRECT]),
    "one alone counts as 1": (
        GSM8K,
        "grpo-reward-math",
        [("correct", "math/answer_equals", 1.0, {})],
    ),
    "length is not what is right": (
        {"prompt": "2+3?", "correct": 1.0},
        "grpo-reward-format,grpo-reward-brevity",
        [FORMAT, ("brevity", "brevity/linear", 0.1, BY_FORMAT)],
    ),
    "nothing fits": (PROMPT, "grpo-reward-schema", []),
}


def chosen(row: dict, plugins: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Chosen]:
    monkeypatch.setenv("GRPO_CORE_PLUGINS", plugins)
    return starter_rewards(Catalog(), data_of(row, folder), folder, 100)[0]


def data_of(row: dict, folder: Path):
    (folder / "rows.py").write_text(f"def rows():\n    return [{row!r}] * 8\n")
    return look_at_data(DataSection(path="rows.py:rows"), folder, None, None)


@pytest.mark.parametrize(("row", "plugins", "expected"), CASES.values(), ids=CASES.keys())
def test_mix_takes_what_is_installed_and_fits(row, plugins, expected, monkeypatch, tmp_path):
    found = chosen(row, plugins, monkeypatch, tmp_path)

    assert [(one.name, one.use, one.weight, one.requires) for one in found] == expected


def test_mix_brevity_is_in_tokens_of_the_reply(monkeypatch, tmp_path):
    [brevity] = [one for one in chosen(GSM8K, ALL, monkeypatch, tmp_path) if one.name == "brevity"]

    assert brevity.options == SHORT


def test_mix_other_reward_that_reads_a_column_is_the_gate(site, monkeypatch, tmp_path):
    source = (
        "from grpo_core import hookimpl, reward\n"
        "@reward(range=(0.0, 1.0))\ndef same(completion, answer: str) -> float:\n"
        "    'Is it.'\n    return 1.0\n"
        "@hookimpl\ndef grpo_rewards():\n    return [same]\n"
    )
    site.install("acme-same", source, entry="acme")

    found = chosen(GSM8K, "acme-same,grpo-reward-safety", monkeypatch, tmp_path)

    assert [(one.use, one.weight, one.requires) for one in found] == [
        ("acme/same", 0.5, {}),
        ("safety/clean", 0.1, BY_CORRECT),
    ]


def test_mix_reward_whose_best_is_not_1_is_no_gate(site, monkeypatch, tmp_path):
    source = (
        "from grpo_core import hookimpl, reward\n"
        "@reward(range=(0.0, 10.0))\ndef stars(completion, answer: str) -> float:\n"
        "    'Stars.'\n    return 1.0\n"
        "@hookimpl\ndef grpo_rewards():\n    return [stars]\n"
    )
    site.install("acme-stars", source, entry="acme")

    found = chosen(GSM8K, "acme-stars,grpo-reward-safety", monkeypatch, tmp_path)

    assert [one.use for one in found] == ["acme/stars"]


def test_mix_as_it_is_written_pays_nothing_for_silence_and_refusals(monkeypatch, tmp_path):
    monkeypatch.setenv("GRPO_CORE_PLUGINS", ALL)
    data = data_of(GSM8K, tmp_path)
    found, _ = starter_rewards(Catalog(), data, tmp_path, 100)
    text = config_text(data, look_at_model("m", tmp_path), plan_training(8, None), found, [])
    composite = CompositeReward(tomllib.loads(text)["rewards"])
    texts = {
        "": 0,
        ".": 1,
        "I can't help with that.": 6,
        "<think>no</think><answer>6</answer>": 20,
        "<think>2+3=5</think><answer>5</answer>": 25,
        "<think>2+3=5 </think><answer>5</answer>": 70,
    }
    group = [
        Completion(t, columns={"answer": GSM8K["answer"]}, token_ids=list(range(n)))
        for t, n in texts.items()
    ]

    totals = composite.totals(composite.score(group), group_size=len(group))

    # Silence, a dot and a refusal; the form; all of it; all but 0.6 of brevity, 45 of 75 over.
    assert totals.round(6).tolist() == [0.0, 0.0, 0.0, 0.3, 1.0, 0.94]
