"""Parquet in and out."""

import sys

import pytest

from grpo_core.bulk.parquet import ColumnTypes
from grpo_core.bulk.sources import open_source
from grpo_core.errors import DataError, MissingExtraError

pa = pytest.importorskip("pyarrow", reason="the extra 'train' is not installed")
pq = pytest.importorskip("pyarrow.parquet")


def rows_of(path, skip=0):
    return [(located.number, located.row) for located in open_source(path).rows(skip)]


def test_rows_are_read_over_row_groups(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, None, 4]}), tmp_path / "d.parquet", row_group_size=2)

    assert rows_of(tmp_path / "d.parquet") == [
        (0, {"a": 1}), (1, {"a": 2}), (2, {"a": None}), (3, {"a": 4}),
    ]  # fmt: skip
    assert rows_of(tmp_path / "d.parquet", 3) == [(3, {"a": 4})]
    assert rows_of(tmp_path / "d.parquet", 9) == []


def test_time_of_day_that_would_lose_nanoseconds_is_refused(tmp_path):
    table = pa.table({"at": pa.array([1_000, 2_001], pa.time64("ns"))})
    pq.write_table(table, tmp_path / "d.parquet")

    with pytest.raises(DataError) as caught:
        rows_of(tmp_path / "d.parquet")

    assert str(caught.value) == (
        f"column 'at', data file {tmp_path / 'd.parquet'}, row 1: expected a time in microseconds "
        f"at most, got 00:00:00.000002001; round the column, or write it as a text or an integer"
    )


@pytest.mark.parametrize("keep", [0, 3, 20, -5])
def test_truncated_file_is_named(tmp_path, keep):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": ["x"] * 1000}), path)
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(DataError, match=r"d.parquet is no parquet, or broken or cut off: "):
        rows_of(path)


def test_page_that_is_broken_is_named(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"a": [f"text {i}" for i in range(5000)]}), path)
    data = bytearray(path.read_bytes())
    data[40:4000] = b"\xff" * 3960
    path.write_bytes(data)

    with pytest.raises(DataError, match=r"d.parquet is no parquet, or broken or cut off: "):
        rows_of(path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "d.parquet")

    with pytest.raises(DataError, match=r"d.parquet has two columns 'a'; rename one"):
        rows_of(tmp_path / "d.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(
        MissingExtraError, match=r'parquet needs .*pip install "grpo-core\[train\]"'
    ):
        rows_of(tmp_path / "d.parquet")


def types_of(*chunks, chats=()):
    types = ColumnTypes("d.jsonl", chats)
    for chunk in chunks:
        types.add([(f"row {i}", row) for i, row in enumerate(chunk)])
    return {field.name: str(field.type) for field in types.schema()}


def test_types_grow_from_chunk_to_chunk():
    found = types_of([{"a": None, "b": 1, "c": True}], [{"a": "x", "b": 1.5, "d": [1]}])

    assert found == {"a": "string", "b": "double", "c": "bool", "d": "string"}


def test_chats_stay_chats_and_other_objects_become_text():
    rows = [{"completion": [{"role": "user", "content": "a"}], "meta": {"k": 1}, "none": None}]

    assert types_of(rows, chats=("completion",)) == {
        "completion": "list<item: struct<role: string, content: string>>",
        "meta": "string",
        "none": "string",
    }


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1}, {"a": "x"}],
        [{"a": True}, {"a": 1}],
        [{"a": {"b": 1}}, {"a": "x"}],
        [{"a": 2**64}],
        [{"a": 2**63 - 1}, {"a": 0.5}],
    ],
)
def test_column_of_mixed_kinds_is_named(rows):
    with pytest.raises(DataError, match=r"d.jsonl: column 'a' mixes kinds"):
        types_of(rows)
    with pytest.raises(DataError, match=r"d.jsonl: column 'a' mixes kinds"):
        types_of(*[[row] for row in rows])
