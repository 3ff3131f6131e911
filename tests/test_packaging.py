"""The distributions: what they declare."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from wheels import PLUGINS, ROOT


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


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
