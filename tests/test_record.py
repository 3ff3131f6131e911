"""`RunDir`: a directory of its own for each run, and files that read back as they were."""

import dataclasses
import json
import math
import threading
import tomllib
from datetime import UTC, date, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grpo_core.errors import RunDirError
from grpo_core.record import RunDir, file_sha256, next_free, to_json, to_toml


class Level(IntEnum):
    LOW = 1


@dataclasses.dataclass
class Thing:
    x: int = 1


def test_run_dir_creates_its_parents(tmp_path):
    run = RunDir(tmp_path / "a" / "b")

    assert run.path.is_dir()


def in_the_way(path: Path, kind: str) -> None:
    if kind == "directory":
        path.mkdir()
    elif kind == "file":
        path.write_text("keep me", encoding="utf-8")
    else:
        path.symlink_to(path.parent / "nowhere")


@pytest.mark.parametrize("kind", ["directory", "file", "broken link"])
def test_run_dir_never_overwrites_what_is_in_the_way(tmp_path, kind):
    in_the_way(tmp_path / "run", kind)

    with pytest.raises(RunDirError) as caught:
        RunDir(tmp_path / "run")

    assert str(caught.value) == (
        f"{tmp_path / 'run'} exists already and a run never overwrites another; free is "
        f"{tmp_path / 'run-001'}"
    )


def test_run_dir_below_a_file_says_what_is_wrong(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(RunDirError, match=r"cannot be created: .*file cannot be made a folder"):
        RunDir(tmp_path / "file" / "run")
    with pytest.raises(RunDirError, match="cannot be made a folder"):
        RunDir.numbered(tmp_path / "file", "run")


@pytest.mark.parametrize("kind", ["directory", "file", "broken link"])
def test_numbered_goes_on_after_what_is_in_the_way(tmp_path, kind):
    in_the_way(tmp_path / "run-001", kind)

    assert RunDir.numbered(tmp_path, "run").path == tmp_path / "run-002"


def test_numbered_race_for_a_number_takes_the_next(tmp_path, monkeypatch):
    free = [tmp_path / "run-001", tmp_path / "run-002"]
    free[0].symlink_to(tmp_path / "nowhere")  # what another process has just made
    monkeypatch.setattr("grpo_core.record.next_free", lambda path: free[0])
    lexists = []

    def appears(path):
        lexists.append(path)
        monkeypatch.setattr("grpo_core.record.next_free", lambda path: free[1])
        return True

    monkeypatch.setattr("grpo_core.record.os.path.lexists", appears)

    assert RunDir.numbered(tmp_path, "run").path == free[1]
    assert lexists == [free[0]]


def test_numbered_many_at_once_get_a_directory_each(tmp_path):
    made: list[Path] = []
    threads = [
        threading.Thread(target=lambda: made.append(RunDir.numbered(tmp_path, "run").path))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(p.name for p in made) == [f"run-{n:03d}" for n in range(1, 9)]


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ([], "run-001"),
        (["run-001"], "run-002"),
        (["run-001", "run-007"], "run-008"),
        (["run-999"], "run-1000"),
        (["run-1000", "run-2"], "run-1001"),
        (["run", "run-x", "run-001-old", "other-005", "xrun-009"], "run-001"),
    ],
)
def test_next_free_comes_after_all_that_exist(tmp_path, present, expected):
    for name in present:
        (tmp_path / name).mkdir()

    assert next_free(tmp_path / "run") == tmp_path / expected


def test_next_free_name_is_no_pattern(tmp_path):
    (tmp_path / "a+b-001").mkdir()

    assert next_free(tmp_path / "a+b").name == "a+b-002"


def test_next_free_of_the_working_directory_stands_beside_it(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    assert next_free(Path(".")) == tmp_path / "here-001"


def written(tmp_path: Path, content: dict[str, Any]) -> dict[str, Any]:
    run = RunDir(tmp_path / "run")
    run.write_manifest(content)
    assert [p.name for p in run.path.iterdir()] == ["manifest.json"]  # no half file is left
    return json.loads(
        (run.path / "manifest.json").read_text(encoding="utf-8"), parse_constant=pytest.fail
    )


def test_manifest_names_time_python_and_libraries(tmp_path):
    manifest = written(tmp_path, {"data": {"rows": 3}})

    assert datetime.fromisoformat(manifest["created"]).tzinfo == UTC
    assert manifest["python"].count(".") == 2
    assert manifest["libraries"]["numpy"] == np.__version__
    assert set(manifest["libraries"]) >= {"grpo-core", "trl", "torch", "transformers", "peft"}
    assert manifest["data"] == {"rows": 3}


def test_manifest_takes_whatever_options_a_script_hands_over(tmp_path):
    manifest = written(
        tmp_path, {"options": {("a", 1): {3, 1}, "f": math.nan, "t": Thing(), "s": "\udc80ä"}}
    )

    assert manifest["options"] == {
        "('a', 1)": [1, 3],
        "f": None,
        "t": "Thing(x=1)",
        "s": "\udc80ä",
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, None),
        (-math.inf, None),
        (np.float32(0.5), 0.5),
        (np.float32("nan"), None),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array(2.0), 2.0),
        (np.array([1.0, np.nan]), [1.0, None]),
        ((1, [math.nan]), [1, [None]]),
        (Level.LOW, 1),
        (Path("a/b"), "a/b"),
        (date(2026, 1, 2), "2026-01-02"),
        (b"x", "b'x'"),
        ({1: {"a": None}}, {"1": {"a": None}}),
    ],
)
def test_to_json_gives_what_json_can_hold(value, expected):
    assert to_json(value) == expected
    assert json.loads(json.dumps(to_json(value), allow_nan=False)) == expected


