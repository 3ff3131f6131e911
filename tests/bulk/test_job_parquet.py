"""Scoring parquet files, and into parquet files."""

import datetime
from dataclasses import replace

import pytest
from bulk_jobs import ROW, refusal, scored

from grpo_core.bulk import job
from grpo_core.bulk.job import score_file


def test_parquet_and_back_keeps_columns_and_scores(make, tmp_path):
    pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")
    rows = [
        {"completion": [{"role": "assistant", "content": "4"}], "answer": "4", "meta": {"a": 1}},
        {"completion": [{"role": "assistant", "content": "5"}], "answer": None, "meta": None},
    ]

    summary, _ = _scored_parquet(make(rows, out="o.parquet"))
    again = replace(make([]), data=tmp_path / "o.parquet", prefix="new/")
    same, out = scored(again)

    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.jsonl", "o.jsonl", "o.parquet"]
    assert out[0] == {
        "completion": [{"role": "assistant", "content": "4"}],
        "answer": "4",
        "meta": '{"a": 1}',
        "equals/value": 1.0,
        "equals/status": "scored",
        "equals/reason": "gold 4",
        "equals/metrics": '{"n": 1.0}',
        "total": 1.0,
        "new/equals/value": 1.0,
        "new/equals/status": "scored",
        "new/equals/reason": "gold 4",
        "new/equals/metrics": {"n": 1.0},
        "new/total": 1.0,
    }
    assert out[1]["new/equals/status"] == "skipped"
    assert summary["rewards"]["equals"]["mean"] == same["rewards"]["equals"]["mean"] == 1.0


def _scored_parquet(job):
    import pyarrow.parquet as pq

    summary = score_file(job, lambda stage, done, total: None)
    return summary, pq.read_table(job.out).to_pylist()


def test_parquet_into_parquet_copies_types(make, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "completion": ["4"] * 3,
            "answer": ["4"] * 3,
            "raw": [b"\x00", None, b"\xff"],
            "n": pa.array([1, 2, 3], pa.uint8()),
        }
    )
    pq.write_table(table, tmp_path / "d.parquet")

    job = replace(make([], out="o.parquet"), data=tmp_path / "d.parquet")
    _scored_parquet(job)

    copied = pq.read_table(tmp_path / "o.parquet")
    assert copied.select(table.column_names).equals(table)
    assert copied["total"].to_pylist() == [1.0, 1.0, 1.0]


def test_bytes_into_jsonl_are_refused_and_nan_becomes_null(make, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")

    import pyarrow.parquet as pq

    base = {"completion": ["4"], "answer": ["4"]}
    pq.write_table(pa.table({**base, "raw": [b"a"]}), tmp_path / "raw.parquet")
    more = {"nan": [float("nan")], "day": [datetime.date(2026, 1, 2)]}
    pq.write_table(pa.table({**base, **more}), tmp_path / "d.parquet")

    refused = refusal(replace(make([]), data=tmp_path / "raw.parquet"))
    _, [row] = scored(replace(make([]), data=tmp_path / "d.parquet"))

    assert "FILE: column 'raw' holds bytes, which JSON cannot" in refused
    assert (row["nan"], row["day"]) == (None, "2026-01-02")


def test_mixed_column_is_refused_before_parquet_is_written(make):
    pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")
    job = make([{**ROW, "m": 1}, {**ROW, "m": "a"}], out="o.parquet")

    assert "FILE: column 'm' mixes kinds of values in or before row 1 (line 2)" in refusal(job)


def test_stopped_run_into_parquet_is_resumed(make, monkeypatch):
    pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")
    monkeypatch.setattr(job, "CHUNK_ROWS", 2)
    stopped = make([ROW] * 6, out="o.parquet")

    def stop(stage, done, total):
        if (stage, done) == ("scoring", 4):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_file(stopped, stop)
    summary, out = _scored_parquet(replace(stopped, resume=True))

    assert (summary["resumed_at"], [row["total"] for row in out]) == (4, [1.0] * 6)
