"""What works from wheels: the core and its plugins, a third party's package, `grpo new reward`.

One file, so that one process makes the environment and nobody installs into it beside another.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner
from wheels import ROOT, install, make_clean, ok, run, wheels_of

from grpo_core.cli import app
from grpo_core.new_reward import Form, NewReward, plan_reward

pytestmark = pytest.mark.slow

FORMS = get_args(Form)
THIRD_PARTY = {
    "pyproject.toml": """
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"

        [project]
        name = "grpo-reward-endstop"
        version = "0.1.0"
        dependencies = ["grpo-core>=0.1,<0.2"]

        [project.entry-points.grpo_core]
        endstop = "grpo_reward_endstop"
        """,
    "grpo_reward_endstop.py": '''
        """Rewards completions that end their last sentence."""

        from grpo_core import Completion, Rewards, hookimpl, reward


        @reward(range=(0.0, 1.0))
        def ends_cleanly(completion: Completion, *, marks: str = ".!?") -> float:
            """1.0 if the text ends in sentence punctuation, else 0.0."""
            return float(completion.text.rstrip().endswith(tuple(marks)))


        @hookimpl
        def grpo_rewards() -> Rewards:
            return [ends_cleanly]
        ''',
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with the core's and the plugins' wheels only."""
    return make_clean(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def third_party(tmp_path_factory) -> Path:
    """A third party's package as its author writes it: a pyproject and one module."""
    folder = tmp_path_factory.mktemp("endstop")
    for name, text in THIRD_PARTY.items():
        (folder / name).write_text(textwrap.dedent(text).lstrip())
    return folder


# The core, its plugins and a third party


def test_wheels_without_torch_list_score_and_name_the_missing_extra(clean, tmp_path):
    without = run(clean / "python", "-c", "import torch")
    listed = ok(clean / "grpo", "plugins")
    scored = ok(
        clean / "grpo", "score", "format/tags", "--text", "<think>a</think><answer>4</answer>"
    )
    trained = run(clean / "grpo", "train", "run.toml", cwd=tmp_path)
    demo = run(clean / "grpo", "demo", cwd=tmp_path)
    imported = run(clean / "python", "-c", "from grpo_core import GRPOTrainer")

    assert "No module named 'torch'" in without.stderr
    assert "grpo-reward-format" in listed
    assert "tags" in listed
    assert scored.split() == ["format/tags", "1", "scored"]
    hint = (
        "needs the extra 'train', which is not installed. "
        'Install it with: pip install "grpo-core[train]"'
    )
    assert (trained.returncode, trained.stderr) == (2, f"error: grpo train {hint}\n")
    assert (demo.returncode, demo.stderr) == (2, f"error: grpo demo {hint}\n")
    assert hint in imported.stderr


def test_third_party_package_is_listed_and_scores_after_pip_install(clean, third_party):
    ok(clean / "python", "-m", "pip", "install", "-q", third_party)
    listed = ok(clean / "grpo", "plugins")
    shown = ok(clean / "grpo", "plugins", "show", "endstop/ends_cleanly")
    scored = ok(clean / "grpo", "score", "ends_cleanly", "--text", "It is done.")
    other = ok(
        clean / "grpo", "score", "endstop/ends_cleanly", "--text", "Done!", "--option", "marks=."
    )

    assert "grpo-reward-endstop" in listed
    assert "1.0 if the text ends in sentence punctuation, else 0.0." in shown
    assert scored.split() == ["endstop/ends_cleanly", "1", "scored"]
    assert other.split() == ["endstop/ends_cleanly", "0", "scored"]


def test_third_party_package_trains_by_its_name(third_party, site, tmp_path, monkeypatch):
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation")
    ok(*pip, "-t", site.folder, third_party)
    config = (ROOT / "grpo_core/demo/config.toml").read_text()
    demo = ROOT / "grpo_core/demo"
    for name in ("model", "train.jsonl", "correct.py"):
        (tmp_path / name).symlink_to(demo / name)
    config += '\n[rewards.ending]\nuse = "endstop/ends_cleanly"\noptions = { marks = ">" }\n'
    (tmp_path / "run.toml").write_text(config)

    monkeypatch.chdir(tmp_path)
    short = ("--set", "train.max_steps=1", "--set", "train.logging_steps=1")

    done = CliRunner().invoke(app, ["train", "run.toml", *short])

    assert done.exit_code == 0, done.output
    assert re.search(
        r"step 1/1 \| format [\d.]+ \| correct [\d.]+ \| ending [\d.]+ \|", done.output
    )


def test_wheel_of_the_core_holds_the_demo_and_nothing_of_the_tests(clean):
    listing = ok(
        clean / "python",
        "-c",
        "import importlib.metadata as m; print('\\n'.join(map(str, m.files('grpo-core'))))",
    ).splitlines()

    assert "grpo_core/py.typed" in listing
    assert "grpo_core/demo/config.toml" in listing
    assert "grpo_core/demo/model/model.safetensors" in listing
    tops = {name.split("/")[0] for name in listing if not name.startswith("..")}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"grpo_core"}