def test_metrics_are_one_object_a_line(tmp_path):
    run = RunDir(tmp_path / "run")

    run.log_metrics(10, {"reward": 0.5, "kl": math.nan, "grpo/x": np.float32(0.25), "s": "ä"})
    run.log_metrics(20, {"reward": math.inf, "step": 99, "nested": {"a": [math.nan]}})

    lines = (run.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"step": 10, "reward": 0.5, "kl": None, "grpo/x": 0.25, "s": "ä"},
        {"step": 20, "reward": None, "nested": {"a": [None]}},
    ]


def test_metrics_line_is_there_at_once(tmp_path):
    run = RunDir(tmp_path / "run")

    run.log_metrics(1, {"reward": 0.5})

    assert (run.path / "metrics.jsonl").read_text(encoding="utf-8").endswith("}\n")


def test_metrics_go_on_in_the_file(tmp_path):
    run = RunDir(tmp_path / "run")
    run.log_metrics(1, {})

    run.log_metrics(2, {})

    assert (run.path / "metrics.jsonl").read_text(encoding="utf-8") == '{"step": 1}\n{"step": 2}\n'


TABLES: dict[str, Any] = {
    "model": {"name": 'a"b\\c\n\t\x00\x7f\u2028ä😀', "lora": {"r": 16}},
    "rewards": {
        "format/tags#2": {"use": "x", "options": {}},
        "": {"weight": 1e-06},
        "ä 'q\"": {"options": {"a.b": [1, [2, "x"]], "deep": {"er": {"x": True}}}},
        "empty": {},
    },
    "train": {
        "big": 2**80,
        "inf": math.inf,
        "ninf": -math.inf,
        "small": 5e-324,
        "huge": 1e22,
        "zero": -0.0,
        "list": [{"a": 1, "b": {"c": [{}]}}, {}],
        "false": False,
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "-key_1": "bare",
    },
    "top": 1,
}


def test_to_toml_reads_back_as_it_was():
    assert tomllib.loads(to_toml(TABLES)) == TABLES


def test_to_toml_nan_reads_back():
    assert math.isnan(tomllib.loads(to_toml({"x": math.nan}))["x"])


def test_to_toml_none_is_left_out():
    assert tomllib.loads(to_toml({"a": None, "b": {"c": None}, "d": [{"e": None}, None]})) == {
        "b": {},
        "d": [{}],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(0.5), 0.5),
        (Level.LOW, 1),
        ((1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (Path("a/b"), "a/b"),
        ("half \udc80", "half ?"),
    ],
)
def test_to_toml_values_of_a_script_become_toml(value, expected):
    assert tomllib.loads(to_toml({"x": value})) == {"x": expected}


def test_to_toml_key_that_is_no_text_becomes_one():
    assert tomllib.loads(to_toml({1: {2: 3}})) == {"1": {"2": 3}}


def test_to_toml_plain_keys_after_a_table_stay_at_the_top():
    assert tomllib.loads(to_toml({"t": {"x": 1}, "y": 2})) == {"t": {"x": 1}, "y": 2}


def test_config_file_reads_back(tmp_path):
    run = RunDir(tmp_path / "run")

    run.write_config(TABLES)

    assert tomllib.loads((run.path / "config.toml").read_text(encoding="utf-8")) == TABLES


def test_file_sha256_is_that_of_the_content(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")

    # The example of FIPS 180-2.
    assert file_sha256(tmp_path / "f") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


@pytest.mark.parametrize("name", ["manifest.json", "config.toml"])
def test_file_that_cannot_be_written_is_named_and_leaves_no_half(tmp_path, monkeypatch, name):
    run = RunDir(tmp_path / "run")

    def full(path, *args, **kwargs):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)

    with pytest.raises(RunDirError, match=f"run/{name} cannot be written: No space left on device"):
        run.write_manifest({}) if name == "manifest.json" else run.write_config({})

    assert list(run.path.iterdir()) == []
