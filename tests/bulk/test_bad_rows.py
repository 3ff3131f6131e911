"""Files that cannot be scored: the row is named, and nothing is written."""

import pytest
from bulk_jobs import ROW, equals, half, lines, refusal, scored

from grpo_core.bulk import check
from grpo_core.bulk.check import Columns
from grpo_core.bulk.job import score_file
from grpo_core.errors import ConfigError

BAD = [
    ("", "data file FILE has no rows"),
    ("\n \n", "data file FILE has no rows"),
    ([ROW, {"answer": "a"}], "FILE, row 1 (line 2) has no column 'completion'. Columns are answer"),
    ([ROW, {"completion": 4}], "FILE, row 1 (line 2): expected text or a chat in column 'comple"),
    ([ROW, {"completion": ["a"]}], "FILE, row 1 (line 2): a message must be a mapping"),
    ([{**ROW, "prompt": 3}], "FILE, row 0 (line 1): expected text or a chat in column 'prompt"),
    ([ROW, {**ROW, "total": 1}], "FILE, row 1 (line 2) has a column 'total', which scoring adds"),
    ([ROW, {**ROW, "equals/value": 1}], "has a column 'equals/value', which scoring adds"),
    ([{**ROW, "advantage": 1}], "has a column 'advantage', which scoring adds"),
    ([{**ROW, "group": 1}, ROW], "FILE, row 1 (line 2) has no column 'group'; expected the group"),
    ([ROW, {**ROW, "group": 1}], "FILE, row 1 (line 2) has a column 'group', which row 0 lacks"),
    ([{**ROW, "group": None}], "FILE, row 0 (line 1) has None in column 'group'; expected the gro"),
    ([{**ROW, "group": True}], "FILE, row 0 (line 1) has True in column 'group'; expected"),
    (
        [{**ROW, "group": g} for g in ("a", "b", "b", "a")],
        "FILE: group 'a' ends with row 0 (line 1) and comes back in row 3 (line 4); sort the rows",
    ),
    (lines([ROW]) + "{", 'FILE, line 2: expected a JSON object, got { ('),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "expected"), BAD)
def test_bad_row_is_named_before_anything_is_scored(make, rows, expected):
    assert expected in refusal(make(rows, {"equals": equals, "half": half}))


def test_groups_whose_hashes_agree_are_two_groups(make):
    assert hash(-1) == hash(-2)
    rows = [{**ROW, "group": g} for g in (-1, -1, -2, -2)]

    summary, _ = scored(make(rows))

    assert summary["groups"] == 2


def test_group_beyond_the_limit_is_refused(make, monkeypatch):
    monkeypatch.setattr(check, "_MAX_GROUP_ROWS", 3)

    assert "row 3 (line 4): group 'a' has more than 3 rows" in refusal(
        make([{**ROW, "group": "a"}] * 4)
    )


def test_too_many_different_columns_are_refused(make, monkeypatch):
    monkeypatch.setattr(check, "_MAX_COLUMNS", 3)

    assert "FILE, row 1 (line 2): the rows have more than 3 different columns" in refusal(
        make([ROW, {**ROW, "k1": 1, "k2": 1}])
    )


def test_groups_can_be_switched_off(make):
    rows = [{**ROW, "group": g} for g in ("a", "b", "a")]

    summary, out = scored(make(rows, columns=Columns(group="")))

    assert (summary["groups"], "advantage" in out[0]) == (None, False)


def test_prefix_makes_room_for_a_second_scoring(make, tmp_path):
    scored(make([ROW]))
    again = make((tmp_path / "o.jsonl").read_text(), name="o2.jsonl", out="p.jsonl", prefix="new/")

    _, [row] = scored(again)

    assert (row["total"], row["new/total"], row["new/equals/value"]) == (1.0, 1.0, 1.0)


def test_column_that_a_reward_needs_and_no_row_has_is_a_config_error(make):
    job = make([{"completion": "a", "anser": "a"}])

    with pytest.raises(ConfigError, match=r"reads column 'answer'.*Did you mean 'anser'"):
        score_file(job, lambda stage, done, total: None)

    assert [p.name for p in job.data.parent.iterdir()] == ["d.jsonl"]