# Each form of `grpo new reward`


@pytest.fixture(scope="module")
def made(clean, tmp_path_factory) -> dict[str, NewReward]:
    """A package of each form, written by the command of the core's wheel."""
    folder = tmp_path_factory.mktemp("made")
    packages = {form: plan_reward(f"made-{form}", form, folder) for form in FORMS}
    for form, package in packages.items():
        form_flag = [] if form == "function" else [f"--{form}"]
        ok(clean / "grpo", "new", "reward", package.name, *form_flag, "--dir", folder)
    return packages


@pytest.fixture(scope="module")
def wheels(made, tmp_path_factory) -> list[Path]:
    return wheels_of([m.folder for m in made.values()], tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def installed(clean, wheels) -> Path:
    """The bin folder of the clean environment, with the five wheels and pytest in it too."""
    install(clean, "pytest", *wheels)
    return clean


def test_every_form_is_listed_and_nothing_heavy_is_installed(installed, made):
    listed = json.loads(ok(installed / "grpo", "plugins", "--strict", "--json"))
    heavy = run(installed / "python", "-c", "import torch")

    names = {f"{p['entry']}/{r['name']}" for p in listed for r in p["rewards"]}
    assert {m.reward for m in made.values()} <= names
    assert "No module named 'torch'" in heavy.stderr


@pytest.mark.parametrize("form", FORMS)
def test_tests_of_the_package_pass_as_written(installed, made, form):
    shown = ok(installed / "python", "-m", "pytest", "-q", cwd=made[form].folder)

    assert " passed" in shown
    assert " failed" not in shown
    assert " error" not in shown


@pytest.mark.parametrize("form", FORMS)
def test_package_scores_a_text_by_name(installed, made, form):
    name = made[form].reward
    answer = ("--input", "answer=85")

    right = ok(installed / "grpo", "score", name, "--text", "It is 85.", *answer)
    wrong = ok(installed / "grpo", "score", name, "--text", "It is 84.", *answer)

    assert right.split()[:3] == [name, "1", "scored"]
    assert wrong.split()[:3] == [name, "0", "scored"]


def test_every_form_is_used_by_name_in_a_training(made, wheels, site, tmp_path, monkeypatch):
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    ok(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", site.folder, *wheels)
    for name in ("model", "train.jsonl", "correct.py"):
        (tmp_path / name).symlink_to(ROOT / "grpo_core/demo" / name)
    config = (ROOT / "grpo_core/demo/config.toml").read_text()
    for form, package in made.items():
        config += f'\n[rewards.{form}]\nuse = "{package.reward}"\n'
    (tmp_path / "run.toml").write_text(config)
    monkeypatch.chdir(tmp_path)
    short = ("--set", "train.max_steps=5", "--set", "train.logging_steps=1")

    done = CliRunner().invoke(app, ["train", "run.toml", *short, "--set", "run.dir=run"])

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "grpo/function/coverage" in line]
    assert len(steps) == 5
    for form in FORMS:
        assert [step[f"grpo/{form}/coverage"] for step in steps] == [1.0] * 5
        assert all(0.0 <= step[f"rewards/{form}/mean"] <= 1.0 for step in steps)
