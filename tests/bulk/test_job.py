"""Scoring a file: what each row gets, whole groups, faults, stops and resumption."""

from dataclasses import replace

import pytest
from bulk_jobs import ROW, equals, half, lengths, lines, refusal, scored

from grpo_core import Fail, Score, reward
from grpo_core.bulk import job
from grpo_core.bulk.check import Columns
from grpo_core.bulk.explain import explain
from grpo_core.bulk.job import score_file
from grpo_core.errors import DataError


def test_row_keeps_its_columns_and_gets_those_of_each_reward(make):
    rows = [{"completion": "4", "answer": "4", "meta": {"a": [1, None]}, "x": 1.5}]

    summary, [row] = scored(make(rows, {"equals": equals, "half": half}))

    assert row == {
        "completion": "4",
        "answer": "4",
        "meta": {"a": [1, None]},
        "x": 1.5,
        "equals/value": 1.0,
        "equals/status": "scored",
        "equals/reason": "gold 4",
        "equals/metrics": {"n": 1.0},
        "half/value": 0.5,
        "half/status": "scored",
        "half/reason": "",
        "half/metrics": {},
        "total": 1.5,
    }
    assert (summary["rows"], summary["groups"]) == (1, None)


def test_groups_of_different_sizes_get_totals_and_advantages(make):
    # Group a: equals 1, 0, 0 with std 0.57735; group b: 1, 0 with std 0.70711; c is alone.
    rows = [
        {"completion": text, "answer": "4", "group": group}
        for text, group in [("4", "a"), ("5", "a"), ("6", "a"), ("4", "b"), ("", "b"), ("4", "c")]
    ]

    summary, out = scored(make(rows))

    assert summary["groups"] == 3
    assert [row["total"] for row in out] == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    expected = [1.15450, -0.57725, -0.57725, 0.70701, -0.70701, 0.0]
    assert [row["advantage"] for row in out] == pytest.approx(expected, abs=1e-5)


def test_missing_value_is_filled_inside_its_group_only(make):
    # half gives 0.5 and None: in the group the None counts as 0.5, alone it adds nothing.
    rows = [{"completion": t, "answer": "4", "g": 1} for t in ("4", "")]
    rewards = {"equals": equals, "half": half}

    _, grouped = scored(make(rows, rewards, columns=Columns(group="g")))
    _, alone = scored(make(rows, rewards, out="alone.jsonl"))

    assert [row["total"] for row in grouped] == [1.5, 0.5]
    assert [row["total"] for row in alone] == [1.5, 0.0]
    assert grouped[1]["half/value"] is None


def test_advantages_of_scale_none_are_differences(make):
    rows = [{"completion": t, "answer": "4", "group": 1} for t in ("4", "5")]

    _, out = scored(make(rows, scale="none"))

    assert [row["advantage"] for row in out] == [0.5, -0.5]


