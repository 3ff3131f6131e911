"""Real data sets as training data: Parquet, `save_to_disk`, the hub and functions, and columns."""

from __future__ import annotations

import json
from datetime import datetime, time
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from grpo_core.completion import Completion
from grpo_core.errors import DataError
from grpo_core.inputs import plan_inputs
from grpo_core.loading import RunData, load_data
from grpo_core.reader import read_draft
from grpo_core.reward import info_of, reward
from grpo_core.sections import DataSection
from grpo_core.source import load
from grpo_core.training import hub

ROWS = [
    {"prompt": "a", "cases": [{"in": 1, "out": "x"}], "meta": {"level": 3}, "tags": ["t", "u"]},
    {"prompt": "b", "cases": [], "meta": None, "tags": []},
]


@reward
def nested(
    completion: Completion,
    cases: list[dict[str, Any]],
    tags: tuple[str, ...],
    meta: dict[str, int] | None,
) -> float:
    """Takes what the columns hold."""
    return 1.0


def data_of(folder: Path, path: str, further: str = "") -> RunData:
    (folder / "run.toml").write_text(f'[data]\npath = "{path}"\n{further}')
    return load_data(read_draft(folder / "run.toml"), hub)


def read_back(data: RunData) -> list[dict[str, Any]]:
    """The rows as the trainer reads them from Arrow."""
    assert data.problems == []
    assert data.train is not None
    return datasets.Dataset.from_dict(data.train.table).to_list()


