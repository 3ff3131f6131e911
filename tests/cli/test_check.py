"""`grpo check`: what it says of broken configs and data files, of good ones, and without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app

CONFIG = """
[model]
name = "nowhere/model"

[data]
path = "train.jsonl"

[rewards.correct]
use = "rewards.py:is_answer"

[train]
per_device_train_batch_size = 8
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 8

[run]
dir = "runs/first"
"""

REWARDS = '''
from fractions import Fraction
from grpo_core import Completion, reward

@reward
def is_answer(completion: Completion, answer: str) -> float:
    """1.0 if the answer is in the text."""
    return float(answer in completion.text)

@reward
def is_number(completion: Completion, answer: int) -> float:
    """1.0 if the number is in the text."""
    return float(str(answer) in completion.text)

@reward
def is_among(completion: Completion, choices: list[str]) -> float:
    """1.0 if the text is a choice."""
    return float(completion.text in choices)

@reward
class FractionEquals:
    """1.0 if the text is the number of the gold."""

    def __init__(self, *, places: int = 2):
        if places < 0:
            raise ValueError("places must be at least 0")

    def check_inputs(self, answer: str) -> str | None:
        print("noise")
        if not answer.isdigit():
            return f"the gold {answer!r} is no number"

    def __call__(self, completion: Completion, answer: str) -> float:
        return float(Fraction(completion.text) == Fraction(answer))

@reward
class Careless:
    """Its check breaks."""

    def check_inputs(self, answer):
        return answer.upper().nothing

    def __call__(self, completion: Completion, answer: str) -> float:
        return 1.0
'''

THINK = (
    "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant><think>\n' }}{% endif %}"
)

ROWS = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a config, data and rewards; no tokenizer of its model is on this machine."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.jsonl").write_text(jsonl(ROWS))
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "run.toml").write_text(CONFIG)
    (tmp_path / "model").mkdir()
    return tmp_path


@pytest.fixture
def project(bare: Path) -> Path:
    """The same with a folder of a model: its config.json and the tokenizer of the tiny model."""
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    from tiny_model import make_tokenizer

    (bare / "model/config.json").write_text('{"max_position_embeddings": 256}')
    make_tokenizer().save_pretrained(bare / "model")
    (bare / "run.toml").write_text(CONFIG.replace("nowhere/model", "model"))
    return bare


def check(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["check", "run.toml", *arguments])


def settings(*pairs: str) -> list[str]:
    return [part for pair in pairs for part in ("--set", pair)]


# What is broken: settings, the data's rows or text (None: as they are), and the phrase printed.
BROKEN: dict[str, tuple[list[str], Any, str]] = {
    "unknown section": (["modle.name=x"], None, "modle: unknown key. Did you mean 'model'?"),
    "unknown key": (["data.pth=x"], None, "data.pth: unknown key. Did you mean 'path'?"),
    "wrong type": (["data.limit=many"], None, "data.limit: Input should be a valid integer"),
    "unknown reward": (
        ["rewards.correct.use=rewards.py:is_answr"],
        None,
        "Did you mean 'is_answer'",
    ),
    "option outside": (
        ["rewards.correct.strip=true"],
        None,
        "A reward's own options sit in options = { strip = … }",
    ),
    "unknown option": (
        ["rewards.correct.use=rewards.py:FractionEquals", "rewards.correct.options.place=1"],
        None,
        "has no such option. Did you mean 'places'?",
    ),
    "refused option": (
        ["rewards.correct.use=rewards.py:FractionEquals", "rewards.correct.options.places=-1"],
        None,
        "refuses them: places must be at least 0",
    ),
    "absent column": (
        ["rewards.correct.inputs.answer=answr"],
        None,
        "reads column 'answr', which the data does not have. Did you mean 'answer'?",
    ),
    "texts for an int": (
        ["rewards.correct.use=rewards.py:is_number"],
        None,
        "'is_number' reads column 'answer': expected int, got '1' (Input should be a valid "
        "integer) in train.jsonl, line 1 and in 7 more of the first 8 rows",
    ),
    "one number among texts": (
        ["rewards.correct.use=rewards.py:is_among"],
        [{**row, "choices": ["a"] if i != 5 else [{"x": 1}]} for i, row in enumerate(ROWS)],
        "'is_among' reads column 'choices': expected list[str], got {'x': 1} (Input should be a "
        "valid string) at [0] in train.jsonl, line 6;",
    ),
    "no JSON": (
        ["rewards.correct.use=rewards.py:is_among"],
        [{**row, "choices": "a, b"} for row in ROWS],
        "holds no JSON of the declared type list[str]",
    ),
    "gold that cannot be read": (
        ["rewards.correct.use=rewards.py:FractionEquals"],
        [*ROWS, {"prompt": "?", "answer": "four"}],
        "rewards.correct.inputs: 'fraction_equals' cannot use its inputs: the gold 'four' is no "
        "number in train.jsonl, line 9",
    ),
    "check of inputs that breaks": (
        ["rewards.correct.use=rewards.py:Careless"],
        None,
        "check_inputs raised AttributeError",
    ),
    "batch of broken groups": (
        ["train.num_generations=3"],
        None,
        "3 does not divide the 8 completions of a batch (per_device_train_batch_size 8 x 1 x 1 "
        "process). Valid with this batch: num_generations = 2, 4, 8",
    ),
    "too few rows": ([], ROWS[:1], "so not one step would be trained"),
    "no data file": (["data.path=trian.jsonl"], None, "trian.jsonl. Did you mean 'train.jsonl'"),
    "broken line": ([], '{"prompt": "a"}\nnope\n', "train.jsonl, line 2: expected a JSON object"),
    "no prompt": ([], [{"question": "a", "answer": "1"}], "the data has no column 'prompt'"),
    "weights of zero": (["rewards.correct.weight=0"], None, "every weight is 0"),
    "no model": (["model.name=./modell"], None, "paths are relative to the config. Did you mean"),
    "folder without model": (["model.name=."], None, "holds no model: there is no config.json"),
    "run exists": (["run.dir=model"], None, "model exists already and a run never overwrites"),
    "only broken in [eval]": (
        ["eval.path=other.jsonl"],
        None,
        "in the rows of [eval]: 'is_answer' reads column 'answer': expected str, got 5",
    ),
}


@pytest.mark.parametrize(("pairs", "data", "phrase"), BROKEN.values(), ids=BROKEN.keys())
def test_check_broken_config_or_data_exits_2_with_the_reason(bare, pairs, data, phrase):
    (bare / "other.jsonl").write_text('{"prompt": "a", "answer": 5}\n')
    if data is not None:
        (bare / "train.jsonl").write_text(data if isinstance(data, str) else jsonl(data))

    result = check(*settings(*pairs))

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    assert result.stdout.endswith("run.toml: not ready\n")
    assert not (bare / "runs").exists()


# The same for what only the extra can tell.
BROKEN_TRAINING: dict[str, tuple[list[str], Any, str]] = {
    "unknown field": (["train.learning_rat=1"], None, "has no field 'learning_rat'. Did you mean"),
    "field of another type": (["train.max_steps=ten"], None, "expected int, got 'ten'"),
    "value of a library": (
        ["train.lr_scheduler_type=wavy"],
        None,
        "train: wavy is not a valid SchedulerType",
    ),
    "role that is no text": (
        [],
        [{"prompt": [{"role": "user", "content": ["x"]}], "answer": "1"}] * 2,
        "train.jsonl, line 1: the chat template cannot render the prompt",
    ),
    "prompts too long": (
        [],
        [*ROWS, {"prompt": "x" * 249, "answer": "1"}, {"prompt": "x" * 248, "answer": "1"}],
        "1 of the first 10 prompts are too long: the model takes 256 tokens and "
        "max_completion_length is 8, which leaves 248 for the prompt: train.jsonl, line 9 (249 "
        "tokens); leave these rows out",
    ),
    "prompts of the evaluation too long": (
        ["eval.path=long.jsonl"],
        None,
        "eval: 1 of the first 2 prompts are too long: the model takes 256 tokens and "
        "max_completion_length is 8, which leaves 248 for the prompt: long.jsonl, line 2 (300 "
        "tokens)",
    ),
    "role that is no text in the evaluation": (
        ["eval.path=odd.jsonl"],
        None,
        "odd.jsonl, line 1: the chat template cannot render the prompt",
    ),
}


@pytest.mark.parametrize(
    ("pairs", "data", "phrase"), BROKEN_TRAINING.values(), ids=BROKEN_TRAINING.keys()
)
def test_training_that_is_broken_is_refused_by_check_and_train_alike(project, pairs, data, phrase):
    rows = [{"prompt": "1+9=", "answer": "10"}, {"prompt": "x" * 300, "answer": "?"}]
    (project / "long.jsonl").write_text(jsonl(rows))
    chat = [{"role": "user", "content": ["x"]}]
    (project / "odd.jsonl").write_text(jsonl([{"prompt": chat, "answer": "1"}]))
    if data is not None:
        (project / "train.jsonl").write_text(jsonl(data))

    result = check(*settings(*pairs))
    trained = CliRunner().invoke(app, ["train", "run.toml", *settings(*pairs)])

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    # The folder has no weights: nothing of this kind is learnt by loading the model.
    assert phrase in str(trained.exception)
    assert not (project / "runs").exists()


@pytest.mark.parametrize("broken", ["no tokens", "no file"])
def test_tokenizer_that_cannot_serve_is_refused_by_check_and_train_alike(project, broken):
    from tiny_model import make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token = None
    tokenizer.save_pretrained(project / "model")
    phrase = "model.name: the tokenizer has neither a pad token nor an end-of-text token"
    if broken == "no file":
        (project / "model/tokenizer.json").write_text("{")
        phrase = "model.name: the tokenizer in model cannot be loaded: "

    result = check()
    trained = CliRunner().invoke(app, ["train", "run.toml"])

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    assert phrase in str(trained.exception)
    assert not (project / "runs").exists()


def test_check_several_problems_come_at_once(bare):
    result = check(*settings("data.pth=x", "train.num_generations=3", "rewards.correct.weight=0"))

    assert "3 problems:" in result.stdout


def test_check_good_config_exits_0_shows_the_prompt_and_creates_nothing(project):
    before = sorted(project.rglob("*"))

    result = check()

    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "data: 8 rows\n"
        "rewards: correct (rewards.py:is_answer)\n"
        "first prompt, 4 tokens:\n"
        "  | 0+1=\n"
        "prefill: none\n"
        "run.toml: ready to train\n"
    )
    after = [p for p in sorted(project.rglob("*")) if "__pycache__" not in p.parts]
    assert after == before


def test_check_prefill_of_a_chat_template_is_shown(project):
    from tiny_model import make_tokenizer

    make_tokenizer(THINK).save_pretrained(project / "model")

    result = check("--set", "data.system=Be brief.")

    assert "  | <system>Be brief.</s><user>0+1=</s><assistant><think>\n" in result.stdout
    assert "prefill: '<think>\\n'" in result.stdout


def test_check_tokenizer_without_pad_token_is_a_warning(project):
    from tiny_model import make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(project / "model")

    result = check()

    assert result.exit_code == 0, result.output
    assert "1 warning:\n  - model.name: the tokenizer has no pad token; '</s>'" in result.stdout


def test_check_rows_with_none_are_a_warning(bare):
    (bare / "train.jsonl").write_text(jsonl([*ROWS, {"prompt": "?", "answer": None}]))

    result = check("--json")

    assert json.loads(result.stdout)["warnings"] == [
        {
            "where": "rewards.correct.inputs.answer",
            "message": "'is_answer' reads column 'answer', which is None in 1 of the first 9 rows; "
            "it skips them",
        }
    ]


def test_check_json_of_a_good_config(project):
    result = check("--json", "--set", "eval.fraction=0.25")

    assert json.loads(result.stdout) == {
        "config": "run.toml",
        "ok": True,
        "problems": [],
        "warnings": [],
        "notes": [],
        "rows": 6,
        "eval_rows": 2,
        "rewards": {"correct": "rewards.py:is_answer"},
        "first_prompt": {"text": "0+1=", "prefill": "", "tokens": 4},
    }


def test_check_json_of_a_file_that_is_no_toml(bare):
    (bare / "run.toml").write_text("[model")

    result = check("--json")

    said = json.loads(result.stdout)
    assert result.exit_code == 2
    assert said["ok"] is False
    assert said["problems"][0]["message"].startswith("run.toml is not TOML")


def test_train_refuses_texts_for_an_int(project):
    result = CliRunner().invoke(
        app, ["train", "run.toml", "--set", "rewards.correct.use=rewards.py:is_number"]
    )

    assert "expected int, got '1'" in str(result.exception)
    assert not (project / "runs").exists()


def test_check_without_the_extra_says_what_was_not_looked_at(bare):
    code = (
        "import sys\n"
        "for name in ('torch', 'trl', 'transformers', 'peft', 'datasets'):\n"
        "    sys.modules[name] = None\n"
        "sys.argv = ['grpo', 'check', 'run.toml']\n"
        "from grpo_core.cli import main\n"
        "main()\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "1 note:" in done.stdout
    assert 'Install it with: pip install "grpo-core[train]"' in done.stdout
    assert done.stdout.endswith("run.toml: ready to train\n")
