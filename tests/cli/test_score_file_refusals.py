"""`grpo score --data`: calls and data that are refused, in the words of the command line."""

import json
import sys

import pytest

from grpo_core import cli


@pytest.mark.parametrize(
    "setting", ["scale_rewards=batch", "multi_objective_aggregation=normalize_then_sum"]
)
def test_advantages_over_a_batch_are_refused(score, setting):
    [text] = score("run.toml", "--set", f"train.{setting}").problems[1:]

    assert "depend on the trainer's batch, which a file does not have" in text


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


@pytest.mark.parametrize("flag", ["--input", "--input-file", "--input-column", "--option"])
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
        "  - --input-column answer: 'says' reads column 'answer', which the data does not have. "
        "Columns are completion, gold, group, question. Bind it: --input-column answer=COLUMN"
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


def test_parquet_without_pyarrow_names_the_extra(score, site, monkeypatch):
    site.write("d.parquet", "PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    [text] = score("mine.py:asks", data="d.parquet").problems

    assert 'pip install "grpo-core[train]"' in text


def test_prompt_column_that_is_named_and_absent_is_an_error(score, site):
    ran = score("mine.py:asks", "--completion-column", "gold", "--prompt-column", "questoin")

    assert ran.code == 2
    assert "has no column 'questoin'. Did you mean 'question'?" in ran.err


WRONG_GOLD = '{"completion": "4", "answer": "4"}\n{"completion": "1200", "answer": 1200}\n'


@pytest.mark.parametrize("further", [["-o", "o.jsonl"], ["--explain", "1"]])
def test_values_of_another_type_are_refused_for_a_name(score, site, further):
    site.write("d.jsonl", WRONG_GOLD)

    [_, text] = score("mine.py:says", *further).problems

    assert "--input-column answer: 'says' reads column 'answer': expected str, got 1200 (" in text
    assert "in row 1 (line 2); bind another column (--input-column answer=COLUMN)" in text
    assert not list(site.folder.glob("o.jsonl*"))


def test_values_of_another_type_are_refused_for_a_config(score, site):
    site.write("d.jsonl", WRONG_GOLD.replace("answer", "gold"))

    [_, text] = score("run.toml", "-o", "o.jsonl").problems

    assert "rewards.correct.inputs.answer: 'says' reads column 'gold': expected str, got" in text
    assert not list(site.folder.glob("o.jsonl*"))


def test_explain_of_a_row_of_the_right_type_hides_no_other_row(score, site):
    site.write("d.jsonl", WRONG_GOLD)

    assert score("mine.py:says", "--explain", "0").code == 0


def test_rows_without_a_value_are_skipped_not_refused(score, site):
    site.write("d.jsonl", '{"completion": "4", "answer": null}\n')

    assert score("mine.py:says").code == 0


ADDS = """from grpo_core import Fail, reward
@reward
class Adds:
    def __call__(self, completion, gold: str) -> float | Fail:
        'Adds.'
        return Fail(wrong) if (wrong := self.check_inputs(gold)) else float(gold)
    def check_inputs(self, gold):
        return None if gold.isdigit() else f'{gold!r} is no number'
"""


def test_author_refuses_a_file_of_which_no_gold_can_be_read(score, site):
    site.write("mine.py", ADDS)
    site.write("d.jsonl", '{"completion": "4", "gold": "x"}\n{"completion": "4", "gold": "y"}\n')

    [_, text] = score("mine.py:Adds").problems

    assert "cannot use its inputs: 'x' is no number in row 0 (line 1)" in text


def test_row_whose_gold_cannot_be_read_fails_and_the_others_are_scored(score, site):
    site.write("mine.py", ADDS)
    site.write("d.jsonl", '{"completion": "4", "gold": "x"}\n{"completion": "4", "gold": "1"}\n')

    done = score("mine.py:Adds", "--json")

    assert done.code == 0
    [shown] = json.loads(done.out)["rewards"].values()
    assert (shown["mean"], shown["failed"]) == (1.0, 1)
    assert "'x' is no number" in score("mine.py:Adds", "--explain", "0").out


def test_input_of_a_file_is_the_same_for_all_rows(score, site):
    site.write("gold.txt", "4")

    done = score("mine.py:says", "--input-file", "answer=gold.txt", "--json")

    [shown] = json.loads(done.out)["rewards"].values()
    assert shown["mean"] == pytest.approx(1 / 3)


def test_file_of_an_input_that_cannot_be_read_names_its_flag(score):
    [_, twice, text] = score(
        "mine.py:says", "--input-file", "answer=no.txt", "--input-column", "answer=gold",
        "--input-file", "weight=no.txt", "--input-column", "answer=gold",
    ).problems[:3]  # fmt: skip

    assert twice == "  - --input-column: 'answer' is given twice"
    assert text == "  - --input-column: 'answer' is given by --input-file too"


def test_constant_that_a_reward_cannot_read_is_told_with_its_file(score, site):
    site.write("mine.py", ADDS)
    site.write("gold.txt", "four")

    [_, text] = score("mine.py:Adds", "--input-file", "gold=gold.txt").problems

    assert text.endswith(f"'four' is no number in {site.folder / 'gold.txt'}")


def test_wrong_column_of_an_input_names_its_flag(score):
    [_, text] = score("mine.py:says", "--input-column", "answer=golld").problems

    assert "--input-column answer: 'says' reads column 'golld'" in text