def make(folder: Path, kind: str) -> str:
    dataset = datasets.Dataset.from_list(ROWS)
    if kind == "saved":
        dataset.save_to_disk(folder / "d")
        return "d"
    if kind == "parquet":
        dataset.to_parquet(folder / "d.parquet")
        return "d.parquet"
    if kind == "jsonl":
        (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        return "d.jsonl"
    (folder / "made.py").write_text(
        f"import datasets\ndef rows():\n    return datasets.Dataset.from_list({ROWS!r})\n"
    )
    return "made.py:rows"


@pytest.mark.parametrize("kind", ["saved", "parquet", "jsonl", "function"])
def test_nested_columns_reach_a_reward_as_it_declares_them(tmp_path, kind):
    rows = read_back(data_of(tmp_path, make(tmp_path, kind)))
    plan, problems = plan_inputs(info_of(nested), {}, columns=list(rows[0]))

    assert problems == []
    assert [plan.read(row) for row in rows] == [
        {"cases": [{"in": 1, "out": "x"}], "tags": ("t", "u"), "meta": {"level": 3}},
        {"cases": [], "tags": (), "meta": None},
    ]


def test_struct_column_of_rows_with_other_keys_has_them_as_null(tmp_path):
    datasets.Dataset.from_list(
        [{"prompt": "a", "x": {"p": 1}}, {"prompt": "b", "x": {"q": 2}}]
    ).to_parquet(tmp_path / "d.parquet")

    rows = read_back(data_of(tmp_path, "d.parquet"))

    assert [json.loads(row["x"]) for row in rows] == [{"p": 1, "q": None}, {"p": None, "q": 2}]


def test_chat_column_of_a_real_data_set_stays_a_chat(tmp_path):
    chats = [[{"role": "user", "content": text}] for text in "ab"]
    datasets.Dataset.from_dict({"messages": chats}).save_to_disk(tmp_path / "d")

    rows = read_back(data_of(tmp_path, "d", 'prompt = "messages"\n'))

    assert [row["prompt"] for row in rows] == chats


def test_dates_inside_a_column_become_texts_and_binary_is_refused(tmp_path):
    when = datetime(2024, 5, 6, 7, 8)
    datasets.Dataset.from_list([{"prompt": "a", "x": {"at": when}}]).to_parquet(
        tmp_path / "d.parquet"
    )
    datasets.Dataset.from_list([{"prompt": "a", "x": {"raw": b"\0"}}]).to_parquet(
        tmp_path / "b.parquet"
    )

    assert read_back(data_of(tmp_path, "d.parquet"))[0]["x"] == '{"at": "2024-05-06T07:08:00"}'
    (problem,) = data_of(tmp_path, "b.parquet").problems
    assert "column 'x', " in problem.message
    assert "b.parquet, row 0: expected what JSON can hold, got {'raw': b'" in problem.message


@pytest.mark.parametrize("kind", [pyarrow.timestamp("ns"), pyarrow.duration("ns")])
def test_times_that_would_lose_nanoseconds_are_refused(tmp_path, kind):
    times = pyarrow.array([1_700_000_000_123_456_000, 1_700_000_000_123_456_789], kind)
    table = pyarrow.table({"prompt": ["a", "b"], "at": times})
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")

    (problem,) = data_of(tmp_path, "d.parquet").problems
    whole = data_of(tmp_path, "d.parquet", "limit = 1\n")

    assert "column 'at', " in problem.message
    assert "d.parquet, row 1: expected a time in microseconds at most, got " in problem.message
    assert whole.problems == []


@pytest.mark.parametrize("path", ["d.parquet", "saved"])
def test_time_of_day_that_would_lose_nanoseconds_is_refused(tmp_path, path):
    times = pyarrow.array([3_600_000_001_000, None, 3_600_000_001_002], pyarrow.time64("ns"))
    table = pyarrow.table({"prompt": ["a", "b", "c"], "at": times})
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    datasets.Dataset(table).save_to_disk(tmp_path / "saved")

    (problem,) = data_of(tmp_path, path).problems
    whole = data_of(tmp_path, path, "limit = 2\n")

    assert problem.message == (
        f"column 'at', {tmp_path / path}, row 2: expected a time in microseconds at most, got "
        f"01:00:00.000001002; round the column, or write it as a text or an integer"
    )
    assert whole.problems == []
    assert whole.train is not None
    assert whole.train.table["at"] == [time(1, 0, 0, 1), None]


def test_saved_data_set_is_fingerprinted_shuffled_and_limited(tmp_path):
    dataset = datasets.Dataset.from_dict({"prompt": [f"p{i}" for i in range(20)]})
    dataset.save_to_disk(tmp_path / "d")

    loaded = load(DataSection(path="d", limit=4, seed=2), tmp_path, hub, "data")

    assert [row["prompt"] for row in loaded.rows] == [f"p{p.number}" for p in loaded.places]
    assert len(loaded.rows) == 4
    assert loaded.fingerprint["path"] == str(tmp_path / "d")
    assert loaded.fingerprint["fingerprint"] == datasets.load_from_disk(tmp_path / "d")._fingerprint


def test_saved_splits_are_chosen_by_name(tmp_path):
    datasets.DatasetDict(
        {
            "train": datasets.Dataset.from_dict({"prompt": ["a", "b"]}),
            "test": datasets.Dataset.from_dict({"prompt": ["c"]}),
        }
    ).save_to_disk(tmp_path / "d")

    data = data_of(tmp_path, "d", 'split = "train"\n[eval]\nsplit = "test"\n')
    (open_split,) = data_of(tmp_path, "d").problems
    (wrong,) = data_of(tmp_path, "d", 'split = "tst"\n').problems

    assert read_back(data)[1]["prompt"] == "b"
    assert data.evaluation is not None
    assert data.evaluation.table == {"prompt": ["c"]}
    assert open_split.message.endswith("has the splits test, train; say which one with split")
    assert wrong.message.endswith(
        "has no split 'tst'. Did you mean 'test'? Splits are test, train."
    )


def test_saved_data_set_that_is_damaged_is_named(tmp_path):
    datasets.Dataset.from_dict({"prompt": ["a"]}).save_to_disk(tmp_path / "d")
    (arrow,) = (tmp_path / "d").glob("*.arrow")
    arrow.write_bytes(arrow.read_bytes()[:40])

    (problem,) = data_of(tmp_path, "d").problems

    assert problem.where == "data.path"
    assert problem.message.startswith(f"{tmp_path / 'd'} cannot be loaded: ")


def test_hub_name_hands_over_configuration_and_split(tmp_path, monkeypatch):
    calls = []

    def load_dataset(path: str, name: str | None, *, split: str) -> datasets.Dataset:
        calls.append((path, name, split))
        return datasets.Dataset.from_dict({"prompt": [split, "x"]})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)

    data = data_of(tmp_path, "org/name", 'name = "main"\nlimit = 1\n[eval]\nsplit = "test[:2]"\n')

    assert calls == [("org/name", "main", "train"), ("org/name", "main", "test[:2]")]
    assert read_back(data) == [{"prompt": "train"}]
    assert data.evaluation is not None
    assert data.evaluation.table["prompt"] == ["test[:2]", "x"]
    assert data.evaluation.fingerprint["split"] == "test[:2]"


def test_hub_name_that_cannot_be_reached_is_named(monkeypatch):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    with pytest.raises(DataError) as caught:
        hub.from_hub("nowhere/at-all", None, "train")

    text = str(caught.value)
    assert text.startswith(
        "'nowhere/at-all' is neither a file or folder here nor a hub data set that can be loaded "
        "(configuration default, split train): "
    )
    assert "\n" not in text


def test_data_set_of_a_function_by_split(tmp_path):
    (tmp_path / "made.py").write_text(
        "import datasets\n"
        "def rows():\n"
        "    part = datasets.Dataset.from_dict\n"
        "    return {'a': part({'prompt': ['x']}), 'b': part({'prompt': ['y']})}\n"
    )

    assert read_back(data_of(tmp_path, "made.py:rows", 'split = "b"\n')) == [{"prompt": "y"}]
