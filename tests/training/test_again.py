"""The config in a run's directory trains the same run again, from any folder."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app
from grpo_core.reader import read_config
from grpo_core.training.again import portable

CONFIG = """
[model]
name = "../models/tiny"

[data]
path = "{data}"

[eval]
path = "../data/test.jsonl"

[rewards.known]
use = "code/judge.py:Known.listed"
inputs = {{ words = {{ file = "words.json" }}, language = {{ value = "file" }} }}

[rewards.format]
use = "format/tags"

[train]
max_steps = 1
per_device_train_batch_size = 8
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 8
logging_steps = 1
seed = 7

[run]
dir = "runs/first"
"""

JUDGE = '''
from grpo_core import Completion, reward

class Known:
    @staticmethod
    @reward
    def listed(completion: Completion, answer: str, words: list[str], language: str) -> float:
        """The share of the words in the text."""
        return sum(word in completion.text for word in words) / len(words)
'''

ROWS = """
from numbers_here import NUMBERS

def rows():
    return [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in NUMBERS]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> Iterator[Path]:
    """A folder with the config and the code in a folder of their own inside."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/tiny").symlink_to(model_folder)
    (tmp_path / "data").mkdir()
    rows = [{"prompt": f"{i}-1=", "answer": str(i - 1)} for i in range(2)]
    (tmp_path / "data/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    configs = tmp_path / "configs"
    (configs / "code").mkdir(parents=True)
    (configs / "code/judge.py").write_text(JUDGE)
    (configs / "words.json").write_text('["a", "7", "+"]')
    (configs / "my_rows.py").write_text(ROWS)
    (configs / "numbers_here.py").write_text("NUMBERS = range(8)\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget(tmp_path)


def forget(folder: Path) -> None:
    """Forgets the modules of the folder, as a new process has."""
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


def metrics(run: Path) -> list[dict[str, Any]]:
    """What was logged, but for times."""
    return [
        {k: v for k, v in json.loads(line).items() if not re.search("time|second", k)}
        for line in (run / "metrics.jsonl").read_text().splitlines()
    ]


@pytest.mark.parametrize("data", ["my_rows.py:rows", "my_rows:rows"])
def test_config_of_a_run_trains_it_again_from_another_folder(folder, monkeypatch, data):
    (folder / "configs/run.toml").write_text(CONFIG.format(data=data))

    first = CliRunner().invoke(app, ["train", "configs/run.toml"])
    forget(folder)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    again = CliRunner().invoke(app, ["train", "../runs/first/config.toml"])

    assert first.exit_code == 0, first.output
    assert again.exit_code == 0, again.output
    before = metrics(folder / "runs/first")
    assert before[1]["rewards/known/mean"] > 0
    assert metrics(folder / "elsewhere/runs/config-001") == before


def test_portable_config_of_a_run_is_its_own(folder):
    (folder / "configs/run.toml").write_text(CONFIG.format(data="my_rows.py:rows"))
    CliRunner().invoke(app, ["train", "configs/run.toml"])
    forget(folder)
    CliRunner().invoke(app, ["train", "runs/first/config.toml", "--set", "run.dir=second"])

    first, second = (folder / d / "config.toml" for d in ("runs/first", "second"))
    assert second.read_text() == first.read_text()
    assert "run" not in tomllib.loads(first.read_text())


def test_portable_paths_are_absolute_and_other_names_stay(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "data"))
    (folder / "configs/run.toml").write_text(
        '[model]\nname = "owner/model"\n[data]\npath = "owner/rows"\nsplit = "train"\n'
        '[eval]\npath = "~/test.jsonl"\n'
        '[rewards.a]\nuse = "format/tags"\n[rewards.b]\nuse = "package.module:attr"\n'
        '[rewards.c]\nuse = "/else/where.py:attr"\ninputs = { answer = "file" }\n'
    )

    tables = portable(read_config("configs/run.toml"))

    assert tables["model"] == {"name": "owner/model"}
    assert tables["data"] == {"path": "owner/rows", "split": "train"}
    assert tables["eval"] == {"path": str(folder / "data/test.jsonl")}
    assert [reward["use"] for reward in tables["rewards"].values()] == [
        "format/tags",
        "package.module:attr",
        "/else/where.py:attr",
    ]
    assert tables["rewards"]["c"]["inputs"] == {"answer": "file"}


def test_portable_files_of_train_are_absolute_and_tables_stay(folder):
    (folder / "configs/run.toml").write_text(
        '[model]\nname = "owner/model"\n[data]\npath = "owner/rows"\n'
        '[rewards.a]\nuse = "format/tags"\n'
        '[train]\ndeepspeed = "zero2.json"\nfsdp_config = { version = 2 }\n'
    )

    train = portable(read_config("configs/run.toml"))["train"]

    assert train["deepspeed"] == str(folder / "configs/zero2.json")
    assert train["fsdp_config"] == {"version": 2}
