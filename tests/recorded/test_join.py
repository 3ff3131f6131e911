"""Files of several ranks read as the one generation that they are parts of."""

import dataclasses

import numpy as np
import pyarrow.parquet
import pytest
from recorded_batches import batch_of

from grpo_core.recorded.read import read_record
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection
from grpo_core.table import ScoreTable

TEXTS = ["x", "", "<think>\neasy\n</think>\n\n2", "½"]  # of `batch_of`


def part(step, rank, rows, world=2, **changes):
    """Some rows of the generation of `batch_of`, as a rank has them."""
    whole = batch_of(step)
    table = whole.table
    return dataclasses.replace(
        whole,
        rank=rank,
        world=world,
        completions=whole.completions[rows],
        table=ScoreTable(
            table.names,
            table.values[rows],
            tuple(column[rows] for column in table.outcomes),
            table.seconds[rows],
        ),
        effective=whole.effective[rows],
        totals=whole.totals[rows],
        advantages=whole.advantages[rows],
        **({"size": len(whole.completions[rows])} | changes),
    )


@pytest.fixture
def write(tmp_path):
    def write(batch, **section):
        folder = tmp_path / "completions"
        CompletionRecord(folder, RecordSection(**section), batch.rank, batch.world).write(batch)

    return write


def read(tmp_path):
    torn = []
    return list(read_record(tmp_path, torn=torn)), torn


def test_file_without_a_world_is_the_only_one(tmp_path, write):
    write(batch_of(1))
    path = tmp_path / "completions/step-000001-r0.parquet"
    table = pyarrow.parquet.read_table(path)
    about = table.schema.metadata[b"grpo"]
    assert b'"world": 1, ' in about
    old = table.replace_schema_metadata({b"grpo": about.replace(b'"world": 1, ', b"")})
    pyarrow.parquet.write_table(old, path)

    [batch], torn = read(tmp_path)

    assert (batch.world, len(batch.completions), torn) == (1, 4, [])


def test_ranks_are_joined_in_their_order(tmp_path, write):
    """Two ranks of two rows, which are one group each."""
    write(part(1, 1, slice(2, 4)))
    write(part(1, 0, slice(0, 2)))

    [batch], torn = read(tmp_path)

    whole = batch_of(1)
    assert torn == []
    assert (batch.rank, batch.world, batch.size) == (0, 1, 4)
    assert [c.text for c in batch.completions] == TEXTS
    for name in ("effective", "totals", "advantages", "weights"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(whole, name))
    np.testing.assert_array_equal(batch.table.values, whole.table.values)
    np.testing.assert_array_equal(batch.table.seconds, whole.table.seconds)
    assert [o.status for o in batch.table.outcomes[0]] == [
        "scored",
        "skipped",
        "failed",
        "timed_out",
    ]


def test_group_that_lies_over_four_ranks_is_whole(tmp_path, write):
    for rank in (3, 0, 2, 1):
        write(part(1, rank, slice(rank, rank + 1), world=4))

    [batch], _ = read(tmp_path)

    assert [c.text for c in batch.completions] == TEXTS
    paths = [tmp_path / f"completions/step-000001-r{rank}.parquet" for rank in range(4)]
    rows = [pyarrow.parquet.read_table(path).to_pylist() for path in paths]
    places = [(row["group"], row["index_in_group"]) for [row] in rows]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_step_without_the_file_of_a_rank_is_left_out_and_said(tmp_path, write):
    for step in (1, 2, 3):
        for rank in (0, 1):
            write(part(step, rank, slice(2 * rank, 2 * rank + 2)))
    (tmp_path / "completions/step-000001-r0.parquet").unlink()
    (tmp_path / "completions/step-000003-r1.parquet").unlink()

    batches, torn = read(tmp_path)

    assert [b.step for b in batches] == [2]
    assert torn == [
        "step-000001-r1.parquet: the file of rank 0 is missing, of 2 ranks",
        "step-000003-r0.parquet: the file of rank 1 is missing, of 2 ranks",
    ]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"world": 3}, "its ranks have world 2 and 3"),
        ({"size": 3}, "its ranks have size 2 and 3"),
        ({"counted": (0,)}, "its ranks have counted (0, 2) and (0,)"),
        ({"rewards": {"a": {}, "s": {}, "b": {}}}, "its ranks have other rewards"),
    ],
)
def test_files_that_do_not_fit_are_never_joined(tmp_path, write, changes, why):
    write(part(1, 0, slice(0, 2)))
    write(part(1, 1, slice(2, 4), **changes))

    batches, torn = read(tmp_path)

    assert batches == []
    assert torn == [f"step-000001-r0.parquet: {why}"]


def test_rows_that_are_no_whole_groups_are_left_out(tmp_path, write):
    write(part(1, 0, slice(0, 2)))
    write(part(1, 1, slice(2, 3), size=2))

    assert read(tmp_path) == (
        [],
        ["step-000001-r0.parquet: 3 completions are no whole groups of 2"],
    )


def test_rank_of_an_earlier_run_with_more_processes_is_no_part(tmp_path, write):
    write(batch_of(1))
    write(part(1, 1, slice(2, 4)))

    [batch], torn = read(tmp_path)

    assert (len(batch.completions), torn) == (4, [])


@pytest.mark.parametrize(("n", "kept"), [(1, [2, 0]), (2, [2, 0]), (3, [2, 2]), (4, [2, 2])])
def test_first_of_a_generation_are_those_of_the_first_ranks(tmp_path, write, n, kept):
    """A rank that keeps nothing has an empty file: it is not missing."""
    parts = [part(1, rank, slice(2 * rank, 2 * rank + 2)) for rank in (0, 1)]
    assert [len(p.first(n).completions) for p in parts] == kept
    for p in parts:
        write(p, completions=n)

    [batch], torn = read(tmp_path)

    assert torn == []
    assert (len(batch.completions), batch.size) == (sum(kept), 4)
    assert batch.weights.tolist() == [1.0, -0.3]


def test_advantages_that_one_rank_does_not_know_are_not_known(tmp_path, write):
    write(part(1, 0, slice(0, 2)))
    write(dataclasses.replace(part(1, 1, slice(2, 4)), advantages=None))

    [batch], _ = read(tmp_path)

    assert batch.advantages is None
