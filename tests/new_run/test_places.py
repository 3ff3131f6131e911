"""Paths of a new config: typed as seen from the shell, written as seen from the config."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_core.new_run.places import code_path, data_path, model_name


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
