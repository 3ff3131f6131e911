"""Folders in which `grpo score --data` and `grpo check` are run, and what came of it."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import check_project
import pytest

from grpo_core import cli

REWARDS = """
import os
from pathlib import Path
from grpo_core import Score, reward

print("noise of the import")

@reward
def says(completion, answer: str, weight: float = 1.0, *, strip: bool = False):
    print("noise of the call")
    text = completion.text.strip() if strip else completion.text
    return Score(weight * (text == answer), f"gold {answer}", {"n": len(text)})

@reward
def asks(completion):
    return Score(1.0, completion.prompt)

@reward
def breaks(completion):
    if completion.text == "4":
        raise RuntimeError("boom")
    return 1.0

@reward
def loops(completion):
    while completion.text == "4":
        pass
    return 1.0

@reward(scope="group")
def longest(completions):
    return [1.0 * (len(c.text) == max(len(c.text) for c in completions)) for c in completions]

@reward(isolation="inline")
def dies(completion):
    if completion.text == "die" and not Path("mended").exists():
        os._exit(9)
    return 1.0

def lengths(completions, **columns):
    return [len(c) for c in completions]
"""

CONFIG = """
[rewards.correct]
use = "mine.py:says"
weight = 2.0
inputs = { answer = "gold" }

[rewards.length]
use = "mine.py:lengths"
weight = 0.5
"""

ROWS = [
    {"question": "2+2?", "completion": "4", "gold": "4", "group": "a"},
    {"question": "2+2?", "completion": "5", "gold": "4", "group": "a"},
    {"question": "3+3?", "completion": " 6", "gold": "6", "group": "b"},
]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def problems(self):
        """The lines of the error, after what the module printed."""
        assert (self.code, self.out) == (2, "")
        assert "Traceback" not in self.err
        return self.err.split("error: ", 1)[1].splitlines()


@pytest.fixture
def score(site, monkeypatch, capsys):
    """Runs `grpo score ...` in a folder with mine.py, run.toml and d.jsonl."""
    site.write("mine.py", REWARDS)
    site.write("run.toml", CONFIG)
    site.write("d.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.chdir(site.folder)

    def run(name, *arguments, data="d.jsonl"):
        monkeypatch.setattr(sys, "argv", ["grpo", "score", name, "--data", data, *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        return Ran(int(caught.value.code or 0), out, err)

    return run


@pytest.fixture
def written():
    """Reads the rows that were written."""

    def read(site):
        path = site.folder / "o.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    return read


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a config, data and rewards; no tokenizer of its model is on this machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.jsonl").write_text(check_project.jsonl(check_project.ROWS))
    (tmp_path / "rewards.py").write_text(check_project.REWARDS)
    (tmp_path / "run.toml").write_text(check_project.CONFIG)
    (tmp_path / "model").mkdir()
    return tmp_path


@pytest.fixture
def with_tokenizer(bare: Path) -> Path:
    """The same with a folder of a model: its config.json and the tokenizer of the tiny model."""
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    from tiny_model import make_tokenizer

    (bare / "model/config.json").write_text('{"max_position_embeddings": 256}')
    make_tokenizer().save_pretrained(bare / "model")
    (bare / "run.toml").write_text(check_project.CONFIG.replace("nowhere/model", "model"))
    return bare
