"""A batch that was written reads back as it was, cell by cell."""

import json

import numpy as np
import pyarrow as pa
import pytest
from recorded_batches import batch_of

from grpo_core.recorded.columns import ABOUT, from_table, to_table


def test_batch_reads_back():
    batch = batch_of()

    again = from_table(to_table(batch, raw_text=True))

    for name in ("step", "mode", "part", "rank", "group_size", "scale", "aggregate", "max_steps"):
        assert getattr(again, name) == getattr(batch, name)
    assert (again.size, again.counted, again.rewards) == (4, (0, 2), batch.rewards)
    for name in ("effective", "weights", "totals", "advantages"):
        np.testing.assert_array_equal(getattr(again, name), getattr(batch, name))
    np.testing.assert_array_equal(again.table.values, batch.table.values)
    np.testing.assert_array_equal(again.table.seconds, batch.table.seconds)
    assert again.table.names == ("a", "s", "b")
    for was, now in zip(batch.table.outcomes, again.table.outcomes, strict=True):
        for first, second in zip(was, now, strict=True):
            assert (first.value, first.status, first.metrics) == (
                second.value,
                second.status,
                second.metrics,
            )


def test_completions_read_back():
    batch = batch_of()

    again = from_table(to_table(batch, raw_text=True)).completions

    for was, now in zip(batch.completions, again, strict=True):
        for name in ("text", "prompt", "prompt_messages", "reply", "raw_text", "token_ids"):
            assert getattr(now, name) == getattr(was, name)
        assert (now.truncated, now.prefill) == (was.truncated, was.prefill)
    assert again[2].reply[0].reasoning == "easy"
    assert again[2].columns == {
        "prompt": batch.completions[2].columns["prompt"],
        "gold": {"n": [1, None]},
        "ä": None,  # JSON has no NaN
    }


def test_half_of_a_surrogate_pair_in_a_reason_becomes_a_question_mark():
    again = from_table(to_table(batch_of(), raw_text=False))

    assert [o.reason for o in again.table.outcomes[0]] == [
        "all of it",
        "no gold",
        "half ?",
        "later than 1 s",
    ]


def test_raw_text_is_kept_only_where_asked():
    table = to_table(batch_of(), raw_text=False)

    assert "raw_text" not in table.column_names
    assert from_table(table).completions[2].raw_text is None


def test_missing_cells_are_null():
    rows = to_table(batch_of(), raw_text=False).to_pylist()

    assert [r["a/value"] for r in rows] == [1.0, None, None, 0.0]
    assert [r["total"] for r in rows] == [0.85, 0.97, None, -0.15]
    assert "s/effective" not in rows[0]


def test_advantages_that_are_not_known_are_null():
    table = to_table(batch_of(advantages=None), raw_text=False)

    assert table["advantage"].null_count == 4
    assert from_table(table).advantages is None


@pytest.mark.parametrize("about", [None, b"7", json.dumps({"version": 99}).encode()])
def test_other_parquet_is_refused(about):
    table = pa.table({"x": [1]}).replace_schema_metadata(about and {ABOUT: about})

    with pytest.raises(ValueError, match="no record of completions that this version can read"):
        from_table(table)


@pytest.mark.parametrize(("n", "rows"), [(1, 2), (2, 2), (3, 4), (9, 4)])
def test_first_takes_whole_groups(n, rows):
    first = batch_of().first(n)

    assert len(first.completions) == first.table.n_rows == len(first.totals) == rows
    assert first.size == 4
    assert len(to_table(first, raw_text=False)) == rows
