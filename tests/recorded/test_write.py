"""The record's files: their names, what is set aside, and that none is half there."""

import os

import pyarrow as pa
import pytest
from recorded_batches import batch_of

from grpo_core.errors import DataError, RunDirError
from grpo_core.recorded.names import RecordName, name_of
from grpo_core.recorded.read import read_record
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection

NAMES = {
    "step-000120-r0.parquet": RecordName(120, "train", 1, 0),
    "step-000120-g2-r3.parquet": RecordName(120, "train", 2, 3),
    "eval-000000-r0.parquet": RecordName(0, "eval", 1, 0),
    "step-12345678-r0.parquet": RecordName(12345678, "train", 1, 0),
}


@pytest.mark.parametrize("name", NAMES)
def test_name_says_step_mode_part_and_rank(tmp_path, name):
    assert name_of(tmp_path / name) == NAMES[name]
    assert NAMES[name].file == name


@pytest.mark.parametrize("name", ["x.parquet", ".step-000001-r0.parquet.partial", "step-1.parquet"])
def test_other_names_are_none_of_the_record(tmp_path, name):
    assert name_of(tmp_path / name) is None


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "completions"


def record(folder, rank=0, world=1, **section):
    return CompletionRecord(folder, RecordSection(**section), rank, world)


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def steps(tmp_path):
    return [batch.step for batch in read_record(tmp_path)]


def test_files_read_back_in_order(tmp_path, folder):
    for step in (3, 1, 2):
        record(folder).write(batch_of(step))

    assert steps(tmp_path) == [1, 2, 3]


def test_steps_that_come_again_are_set_aside(tmp_path, folder):
    for step in (1, 2, 3):
        record(folder).write(batch_of(step))

    record(folder).begin(1)

    assert steps(tmp_path) == [1]
    assert names(folder) == [
        "step-000001-r0.parquet",
        "superseded/step-000002-r0.parquet",
        "superseded/step-000003-r0.parquet",
    ]


def test_step_that_comes_a_third_time_overwrites_nothing(folder):
    for _ in range(3):
        record(folder).begin(0)
        record(folder).write(batch_of(1))

    assert names(folder) == [
        "step-000001-r0.parquet",
        "superseded/step-000001-r0.2.parquet",
        "superseded/step-000001-r0.parquet",
    ]


def test_evaluation_that_comes_again_replaces_the_first(folder):
    """A run that goes on evaluates once more before its first step."""
    record(folder).write(batch_of(2, mode="eval"))
    again = record(folder)
    again.begin(2)

    again.write(batch_of(2, mode="eval", part=again.next_part("eval", 2)))
    again.write(batch_of(2, mode="eval", part=again.next_part("eval", 2)))

    assert names(folder) == [
        "eval-000002-g2-r0.parquet",
        "eval-000002-r0.parquet",
        "superseded/eval-000002-r0.parquet",
    ]


def test_half_files_of_a_killed_process_go(folder):
    folder.mkdir()
    (folder / ".step-000002-r0.parquet.partial").write_bytes(b"PAR1")
    (folder / ".step-000002-r1.parquet.partial").write_bytes(b"PAR1")  # another rank's

    record(folder, world=2).begin(1)

    assert names(folder) == [".step-000002-r1.parquet.partial"]


def test_file_of_another_rank_is_not_set_aside(folder):
    record(folder, rank=1, world=2).write(batch_of(2, rank=1, world=2))

    record(folder, world=2).begin(0)

    assert names(folder) == ["step-000002-r1.parquet"]


def test_files_of_ranks_that_are_no_more_are_set_aside(folder):
    for rank in range(4):
        record(folder, rank=rank, world=4).write(batch_of(2, rank=rank, world=4))

    record(folder, rank=1, world=2).begin(1)

    assert names(folder) == [
        "step-000002-r0.parquet",
        "step-000002-r2.parquet",
        "superseded/step-000002-r1.parquet",
        "superseded/step-000002-r3.parquet",
    ]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_file_that_cannot_be_written_leaves_no_half(folder, monkeypatch, error):
    def fails(descriptor):
        raise error

    monkeypatch.setattr(os, "fsync", fails)

    with pytest.raises((RunDirError, KeyboardInterrupt)) as caught:
        record(folder).write(batch_of(1))

    assert names(folder) == []
    if isinstance(error, OSError):
        path = folder / "step-000001-r0.parquet"
        assert str(caught.value) == f"{path} cannot be written: No space left on device"


def test_broken_file_is_named(tmp_path, folder):
    record(folder).write(batch_of(1))
    path = folder / "step-000001-r0.parquet"
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(DataError, match=r"step-000001-r0.parquet cannot be read: "):
        steps(tmp_path)


def test_file_of_something_else_is_named(tmp_path, folder):
    folder.mkdir()
    pa.parquet.write_table(pa.table({"x": [1]}), folder / "step-000001-r0.parquet")

    with pytest.raises(DataError, match="it is no record of completions"):
        steps(tmp_path)


def test_record_that_is_off_writes_nothing(folder):
    record(folder, completions="off").write(batch_of(1))

    assert not folder.exists()


@pytest.mark.parametrize("rank", [-1, 2])
def test_rank_that_is_none_of_the_world_is_refused(folder, rank):
    with pytest.raises(ValueError, match=f"expected a rank from 0 to 1, got {rank}"):
        record(folder, rank=rank, world=2)
