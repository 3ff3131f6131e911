"""`grpo score --data`: the command for files, from flags to what is printed."""

import io
import json
import os
import subprocess
import sys
from typing import NamedTuple

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


def written(site, name="o.jsonl"):
    return [json.loads(line) for line in (site.folder / name).read_text("utf-8").splitlines()]


def test_config_scores_with_all_its_rewards(score, site):
    ran = score("run.toml", "-o", "o.jsonl")

    assert ran.code == 0, ran.err
    rows = written(site)
    assert [row["correct/value"] for row in rows] == [1.0, 0.0, 0.0]
    assert [row["length/value"] for row in rows] == [1.0, 1.0, 2.0]
    assert [row["total"] for row in rows] == [2.5, 0.5, 1.0]
    assert [row["advantage"] for row in rows] == pytest.approx([0.70706, -0.70706, 0.0], abs=1e-5)


def test_summary_has_a_line_for_each_reward(score):
    lines = score("run.toml", "-o", "o.jsonl").out.splitlines()

    assert lines[0].startswith("3 rows in 2 groups; ")
    assert [line.split()[0] for line in lines[1:]] == [
        "reward", "correct", "length", "total", "wrote",
    ]  # fmt: skip
    # Mean 1/3, std sqrt(2)/3; no other number may stand there.
    assert lines[2].split()[1:7] == ["0.3333", "0.4714", "100", "%", "0", "0"]
    assert lines[2].endswith("0 █▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▅ 1")
    assert lines[-1] == "wrote o.jsonl"


def test_json_is_one_object_and_nothing_else(score):
    ran = score("run.toml", "--json")

    shown = json.loads(ran.out)
    assert (shown["rows"], shown["groups"], shown["out"]) == (3, 2, None)
    assert shown["rewards"]["length"]["mean"] == pytest.approx(4 / 3)
    assert shown["total"]["coverage"] == 1.0
    assert "noise of the import" in ran.err
    assert "noise of the call" in ran.err


def test_reward_by_name_with_option_constant_and_column(score, site):
    ran = score(
        "mine.py:says",
        "--option", "strip=true",
        "--input", "weight=0.5",
        "--input-column", "answer=gold",
        "-o", "o.jsonl",
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert [row["mine.py:says/value"] for row in written(site)] == [0.5, 0.0, 0.5]


def test_bare_name_is_taken_and_the_full_one_shown(score, site):
    site.install("grpo-reward-fake")

    ran = score("answer_equals", "--input", "answer=4", "--json")

    assert json.loads(ran.out)["rewards"]["fake/answer_equals"]["mean"] == pytest.approx(1 / 3)


def test_columns_are_named_by_flags(score, site):
    ran = score(
        "mine.py:asks",
        "--completion-column", "gold",
        "--prompt-column", "question",
        "--group-column", "question",
        "--prefix", "s/",
        "-o", "o.jsonl",
    )  # fmt: skip

    assert ran.code == 0, ran.err
    row = written(site)[2]
    assert (row["s/mine.py:asks/reason"], row["s/advantage"]) == ("3+3?", 0.0)


def test_prompt_column_of_the_config_is_the_default(score, site):
    site.write(
        "ask.toml", '[data]\npath = "x"\nprompt = "question"\n[rewards.a]\nuse="mine.py:asks"'
    )

    shown = json.loads(score("ask.toml", "--explain", "0", "--json").out)

    assert shown["rewards"]["a"]["reason"] == "2+2?"


def test_setting_of_the_config_is_overridden(score, site):
    score("run.toml", "--set", "rewards.correct.weight=4", "-o", "o.jsonl")

    assert [row["total"] for row in written(site)] == [4.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("scale_rewards=none", [1.0, -1.0, 0.0]),
        ("scale_rewards=false", [1.0, -1.0, 0.0]),
        ("scale_rewards=true", [0.70706, -0.70706, 0.0]),
    ],
)
def test_advantages_are_scaled_as_the_config_trains(score, site, setting, expected):
    ran = score("run.toml", "--set", f"train.{setting}", "-o", "o.jsonl")

    assert ran.code == 0, ran.err
    got = [row["advantage"] for row in written(site)]
    assert got == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "setting", ["scale_rewards=batch", "multi_objective_aggregation=normalize_then_sum"]
)
def test_advantages_over_a_batch_are_refused(score, setting):
    [text] = score("run.toml", "--set", f"train.{setting}").problems[1:]

    assert "depend on the trainer's batch, which a file does not have" in text


