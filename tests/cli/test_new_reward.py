"""`grpo new reward`: what it says, and what it refuses before anything is written."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app
from grpo_core.errors import ConfigError


@pytest.fixture
def folder(site, tmp_path, monkeypatch):
    """A working folder; what `site` installs counts as installed."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def new(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["new", "reward", *arguments])


def refusal(*arguments: str) -> str:
    result = new(*arguments)
    assert result.stdout == ""
    assert isinstance(result.exception, ConfigError), result.exception
    return str(result.exception)


def test_report_names_the_files_and_the_next_three_commands(folder):
    result = new("units")

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "written: grpo-reward-units",
        "  README.md",
        "  grpo_reward_units.py",
        "  pyproject.toml",
        "  tests/test_grpo_reward_units.py",
        "next:",
        "  pip install -e './grpo-reward-units[test]'",
        "  grpo score units/last_number_equals --text 'It is 85.' --input answer=85",
        "  pytest ./grpo-reward-units",
        "It has no licence yet; add one before you publish it.",
    ]


def test_group_form_is_scored_by_its_own_name(folder):
    assert "  grpo score units/answers_briefly --text" in new("units", "--group").stdout


def test_folder_may_be_elsewhere(folder):
    (folder / "my plugins").mkdir()

    result = new("units", "--class", "--dir", "my plugins")

    assert (folder / "my plugins/grpo-reward-units/grpo_reward_units.py").is_file()
    assert "  pip install -e './my plugins/grpo-reward-units[test]'\n" in result.stdout
    assert "  pytest './my plugins/grpo-reward-units'\n" in result.stdout


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Units", "; 'units' would do"),
        ("my_units", "; 'my-units' would do"),
        ("2-units", "; 'units' would do"),
        ("units-", "; 'units' would do"),
        ("my--units", "; 'my-units' would do"),
        ("a/b", "; 'a-b' would do"),
        ("../units", "; 'units' would do"),
        ("größe", "; 'gr-e' would do"),
        ("", ""),
        ("u" * 61, f"; {'u' * 60!r} would do"),
    ],
)
def test_name_that_cannot_be_one_is_refused_with_one_that_would_do(folder, name, advice):
    text = refusal(name)

    assert text == (
        "a reward package's name is lower-case letters, digits and single hyphens, begins with a "
        f"letter and has at most 60 characters, got {name!r}{advice}"
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["grpo-reward-units", "grpo_reward_units"])
def test_name_of_the_whole_distribution_is_refused(folder, name):
    assert refusal(name) == (
        f"the name {name!r} would become grpo-reward-grpo-reward-units; give what comes behind "
        f"'grpo-reward-': 'units'"
    )


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("reward-units", "'reward-': 'units'"),
        ("Reward_Units", "'reward-': 'units'"),
        ("reward", "'reward-'"),
        ("grpo-reward", "'grpo-reward-'"),
    ],
)
def test_name_that_repeats_the_prefix_is_refused(folder, name, advice):
    assert refusal(name).endswith(f"; give what comes behind {advice}")


def test_name_that_only_begins_like_the_prefix_is_free(folder):
    assert new("rewarding").exit_code == 0


@pytest.mark.parametrize("value", ["", " "])
def test_folder_without_a_name_is_refused(folder, value):
    assert refusal("units", "--dir", value) == (
        f"--dir: expected a folder, got {value!r}; leave it out for this one"
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("entry", ["units", "Units"])
def test_name_of_an_installed_entry_is_refused(site, folder, entry):
    site.install("acme-rewards", entry=entry, version="2.1")

    assert refusal("units") == (
        "the name 'units' is taken: it is the entry of acme-rewards 2.1, which is installed; two "
        "with one entry would shut each other out. Choose another name"
    )
    assert list(folder.iterdir()) == []


def test_name_of_a_blocked_plugin_is_refused_too(site, folder, monkeypatch):
    site.install("acme-rewards", entry="units")
    monkeypatch.setenv("GRPO_CORE_BLOCK", "acme-rewards")

    assert "is the entry of acme-rewards 1.0" in refusal("units")


def test_name_of_an_installed_distribution_is_refused(site, folder):
    site.install("grpo-reward-units", entry="other")

    assert refusal("units") == (
        "the name 'units' is taken: grpo-reward-units 1.0 is installed already. Choose another name"
    )


def test_name_of_an_importable_module_is_refused(site, folder):
    site.write("grpo_reward_units.py", "raise SystemExit")

    assert "a module grpo_reward_units is installed already" in refusal("units")


@pytest.mark.parametrize("kind", ["folder", "file", "dead link"])
def test_folder_that_exists_is_refused(folder, kind):
    place = folder / "grpo-reward-units"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("")
    else:
        place.symlink_to("nowhere")

    assert refusal("units") == (
        "grpo-reward-units exists already and is not overwritten; choose another name, or another "
        "folder with --dir"
    )
    assert [p.name for p in folder.iterdir()] == ["grpo-reward-units"]


def test_folder_that_is_not_there_is_refused(folder):
    assert refusal("units", "--dir", "plugins") == (
        "plugins/grpo-reward-units cannot be written: there is no folder plugins"
    )


def test_two_forms_are_refused(folder):
    assert refusal("units", "--class", "--async") == (
        "a reward has one form to begin with, got --class and --async; give one of them"
    )
    assert list(folder.iterdir()) == []
