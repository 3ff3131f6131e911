"""`grpo score --data`: what is scored, written and printed."""

import io
import json
import sys

import pytest


def test_config_scores_with_all_its_rewards(score, site, written):
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


def test_reward_by_name_with_option_constant_and_column(score, site, written):
    ran = score(
        "mine.py:says",
        "--option", "strip=true",
        "--input", "weight=0.5",
        "--input-column", "answer=gold",
        "-o", "o.jsonl",
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert [row["mine.py:says/value"] for row in written(site)] == [0.5, 0.0, 0.5]


def test_bare_name_is_taken_and_the_full_one_shown(score, site, monkeypatch):
    site.install("grpo-reward-fake")
    # A plugin beside it has the same bare name.
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "grpo-reward-fake")

    ran = score("answer_equals", "--input", "answer=4", "--json")

    assert json.loads(ran.out)["rewards"]["fake/answer_equals"]["mean"] == pytest.approx(1 / 3)


def test_columns_are_named_by_flags(score, site, written):
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


def test_setting_of_the_config_is_overridden(score, site, written):
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
def test_advantages_are_scaled_as_the_config_trains(score, site, setting, expected, written):
    ran = score("run.toml", "--set", f"train.{setting}", "-o", "o.jsonl")

    assert ran.code == 0, ran.err
    got = [row["advantage"] for row in written(site)]
    assert got == pytest.approx(expected, abs=1e-5)


def test_fault_ends_with_1_and_the_file_is_whole(score, site, written):
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
        "rewards that see several completions got the rows 0 to 2, as for the whole file",
        "prompt: 2+2?",
        "completion: 5",
        "correct  0  scored  weight 2  (mine.py:says)",
        "  gold 4",
        '  input answer: "4"',
        "  n = 1",
        "length  1  scored  weight 0.5  (mine.py:lengths)",
        "total  0.5",
    ]


def test_explain_of_a_shadow_has_no_weight(score):
    ran = score("run.toml", "--explain", "1", "--set", "rewards.length.shadow=true")

    assert ran.code == 0, ran.err
    assert "length  1  scored  shadow  (mine.py:lengths)" in ran.out.splitlines()


def test_group_reward_sees_the_groups_of_the_column(score, site, written):
    ran = score("mine.py:longest", "-o", "o.jsonl")

    assert ran.code == 0, ran.err
    assert [row["mine.py:longest/value"] for row in written(site)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("explain", [(), ("--explain", "0")], ids=["file", "row"])
def test_group_reward_without_groups_says_how_to_name_them(score, explain):
    ran = score("mine.py:longest", "--group-column", "", *explain)

    [problem] = ran.problems
    assert problem.endswith("a column 'group', or name the column with --group-column")


def test_summary_keeps_late_rows_apart_from_failed_ones(score, site):
    site.write("late.toml", '[rewards.a]\nuse = "mine.py:loops"\ntimeout_s = 0.2\n')

    ran = score("late.toml")

    assert ran.code == 1
    head, line, *_ = ran.out.splitlines()[1:]
    assert head.split()[4:9] == ["skipped", "failed", "timed", "out", "time/row"]
    # The late row counts 0, the low end of the range.
    assert line.split()[1:8] == ["0.6667", "0.4714", "66.6", "%", "0", "0", "1"]


def test_config_limits_scoring_as_a_whole(score, site, written):
    site.write(
        "late.toml",
        "[scoring]\nbatch_timeout_s = 6.0\nworkers = 1\n"  # a worker starts in that time
        '[rewards.a]\nuse = "mine.py:loops"\ntimeout_s = 600.0\n',
    )

    score("late.toml", "-o", "o.jsonl")

    assert written(site)[0]["a/reason"] == "the batch took longer than 6 s"


def test_explain_of_a_fault_ends_with_1(score):
    ran = score("mine.py:breaks", "--explain", "0")

    assert ran.code == 1
    assert "mine.py:breaks  -  failed  weight 1" in ran.out


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


def test_jsonl_needs_no_pyarrow(score, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert score("mine.py:asks", "-o", "o.jsonl").code == 0


@pytest.mark.parametrize(
    ("settings", "total"),
    [
        (["rewards.correct.shadow=true", "rewards.length.shadow=true"], None),
        (["rewards.correct.weight=0", "rewards.length.weight=0"], 0.0),
        (['rewards.correct.modes=["eval"]', "rewards.length.shadow=true"], 2.0),
    ],
    ids=["shadows", "zeros", "eval"],
)
def test_config_from_which_nothing_can_be_learnt_is_scored(score, site, written, settings, total):
    given = [word for setting in settings for word in ("--set", setting)]

    ran = score("run.toml", "-o", "o.jsonl", *given)

    assert ran.code == 0, ran.err
    assert [row["correct/value"] for row in written(site)] == [1.0, 0.0, 0.0]
    assert written(site)[0]["total"] == total