def test_fault_ends_with_1_and_the_file_is_whole(score, site):
    ran = score("mine.py:breaks", "-o", "o.jsonl")

    assert ran.code == 1
    assert len(written(site)) == 3
    assert (
        "mine.py:breaks broke its contract in 1 row; first in row 0 (line 1): raised RuntimeError: "
        "boom (" in ran.out
    )
    assert "Traceback" not in ran.err


def test_explain_prints_one_row_in_full(score):
    ran = score("run.toml", "--explain", "1", "--prompt-column", "question")

    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "row 1 (line 2) of d.jsonl",
        "functions in TRL's style got the rows 0 to 2, as for the whole file",
        "prompt: 2+2?",
        "completion: 5",
        "correct  0  scored  weight 2  (mine.py:says)",
        "  gold 4",
        '  input answer: "4"',
        "  n = 1",
        "length  1  scored  weight 0.5  (mine.py:lengths)",
        "total  0.5",
    ]


def test_explain_of_a_fault_ends_with_1(score):
    ran = score("mine.py:breaks", "--explain", "0")

    assert ran.code == 1
    assert "mine.py:breaks  -  failed  weight 1" in ran.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--prompt", "x"], "--prompt: goes with --text; a file has a column of prompts"),
        (["--explain", "0", "-o", "o"], "--explain: writes nothing; leave out -o and --resume"),
        (["--set", "a.b=1"], "--set: goes with a TOML file; use --option"),
    ],
)
def test_flags_of_the_other_form_are_refused(score, arguments, expected):
    assert expected in score("mine.py:says", *arguments).problems[1]


def test_flags_for_files_are_refused_for_a_text(score, monkeypatch, capsys):
    words = ["--text", "4", "-o", "o", "--resume", "--group-column", "", "--explain", "0"]
    monkeypatch.setattr(sys, "argv", ["grpo", "score", "mine.py:asks", *words])

    with pytest.raises(SystemExit):
        cli.main()

    assert capsys.readouterr().err.splitlines() == [
        "error: 4 problems in the command:",
        "  - --out: goes with --data, not with --text",
        "  - --explain: goes with --data, not with --text",
        "  - --group-column: goes with --data, not with --text",
        "  - --resume: goes with --data, not with --text",
    ]


def test_text_and_data_together_are_refused(score):
    [text] = score("mine.py:says", "--text", "4").problems

    assert text == "give a completion as --text TEXT, or a file of them as --data FILE"


@pytest.mark.parametrize("flag", ["--input", "--input-column", "--option"])
def test_flags_for_one_reward_are_refused_for_a_config(score, flag):
    assert f"{flag}: goes with one reward" in score("run.toml", flag, "a=b").problems[1]


def test_all_problems_of_the_rewards_come_together_and_name_flags(score):
    problems = score(
        "mine.py:says",
        "--option", "stripp=true",
        "--input", "weight=heavy",
        "--input", "nothing",
        "--input-column", "weight=gold",
    ).problems  # fmt: skip

    assert problems[0] == "3 problems in the command:"
    assert problems[1:] == [
        "  - --input: expected name=value, got 'nothing'",
        "  - --input-column: 'weight' is given by --input too",
        "  - --option stripp: 'says' has no such option. Did you mean 'strip'? Options are strip.",
    ]


