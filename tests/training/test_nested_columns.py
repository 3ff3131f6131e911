"""A nested column reaches every reward as the data holds it, in training as outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from datasets import Dataset
from short_runs import column, ours, trained
from test_run import CONFIG, grpo

REWARDS = '''
import json
from typing import Any
from grpo_core import Completion, reward

META = {"level": 3, "tags": [{"a": 1}]}
SEEN = "seen.txt"

def note(text):
    with open(SEEN, "a") as file:
        file.write(text + "\\n")

def untagged(completions, prompts, meta, text, **kwargs):
    right = all(m == META for m in meta) and all(p.get("meta") == META for p in prompts)
    note(f"untagged {right} {set(map(type, text))}")
    return [1.0 for _ in completions]

@reward
def declared(completion: Completion, meta: dict, free: Any, columns_too: list) -> float:
    """Says what its inputs are."""
    kinds = [type(x).__name__ for x in (meta, free, columns_too)]
    note(f"declared {kinds} {meta == META}")
    return 1.0
'''

ROWS = [
    {
        "prompt": f"{i}+1=",
        "meta": {"level": 3, "tags": [{"a": 1}]},
        "free": {"b": 2},
        "columns_too": [[1], ["x"]],
        "text": '{"level": 3}',
    }
    for i in range(8)
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> Path:
    """A folder whose data has nested columns; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "rewards.py").write_text(REWARDS)
    config = CONFIG.format(model=model_folder).replace("is_answer", "untagged")
    config += '\n[rewards.declared]\nuse = "rewards.py:declared"\nisolation = "inline"\n'
    (tmp_path / "run.toml").write_text(config)
    return tmp_path


@pytest.mark.parametrize("evaluation", ["", "\n[eval]\nfraction = 0.25\nnum_generations = 2\n"])
def test_train_nested_columns_reach_rewards_as_the_data_holds_them(project, evaluation):
    with (project / "run.toml").open("a") as file:
        file.write(evaluation)

    result = grpo("train", "run.toml", "--set", "train.max_steps=1")

    assert result.exit_code == 0, result.output
    assert set((project / "seen.txt").read_text().splitlines()) == {
        "untagged True {<class 'str'>}",
        "declared ['dict', 'dict', 'list'] True",
    }


def test_train_eval_with_rows_of_its_own_decodes_its_nested_columns(project):
    # Here `text` is nested, there a text.
    (project / "eval.jsonl").write_text(
        "".join(json.dumps(row | {"prompt": "9+", "text": {"level": 3}}) + "\n" for row in ROWS)
    )
    with (project / "run.toml").open("a") as file:
        file.write('\n[eval]\npath = "eval.jsonl"\nnum_generations = 2\n')

    result = grpo("train", "run.toml", "--set", "train.max_steps=1")

    assert result.exit_code == 0, result.output
    assert {x for x in (project / "seen.txt").read_text().splitlines() if "un" in x} == {
        "untagged True {<class 'str'>}",
        "untagged True {<class 'dict'>}",
    }


def test_trainer_leaves_json_text_of_a_script_alone(small):
    def is_text(completions, meta):
        return [float(isinstance(m, str)) for m in meta]

    dataset = Dataset.from_list([{"prompt": f"{i}+1=", "meta": '{"a": 1}'} for i in range(8)])

    trainer = trained(ours({"is_text": is_text}, dataset, small | {"max_steps": 1}))

    assert column(trainer, "rewards/is_text/mean") == [1.0]


def test_check_says_where_a_text_is_declared_for_a_nested_column(project):
    with (project / "rewards.py").open("a") as file:
        file.write(
            "\n@reward\ndef wants_text(completion: Completion, meta: str) -> float:\n"
            '    """Declares another type."""\n    return 1.0\n'
        )

    result = grpo("check", "run.toml", "--set", "rewards.declared.use=rewards.py:wants_text")

    assert result.exit_code == 2
    assert "expected str, got {'level': 3, 'tags': [{'a': 1}]}" in result.output
