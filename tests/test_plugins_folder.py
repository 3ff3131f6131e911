"""The list of plugins is the folder `plugins/`: what else names them agrees with it."""

from __future__ import annotations

import importlib.util
import re
import tomllib

import pytest
from docs_pages import ROOT

PLUGINS = sorted(p.parent for p in ROOT.glob("plugins/*/pyproject.toml"))
PYPROJECT = ROOT / "pyproject.toml"


def test_tests_of_every_plugin_run_with_the_core_in_the_tree():
    options = tomllib.loads(PYPROJECT.read_text())["tool"]["pytest"]["ini_options"]

    assert "plugins" in options["testpaths"]
    [arguments] = re.findall(r"-m pytest( -n .*)", (ROOT / "Makefile").read_text())
    assert [word for word in arguments.split() if (ROOT / word).exists()] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda p: p.name)
def test_plugin_has_tests_of_its_own(folder):
    assert list(folder.glob("tests/test_*.py"))


@pytest.mark.parametrize("name", ["pyproject.toml", "Makefile", ".ci/run", "constraints.txt"])
@pytest.mark.parametrize("folder", PLUGINS, ids=lambda p: p.name)
def test_no_setting_lists_the_plugins_but_the_extra_all(folder, name):
    names = re.compile(re.escape(folder.name).replace("\\-", "[-_]"))

    found = names.findall((ROOT / name).read_text())

    assert len(found) == (1 if name == "pyproject.toml" else 0)


def test_page_of_plugins_is_what_the_script_makes():
    path = ROOT / "scripts" / "make_plugins_page.py"
    spec = importlib.util.spec_from_file_location("make_plugins_page", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    assert script.PAGE.read_text(encoding="utf-8") == script.page()
