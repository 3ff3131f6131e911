"""Many generations in one file: nothing is lost or doubled, whenever the process is killed."""

import os

import pytest
from recorded_batches import batch_of

import grpo_core.recorded.write
from grpo_core.errors import DataError, RunDirError
from grpo_core.recorded.read import read_record
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection


@pytest.fixture(autouse=True)
def at_four(monkeypatch):
    """Merges at four files, not at hundreds."""
    monkeypatch.setattr(grpo_core.recorded.write, "MERGE_AT", 4)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "completions"


def record(folder, rank=0, world=1):
    return CompletionRecord(folder, RecordSection(), rank, world)


def write(folder, *steps, **changes):
    made = record(folder)
    made.begin(steps[0] - 1)
    for step in steps:
        made.write(batch_of(step, **changes))


def names(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def read(folder, mode=None):
    return [(b.step, b.part, len(b.completions)) for b in read_record(folder.parent, mode)]


def whole(*steps):
    return [(step, 1, 4) for step in steps]


def test_files_of_earlier_steps_are_merged(folder):
    write(folder, *range(1, 10))

    assert names(folder) == [
        "step-000001-000003-r0.parquet",
        "step-000004-000007-r0.parquet",
        "step-000008-r0.parquet",
        "step-000009-r0.parquet",
    ]
    assert read(folder) == whole(*range(1, 10))


def test_generation_reads_back_as_it_was(folder):
    write(folder, 1, 2, 3, 4, 5)

    batches = list(read_record(folder.parent))

    for step, batch in enumerate(batches, 1):
        was = batch_of(step)
        assert (batch.step, batch.part, batch.size, batch.rewards) == (step, 1, 4, was.rewards)
        assert batch.table.values.tolist()[0] == was.table.values.tolist()[0]
        assert [c.text for c in batch.completions] == [c.text for c in was.completions]
        assert batch.advantages.tolist() == was.advantages.tolist()


def test_parts_of_a_step_stay_together(folder):
    made = record(folder)
    for step in (1, 2, 3):
        for part in (1, 2):
            made.write(batch_of(step, part=part))

    assert names(folder)[0] == "step-000001-000001-r0.parquet"
    assert read(folder) == [(step, part, 4) for step in (1, 2, 3) for part in (1, 2)]


@pytest.mark.parametrize("done", range(10))
def test_resume_behind_any_step_neither_loses_nor_doubles(folder, done):
    """Within a merged file, at its end, and where nothing is merged."""
    write(folder, *range(1, 10))

    made = record(folder)
    made.begin(done)

    assert read(folder) == whole(*range(1, done + 1))
    for step in range(done + 1, 12):
        made.write(batch_of(step))
    assert read(folder) == whole(*range(1, 12))
    aside = {name.partition("/")[2] for name in names(folder) if "/" in name}
    assert any(name.startswith("step-000009") for name in aside) == (done < 9)


class Killed(BaseException):
    """What SIGKILL is to the code: nothing runs behind it."""


@pytest.mark.parametrize("n", range(12))
def test_kill_at_any_moment_of_a_merge_or_a_cut(folder, monkeypatch, n):
    """Dies at the n-th change of the folder, then goes on behind step 5 of 9, and dies again."""
    count = 0
    changes = {name: getattr(os, name) for name in ("replace", "unlink")}

    def counting(name):
        def change(*args, **kwargs):
            nonlocal count
            count += 1
            if count > n:
                raise Killed
            return changes[name](*args, **kwargs)

        return change

    for name in changes:
        monkeypatch.setattr(os, name, counting(name))
    done = 0
    try:
        for done in range(9):  # the last whole step, as a checkpoint behind each step has it
            if done == 0:
                made = record(folder)
            made.write(batch_of(done + 1))
    except Killed:
        pass
    assert read(folder)[:done] == whole(*range(1, done + 1))
    count = 0
    resumed = min(done, 5)
    try:
        record(folder).begin(resumed)
    except Killed:
        pass
    assert read(folder)[:resumed] == whole(*range(1, resumed + 1))
    count = -1000

    made = record(folder)
    made.begin(resumed)

    assert read(folder) == whole(*range(1, resumed + 1))
    for step in range(resumed + 1, 12):
        made.write(batch_of(step))
    assert read(folder) == whole(*range(1, 12))
    kept = [name for name in names(folder) if "/" not in name]
    assert len(kept) <= 6  # of 11
    assert [name for name in names(folder) if "partial" in name] == []


def test_evaluation_that_comes_again_leaves_the_merged_file(folder):
    made = record(folder)
    for step in (2, 4):
        for part in (1, 2):
            made.write(batch_of(step, mode="eval", part=part))
    made.write(batch_of(6, mode="eval"))
    assert "eval-000002-000002-r0.parquet" in names(folder)

    again = record(folder)
    again.begin(2)
    again.write(batch_of(2, mode="eval"))

    assert read(folder) == [(2, 1, 4)]
    assert "superseded/eval-000002-000002-r0.parquet" in names(folder)


def test_runs_with_other_rewards_are_not_merged(folder):
    write(folder, 1, 2)
    write(folder, 3, 4, 5, rewards={"a": {}, "s": {}, "b": {}})

    assert names(folder)[:2] == ["step-000001-000002-r0.parquet", "step-000003-r0.parquet"]
    assert read(folder) == whole(1, 2, 3, 4, 5)
    assert [b.rewards["a"] for b in read_record(folder.parent)][1:3] == [{"use": "x/a"}, {}]


def test_each_rank_merges_its_own(folder):
    for rank in (0, 1):
        made = record(folder, rank, 2)
        for step in range(1, 5 + rank):
            made.write(batch_of(step, rank=rank, world=2))

    assert names(folder) == [
        "step-000001-000003-r0.parquet",
        "step-000001-000003-r1.parquet",
        "step-000004-r0.parquet",
        "step-000004-r1.parquet",
        "step-000005-r1.parquet",
    ]
    torn = []
    found = [(b.step, len(b.completions)) for b in read_record(folder.parent, torn=torn)]
    assert found == [(1, 8), (2, 8), (3, 8), (4, 8)]
    assert torn == ["step-000005-r1.parquet: the file of rank 0 is missing, of 2 ranks"]


def test_broken_file_stops_no_run_and_is_named_to_the_reader(folder):
    made = record(folder)
    for step in (1, 2, 3):
        made.write(batch_of(step))
    (folder / "step-000002-r0.parquet").write_bytes(b"PAR1")

    made.write(batch_of(4))

    assert names(folder) == [
        "step-000001-000003-r0.parquet",
        "step-000002-r0.parquet",
        "step-000004-r0.parquet",
    ]
    with pytest.raises(DataError, match=r"step-000002-r0.parquet cannot be read: .* Move it else"):
        read(folder)


def test_broken_merged_file_is_named_to_reader_and_resume(folder):
    write(folder, 1, 2, 3, 4)
    path = folder / "step-000001-000003-r0.parquet"
    path.write_bytes(path.read_bytes()[:99])

    with pytest.raises(DataError, match=r"step-000001-000003-r0.parquet cannot be read: "):
        read(folder)
    with pytest.raises(RunDirError, match=r"step-000001-000003-r0.parquet cannot be read: "):
        record(folder).begin(2)


@pytest.mark.parametrize("name", ["step-000002-r0", "step-000001-g2-r0", "step-000001-r1"])
def test_file_under_the_name_of_another_is_named(folder, name):
    write(folder, 1)
    (folder / f"{name}.parquet").write_bytes((folder / "step-000001-r0.parquet").read_bytes())

    with pytest.raises(DataError, match=f"{name}.parquet is another file than its name says: it w"):
        read(folder)
