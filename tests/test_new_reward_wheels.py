"""Each form of `grpo new reward` as its users get it: a wheel, used by the name of its reward."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import get_args

import pytest
from wheels import ROOT, install, ok, run, wheels_of

from grpo_core.new_reward import Form, NewReward, plan_reward

pytestmark = pytest.mark.slow

FORMS = get_args(Form)


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


def test_every_form_is_used_by_name_in_a_training(made, wheels, tmp_path):
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    site = tmp_path / "site"
    ok(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", site, *wheels)
    for name in ("model", "train.jsonl", "correct.py"):
        (tmp_path / name).symlink_to(ROOT / "grpo_core/demo" / name)
    config = (ROOT / "grpo_core/demo/config.toml").read_text()
    for form, package in made.items():
        config += f'\n[rewards.{form}]\nuse = "{package.reward}"\n'
    (tmp_path / "run.toml").write_text(config)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))

    ok(
        Path(sys.executable).with_name("grpo"),
        "train",
        "run.toml",
        *("--set", "train.max_steps=5", "--set", "train.logging_steps=1"),
        *("--set", "run.dir=run"),
        env={"PYTHONPATH": path},
        cwd=tmp_path,
    )

    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "grpo/function/coverage" in line]
    assert len(steps) == 5
    for form in FORMS:
        assert [step[f"grpo/{form}/coverage"] for step in steps] == [1.0] * 5
        assert all(0.0 <= step[f"rewards/{form}/mean"] <= 1.0 for step in steps)
