"""What `grpo new reward` writes, in each form: a package in order, and what its reward gives."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from grpo_core import load_reward
from grpo_core.errors import ConfigError
from grpo_core.new_reward import Form, plan_reward
from grpo_core.reward import info_of

ROOT = Path(__file__).parent.parent
FORMS = get_args(Form)


@pytest.fixture(params=FORMS)
def made(request, tmp_path):
    new = plan_reward("two-words", request.param, tmp_path)
    new.write()
    return new


def module_of(new):
    path = new.folder / "grpo_reward_two_words.py"
    spec = importlib.util.spec_from_file_location("grpo_reward_two_words", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_package_has_these_files_and_no_others(made):
    files = {p.relative_to(made.folder).as_posix() for p in made.folder.rglob("*") if p.is_file()}

    assert files == {
        "README.md",
        "grpo_reward_two_words.py",
        "pyproject.toml",
        "tests/test_grpo_reward_two_words.py",
    }
    assert [p.name for p in made.folder.parent.iterdir()] == ["grpo-reward-two-words"]


def test_no_stand_in_is_left(made):
    texts = [p.read_text() for p in made.folder.rglob("*") if p.is_file()]

    assert not [text for text in texts if "NAME" in text]


def test_pyproject_names_the_entry_and_the_core_as_plugins_of_this_repository_do(made):
    project = tomllib.loads((made.folder / "pyproject.toml").read_text())["project"]
    own = tomllib.loads((ROOT / "plugins/grpo-reward-format/pyproject.toml").read_text())

    assert project["name"] == "grpo-reward-two-words"
    assert project["entry-points"] == {"grpo_core": {"two-words": "grpo_reward_two_words"}}
    assert project["dependencies"] == own["project"]["dependencies"][:1]
    assert "license" not in project


def test_reward_is_of_the_form_and_documented(made):
    [target] = module_of(made).grpo_rewards()
    info = info_of(target)

    assert info.scope == {"batch": "batch", "group": "group"}.get(made.form, "sample")
    assert info.is_class == (made.form == "class")
    assert info.is_async == (made.form == "async")
    assert made.reward == f"two-words/{info.name}"
    assert [p.name for p in info.inputs] == ["answer"]
    assert [p.name for p in info.options] == ["tolerance"]
    assert "cheat" in target.__doc__


def test_readme_says_range_inputs_and_hacks(made):
    text = (made.folder / "README.md").read_text()

    assert f"| `{made.reward}` | 0 to 1 | `answer`: " in text
    assert "## Known hacks" in text


def test_reward_pays_for_the_last_number(made):
    [target] = module_of(made).grpo_rewards()
    reward = load_reward(target, isolation=None if made.form == "async" else "inline")

    values = [reward(text, answer="85").value for text in ("It is 85.", "85 or 84", "none", "8,5")]

    assert values == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("the range 80-85", "85"),
        ("80 - 85", "85"),
        ("minus five: -5", "-5"),
        ("80, -85", "-85"),
        ("x=-85", "-85"),
        ("in all 1,000", "1000"),
        ("in all 1000", "1,000"),
        ("1,234,567.5", "1234567.5"),
        ("84, 85", "85"),
        ("100,85", "85"),
        ("1.5e3", "1500"),
        ("2E-2", "0.02"),
        ("a half, .5", "0.5"),
        ("0.5", ".5"),
        ("so...85...", "85"),
        ("85", " +85 "),
    ],
)
def test_number_is_read_as_people_write_it(made, text, answer):
    [target] = module_of(made).grpo_rewards()
    reward = load_reward(target, isolation=None if made.form == "async" else "inline")

    assert reward(text, answer=answer).value == 1.0


@pytest.mark.parametrize("answer", ["nan", "inf", "-inf", "1e999", "1_000", "1,00", "", "85 or 84"])
def test_answer_that_is_no_finite_number_fails_the_row(made, answer):
    [target] = module_of(made).grpo_rewards()
    reward = load_reward(target, isolation=None if made.form == "async" else "inline")

    outcome = reward("85", answer=answer)

    assert (outcome.status, outcome.reason) == ("failed", f"the answer {answer!r} is no number")
    assert not outcome.fault


@pytest.mark.parametrize("tolerance", [-1.0, float("nan")])
def test_negative_tolerance_never_scores(made, tolerance):
    [target] = module_of(made).grpo_rewards()
    if made.form == "class":
        with pytest.raises(ConfigError, match="tolerance must not be negative, got"):
            load_reward(target, options={"tolerance": tolerance})
        return
    isolation = None if made.form == "async" else "inline"

    outcome = load_reward(target, options={"tolerance": tolerance}, isolation=isolation)(
        "85", answer="85"
    )

    assert outcome.value is None
    assert "raised ValueError: tolerance must not be negative, got" in outcome.reason


def test_module_is_short(made):
    lines = (made.folder / "grpo_reward_two_words.py").read_text().splitlines()

    assert len(lines) <= 80


def test_tests_of_two_packages_are_collected_together(tmp_path):
    for name in ("units", "dates"):
        plan_reward(name, "function", tmp_path).write()
    names = [p.name for p in tmp_path.rglob("test_*.py")]

    assert sorted(names) == ["test_grpo_reward_dates.py", "test_grpo_reward_units.py"]


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids="-".join)
def test_package_is_as_ruff_wants_it(made, command):
    pytest.importorskip("ruff", reason="the extra 'dev' is not installed")
    rules = "E,F,W,I,B,UP,D,ANN"
    config = ["--isolated", "--config", "line-length=100"]
    if command == ("check",):
        config += ["--select", rules, "--config", "lint.pydocstyle.convention='google'"]
        config += ["--per-file-ignores", "tests/*:D1", "--ignore", "D107"]

    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, *config, "."],
        cwd=made.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_template_range_of_the_core_holds_for_this_core():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    text = (ROOT / "grpo_core/templates/reward/all/pyproject.toml").read_text()

    [low, high] = re.findall(r"grpo-core>=([\d.]+),<([\d.]+)", text)[0]
    assert version.startswith(f"{low}.")
    assert int(high.split(".")[1]) == int(low.split(".")[1]) + 1


def test_folder_that_appears_meanwhile_is_not_touched(tmp_path):
    new = plan_reward("units", "function", tmp_path)
    new.folder.mkdir()

    with pytest.raises(ConfigError, match="grpo-reward-units exists already and is not overwritt"):
        new.write()

    assert [p.name for p in tmp_path.rglob("*")] == ["grpo-reward-units"]


def test_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    new = plan_reward("units", "function", tmp_path)
    written = []

    def write_text(self, text, **kwargs):
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(self)

    monkeypatch.setattr(Path, "write_text", write_text)

    with pytest.raises(
        ConfigError, match="grpo-reward-units cannot be written: No space left on device"
    ):
        new.write()

    assert list(tmp_path.iterdir()) == []
