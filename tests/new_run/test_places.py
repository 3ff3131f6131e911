"""Paths of a new config: typed as seen from the shell, written as seen from the config."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grpo_core.errors import ConfigError
from grpo_core.new_run.places import check_free, code_path, data_path, model_name, write_new


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows, a model and a link to another place, in which the shell is."""
    (tmp_path / "here/rows").mkdir(parents=True)
    (tmp_path / "here/model").mkdir()
    (tmp_path / "here/configs").mkdir()
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "here/link").symlink_to(tmp_path / "far/away")
    (tmp_path / "here/rows/train.jsonl").touch()
    (tmp_path / "far/away/train.jsonl").touch()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("typed", "folder", "written"),
    [
        ("rows/train.jsonl", ".", "rows/train.jsonl"),
        ("./rows", ".", "rows"),
        ("rows/train.jsonl", "configs", "../rows/train.jsonl"),
        ("../here/rows", "configs", "../rows"),
        ("link/train.jsonl", "configs", "../link/train.jsonl"),
        ("rows/train.jsonl", "link", "../../here/rows/train.jsonl"),
        ("rows.py:made", "configs", "../rows.py:made"),
        ("package.rows:made", "configs", "package.rows:made"),
        ("owner/data", "configs", "owner/data"),
    ],
)
def test_data_path_as_seen_from_the_config(typed, folder, written):
    assert data_path(typed, Path(folder)) == written


def test_data_path_that_is_absolute_stays(here):
    assert data_path(f"{here}/rows", Path("configs")) == f"{here}/rows"


@pytest.mark.parametrize(
    ("typed", "folder", "written"),
    [
        ("model", ".", "model"),
        ("model/", "configs", "../model"),
        ("owner/model", ".", "owner/model"),
        ("./away", ".", "./away"),
        ("models/of/mine", ".", "./models/of/mine"),
    ],
)
def test_model_that_is_no_folder_stays_what_it_was_meant_as(typed, folder, written):
    assert model_name(typed, Path(folder)) == written


def test_code_path_of_an_installed_reward_stays():
    assert code_path("acme:words/has_end", Path("configs")) == "acme:words/has_end"


# The new file


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("taken", [["run.toml"], ["run.toml", "run-2.toml"]])
def test_place_that_is_taken_names_a_free_one(here, taken):
    for name in taken:
        (here / name).touch()

    with pytest.raises(ConfigError, match=f"free is run-{len(taken) + 1}.toml$"):
        check_free(Path("run.toml"))


def test_new_file_never_replaces_one_that_came_meanwhile(here):
    (here / "run.toml").write_text("mine")

    with pytest.raises(ConfigError, match="exists already and is not overwritten"):
        write_new(Path("run.toml"), "other")

    assert (here / "run.toml").read_text() == "mine"
    assert list(here.glob("run.toml?*")) == []


@pytest.mark.parametrize("calls", [("link", "rename"), ("write_text",)])
def test_new_file_that_cannot_be_written_leaves_nothing(here, monkeypatch, calls):
    for call in calls:
        monkeypatch.setattr(os if call == "link" else Path, call, full)

    with pytest.raises(ConfigError, match=r"^run.toml cannot be written: No space left on device$"):
        write_new(Path("run.toml"), "text")

    assert list(here.glob("run.toml*")) == []


def test_new_file_where_there_are_no_hard_links(here, monkeypatch):
    monkeypatch.setattr(os, "link", full)

    write_new(Path("run.toml"), "text")

    assert (here / "run.toml").read_text() == "text"
    assert list(here.glob("run.toml?*")) == []
