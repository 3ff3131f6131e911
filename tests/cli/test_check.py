"""`grpo check`: its report on good configs, warnings, JSON, and what it says without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from check_project import ROWS, THINK, check, jsonl, settings


def test_check_good_config_exits_0_shows_the_prompt_and_creates_nothing(with_tokenizer):
    before = sorted(with_tokenizer.rglob("*"))

    result = check("--set", "data.chat=false")

    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "data: 8 rows\n"
        "rewards: correct (rewards.py:is_answer)\n"
        "first prompt, 4 tokens:\n"
        "  | 0+1=\n"
        "prefill: none\n"
        "run.toml: ready to train\n"
    )
    after = [p for p in sorted(with_tokenizer.rglob("*")) if "__pycache__" not in p.parts]
    assert after == before


def test_check_prefill_of_a_chat_template_is_shown(with_tokenizer):
    from tiny_model import make_tokenizer

    make_tokenizer(THINK).save_pretrained(with_tokenizer / "model")

    result = check("--set", "data.system=Be brief.")

    assert "  | <system>Be brief.</s><user>0+1=</s><assistant><think>\n" in result.stdout
    assert "prefill: '<think>\\n'" in result.stdout


PLAIN = (
    "1 warning:\n  - data: the prompts are plain texts, which the model's chat template does not "
    "render. Make each a user's message with chat = true, or give a system message with system; "
    "chat = false keeps the texts\n"
)


@pytest.mark.parametrize(
    ("setting", "said", "first"),
    [
        ("data.limit=8", PLAIN, "0+1="),
        ("data.chat=false", "", "0+1="),
        ("data.chat=true", "", "<user>0+1=</s><assistant>"),
        ("data.system=Be brief.", "", "<system>Be brief.</s><user>0+1=</s><assistant>"),
    ],
)
def test_check_plain_texts_for_a_chat_model_are_a_warning_unless_wanted(
    with_tokenizer, setting, said, first
):
    result = check("--set", setting)

    assert result.exit_code == 0, result.output
    assert f"  | {first}\nprefill: none\n{said}run.toml: ready to train\n" in result.stdout


def test_check_tokenizer_without_pad_token_is_a_warning(with_tokenizer):
    from tiny_model import make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(with_tokenizer / "model")

    result = check("--set", "data.chat=false")

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


def test_check_a_column_that_is_none_in_every_row_is_a_problem(bare):
    (bare / "train.jsonl").write_text(jsonl([{**row, "answer": None} for row in ROWS]))

    result = check("--json")

    said = json.loads(result.stdout)
    assert (result.exit_code, said["warnings"]) == (2, [])
    assert said["problems"] == [
        {
            "where": "rewards.correct.inputs.answer",
            "message": "'is_answer' reads column 'answer', which is None in 8 of the first 8 rows, "
            'so it would skip every row; bind another column (inputs = { answer = "<column>" }) or '
            "change one",
        }
    ]


def test_check_warns_of_a_reward_that_never_runs(bare):
    with (bare / "run.toml").open("a") as file:
        file.write('[rewards.other]\nuse = "rewards.py:is_answer"\nmodes = ["eval"]\n')

    alone = json.loads(check("--json").stdout)
    evaluated = json.loads(check("--json", "--set", "eval.fraction=0.25").stdout)

    assert alone["warnings"] == [
        {
            "where": "rewards.other.modes",
            "message": "never runs: there is no [eval]; add one, or leave modes out",
        }
    ]
    assert evaluated["warnings"] == []


def test_check_negative_weight_is_a_warning_of_the_report(bare, recwarn):
    result = check("--json", "--set", "rewards.correct.weight=-1")

    assert json.loads(result.stdout)["warnings"] == [
        {
            "where": "rewards.correct.weight",
            "message": "is negative: what the reward gives becomes a penalty",
        }
    ]
    assert [w for w in recwarn if "negative" in str(w.message)] == []


def test_check_json_of_a_good_config(with_tokenizer):
    result = check("--json", *settings("eval.fraction=0.25", "data.chat=false"))

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
