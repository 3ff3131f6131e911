"""The distributions: what they declare, and what works from their wheels in a clean environment."""

from __future__ import annotations

import re
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from wheels import PLUGINS, ROOT, ok, run

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


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="session")
def third_party(tmp_path_factory) -> Path:
    """A third party's package as its author writes it: a pyproject and one module."""
    folder = tmp_path_factory.mktemp("endstop")
    for name, text in THIRD_PARTY.items():
        (folder / name).write_text(textwrap.dedent(text).lstrip())
    return folder


def test_base_dependencies_are_exactly_the_documented_ones():
    names = {Requirement(d).name for d in project(ROOT)["dependencies"]}

    assert names == {"pluggy", "packaging", "pydantic", "numpy", "typer", "rich"}


def test_extra_all_is_train_and_every_plugin_of_the_folder():
    extras = project(ROOT)["optional-dependencies"]
    names = {str(Requirement(d).name) for d in extras["all"]}

    assert names == {"grpo-core", *(p.name for p in PLUGINS)}
    assert "grpo-core[train]" in extras["all"]


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda p: p.name)
def test_plugin_distribution_is_named_like_its_folder_and_pins_the_core(folder):
    declared = project(folder)
    entry = folder.name.removeprefix("grpo-reward-")

    assert declared["name"] == folder.name
    assert declared["entry-points"]["grpo_core"] == {entry: folder.name.replace("-", "_")}
    assert "grpo-core>=0.1,<0.2" in declared["dependencies"]
    assert (folder / folder.name.replace("-", "_") / "py.typed").is_file()
    for page in ("README.md", "CHANGELOG.md", "LICENSE"):
        assert (folder / page).is_file()


def test_constraints_pin_every_dependency_of_every_distribution():
    pinned = set(re.findall(r"^([A-Za-z0-9_.-]+)==", (ROOT / "constraints.txt").read_text(), re.M))
    pinned = {name.lower().replace("_", "-") for name in pinned}
    wanted = set()
    for folder in (ROOT, *PLUGINS):
        declared = project(folder)
        extras = declared.get("optional-dependencies", {})
        for line in [*declared["dependencies"], *(d for e in extras.values() for d in e)]:
            wanted.add(Requirement(line).name.lower())

    assert {n for n in wanted if not n.startswith("grpo-")} <= pinned
    assert "torch" in pinned


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_third_party_package_trains_by_its_name(third_party, tmp_path):
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    site = tmp_path / "site"
    ok(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "-t", site, third_party)
    config = (ROOT / "grpo_core/demo/config.toml").read_text()
    demo = ROOT / "grpo_core/demo"
    for name in ("model", "train.jsonl", "correct.py"):
        (tmp_path / name).symlink_to(demo / name)
    config += '\n[rewards.ending]\nuse = "endstop/ends_cleanly"\noptions = { marks = ">" }\n'
    (tmp_path / "run.toml").write_text(config)

    output = ok(
        Path(sys.executable).with_name("grpo"),
        "train",
        "run.toml",
        "--set",
        "train.max_steps=1",
        "--set",
        "train.logging_steps=1",
        env={"PYTHONPATH": str(site)},
        cwd=tmp_path,
    )

    assert re.search(r"step 1/1 \| format [\d.]+ \| correct [\d.]+ \| ending [\d.]+ \|", output)


@pytest.mark.slow
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