def test_chunks_change_nothing(make, monkeypatch):
    rows = [{"completion": "4" * (i % 3), "answer": "4", "group": i // 5} for i in range(40)]
    summary, whole = scored(make(rows, {"equals": equals, "half": half}))

    monkeypatch.setattr(job, "CHUNK_ROWS", 7)
    divided_summary, divided = scored(make(rows, {"equals": equals, "half": half}, out="p.jsonl"))

    assert divided == whole
    for name in ("equals", "half"):
        one, other = summary["rewards"][name], divided_summary["rewards"][name]
        assert one["histogram"] == other["histogram"]
        assert one["std"] == pytest.approx(other["std"], abs=1e-12)


def test_trl_style_function_gets_whole_groups(make, monkeypatch):
    monkeypatch.setattr(job, "CHUNK_ROWS", 3)
    calls = []

    def group_sizes(completions, group, **columns):
        calls.append(group)
        return [0.0] * len(completions)

    rows = [{"completion": "a", "group": g} for g in [1, 1, 2, 2, 3]]
    scored(make(rows, {"sizes": group_sizes}))

    assert calls == [[1, 1, 2, 2], [3]]


def test_completion_may_be_text_chat_or_null(make):
    rows = [
        {"completion": "4"},
        {"completion": [{"role": "assistant", "content": "44"}]},
        {"completion": {"role": "assistant", "content": "444"}},
        {"completion": None},
    ]

    _, out = scored(make([{**row, "answer": ""} for row in rows]))

    assert [row["equals/metrics"]["n"] for row in out] == [1.0, 2.0, 3.0, 0.0]
    assert out[1]["completion"] == [{"role": "assistant", "content": "44"}]


def test_reward_that_changes_a_chat_does_not_change_the_file(make):
    @reward
    def spoils(completion):
        completion.reply[0].extra["tool_calls"].append("mine")
        return 1.0

    rows = [{"completion": [{"role": "assistant", "content": "", "tool_calls": ["a"]}]}]

    _, [row] = scored(make(rows, {"spoils": spoils}))

    assert row["completion"][0]["tool_calls"] == ["a"]


def test_absent_and_null_inputs_are_skipped_alike(make):
    rows = [
        {"completion": "4", "answer": "4"},
        {"completion": "4", "answer": None},
        {"completion": "4"},
    ]

    _, out = scored(make(rows))

    assert [row["equals/status"] for row in out] == ["scored", "skipped", "skipped"]
    assert "answer" not in out[2]


def test_fault_is_counted_and_named_and_the_rest_goes_on(make):
    rows = [{"completion": t} for t in ("a", "x", "x", "b")]

    summary, out = scored(make(rows, {"half": half}))

    assert [row["half/status"] for row in out] == ["scored", "failed", "failed", "scored"]
    assert out[1]["half/reason"].startswith("raised RuntimeError: boom (")
    assert (summary["rewards"]["half"]["faults"], summary["rewards"]["half"]["failed"]) == (2, 2)
    assert summary["rewards"]["half"]["first_fault"].startswith("row 1 (line 2): raised Runtime")


def test_returned_fail_is_no_fault(make):
    @reward
    def broken_gold(completion):
        return Fail("no gold")

    summary, [row] = scored(make([{"completion": "a"}], {"gold": broken_gold}))

    assert (row["gold/status"], row["gold/reason"], row["total"]) == ("failed", "no gold", None)
    assert (summary["rewards"]["gold"]["failed"], summary["rewards"]["gold"]["faults"]) == (1, 0)


@pytest.mark.parametrize("name", ["o.csv", "o", "o.jsonl.gz"])
def test_other_names_of_the_output_are_refused(make, name):
    assert "expected a name in .jsonl or .parquet" in refusal(make([ROW], out=name))


def test_stopped_run_is_resumed_to_the_same_file_and_summary(make, monkeypatch):
    monkeypatch.setattr(job, "CHUNK_ROWS", 4)
    rows = [{"completion": "44x"[i % 3], "answer": "4", "group": i // 3} for i in range(30)]
    rewards = {"equals": equals, "half": half}
    expected_summary, expected = scored(make(rows, rewards, out="whole.jsonl"))
    stopped = make(rows, rewards)

    def stop(stage, done, total):
        if stage == "scoring" and done >= 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_file(stopped, stop)
    assert not stopped.out.exists()
    summary, out = scored(replace(stopped, resume=True))

    assert out == expected
    assert summary["resumed_at"] == 12
    for shown in (summary, expected_summary):
        for r in shown["rewards"].values():
            del r["seconds_per_row"]
    assert summary["rewards"] == expected_summary["rewards"]
    assert summary["total"] == expected_summary["total"]


def test_resume_with_other_data_or_weight_is_refused(make):
    def stop(stage, done, total):
        if stage == "scoring":
            raise KeyboardInterrupt

    job = make([ROW] * 3)
    with pytest.raises(KeyboardInterrupt):
        score_file(job, stop)

    with pytest.raises(DataError, match=r"rewards.equals.weight was 1.0 and is 0.5"):
        scored(make([ROW] * 3, {"equals": {"use": equals, "weight": 0.5}}, resume=True))
    with pytest.raises(DataError, match=r"data.sha256 was"):
        scored(make([ROW] * 4, resume=True))


def test_data_that_changes_while_it_is_read_is_refused(make):
    job = make([ROW] * 3)

    def change(stage, done, total):
        if (stage, done) == ("scoring", 3):
            job.data.write_text(lines([ROW] * 4))

    with pytest.raises(DataError, match=r"was changed while it was read"):
        score_file(job, change)

    assert not job.out.exists()


def test_nothing_is_written_without_an_output(make):
    job = make([ROW], out=None)

    summary = score_file(job, lambda stage, done, total: None)

    assert summary["out"] is None
    assert [p.name for p in job.data.parent.iterdir()] == ["d.jsonl"]


def test_progress_is_told(make):
    told = []

    score_file(make([ROW] * 3), lambda *call: told.append(call))

    assert told == [("checking", 3, None), ("scoring", 0, 3), ("scoring", 3, 3)]


# One row


def test_explain_scores_the_row_with_those_that_one_call_would_get(make):
    seen = []

    @reward(isolation="inline")
    def watches(completion, answer: str, hint: str = "none"):
        seen.append(completion.text)
        return Score(0.25, "because", {"m": 2.0})

    rows = [{"completion": t, "answer": "4", "prompt": "2+2?"} for t in "abc"]
    rewards = {"watches": {"use": watches, "weight": 2.0}, "len": lengths}

    shown = explain(make(rows, rewards, out=None), 1)

    assert seen == ["a", "b", "c"]
    assert (shown["row"], shown["line"]) == (1, 2)
    assert (shown["prompt"], shown["completion"], shown["total"]) == ("2+2?", "b", 1.5)
    assert shown["rewards"]["watches"] == {
        "use": "watches",
        "inputs": {"answer": "4"},
        "value": 0.25,
        "status": "scored",
        "reason": "because",
        "metrics": {"m": 2.0},
        "weight": 2.0,
        "fault": False,
    }
    assert shown["rewards"]["len"]["value"] == 1.0


@pytest.mark.parametrize("number", range(5))
def test_explain_calls_a_trl_style_function_as_the_run_does(make, monkeypatch, number):
    monkeypatch.setattr(job, "CHUNK_ROWS", 2)

    def shares(completions, hint, **columns):
        """The length, as a share of the whole batch."""
        return [len(c) / sum(map(len, completions)) for c in completions]

    texts = ["a", "bbb", "cc", "dddd", "eeee"]
    rows = [{"completion": t, "group": g} for t, g in zip(texts, "wwxyy", strict=True)]
    rows[4]["hint"] = "only here"  # the other rows have None
    _, done = scored(make(rows, {"shares": shares}))

    shown = explain(make(rows, {"shares": shares}, out=None), number)

    assert [row["shares/value"] for row in done] == [0.25, 0.75, 0.2, 0.4, 0.4]
    assert shown["rewards"]["shares"]["value"] == done[number]["shares/value"]
    assert shown["total"] == done[number]["total"]
    assert shown["batch"] == ([0, 1] if number < 2 else [2, 4])


def test_explain_without_such_a_function_reads_no_further(make):
    broken = lines([ROW]) + "not JSON\n"

    assert explain(make(broken, out=None), 0)["batch"] is None


def test_explain_of_a_row_that_is_not_there_says_how_many_there_are(make):
    with pytest.raises(DataError, match=r"has no row 3; it has 3 rows, counted from 0"):
        explain(make([ROW] * 3, out=None), 3)