def test_missing_column_is_told_with_the_flag_that_helps(score):
    [text] = score("mine.py:says").problems[1:]

    assert text == (
        "  - --input answer: 'says' reads column 'answer', which the data does not have. Columns "
        "are completion, gold, group, question. Bind it: --input-column answer=COLUMN"
    )


def test_broken_config_is_told_whole(score, site):
    site.write("bad.toml", '[rewards.a]\nuse = "mine.py:no"\nwieght = 1\n[modell]\n')

    problems = score("bad.toml").problems

    assert problems[0] == "3 problems in bad.toml:"
    assert any("modell: unknown key" in p for p in problems)
    assert any("rewards.a.wieght: unknown key. Did you mean 'weight'?" in p for p in problems)
    assert any("rewards.a.use: no reward 'mine.py:no'" in p for p in problems)


def test_data_error_is_one_message(score, site):
    site.write("bad.jsonl", '{"completion": "a"}\n{"completion"')

    [text] = score("mine.py:breaks", "-o", "o.jsonl", data="bad.jsonl").problems

    assert text.startswith('bad.jsonl, line 2: expected a JSON object, got {"completion" (')
    assert not list(site.folder.glob("o.jsonl*"))


def test_existing_output_is_refused(score, site):
    site.write("o.jsonl", "mine")

    [text] = score("mine.py:breaks", "-o", "o.jsonl").problems

    assert text == "o.jsonl exists already and is not overwritten; choose another name"


def test_interrupt_says_how_to_go_on(score, site, monkeypatch):
    def stop(job, progress):
        site.write("o.jsonl.partial", "")
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_core.cli.score_file.score_file", stop)

    ran = score("mine.py:breaks", "-o", "o.jsonl")

    assert ran.code == 130
    assert "stopped; --resume goes on with o.jsonl.partial" in ran.err


def test_interrupt_before_the_first_row_promises_nothing(score, site, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_core.bulk.job.check_rows", stop)

    ran = score("mine.py:breaks", "-o", "o.jsonl")

    assert ran.code == 130
    assert "--resume" not in ran.err
    assert not list(site.folder.glob("o.jsonl*"))


def test_killed_run_is_resumed(score, site):
    site.write("k.jsonl", '{"completion": "a"}\n' * 600 + '{"completion": "die"}\n')
    code = "from grpo_core.cli import main; main()"
    command = ["score", "mine.py:dies", "--data", "k.jsonl", "-o", "o.jsonl"]
    killed = subprocess.run(
        [sys.executable, "-c", code, *command],
        cwd=site.folder,
        env={**os.environ},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert killed.returncode == 9
    assert sorted(p.name for p in site.folder.glob("o*")) == [
        "o.jsonl.partial", "o.jsonl.partial.json",
    ]  # fmt: skip
    site.write("mended", "")

    ran = score("mine.py:dies", "-o", "o.jsonl", "--resume", data="k.jsonl")

    assert ran.code == 0, ran.err
    assert [row["total"] for row in written(site)] == [1.0] * 601
    assert [p.name for p in site.folder.glob("o*")] == ["o.jsonl"]


def test_progress_bar_is_for_terminals(score, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    assert "scoring" not in score("mine.py:asks").err
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    ran = score("mine.py:asks", "--json")

    assert json.loads(ran.out)["rows"] == 3
    assert "scoring" in terminal.getvalue()


def test_parquet_without_pyarrow_names_the_extra(score, site, monkeypatch):
    site.write("d.parquet", "PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    [text] = score("mine.py:asks", data="d.parquet").problems

    assert 'pip install "grpo-core[train]"' in text


def test_jsonl_needs_no_pyarrow(score, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert score("mine.py:asks", "-o", "o.jsonl").code == 0


def test_prompt_column_that_is_named_and_absent_is_an_error(score, site):
    ran = score("mine.py:asks", "--completion-column", "gold", "--prompt-column", "questoin")

    assert ran.code == 2
    assert "has no column 'questoin'. Did you mean 'question'?" in ran.err
