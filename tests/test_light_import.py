"""What importing costs: plugin authors and the command line never load the training stack."""

import json
import subprocess
import sys

import pytest

HEAVY = {"accelerate", "datasets", "peft", "torch", "transformers", "trl"}
PROBE = """
import json, sys
before = set(sys.modules)
{code}
new = {{name.split(".")[0] for name in set(sys.modules) - before}}
print("LOADED " + json.dumps(sorted(new - sys.stdlib_module_names)))
"""
RUN_CLI = """
sys.argv = ["grpo", {arguments}]
from grpo_core.cli import main
try:
    main()
except SystemExit as exc:
    assert not exc.code, exc.code
"""


def loaded_by(code):
    """Top-level packages outside the standard library that running the code loads."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.rpartition("LOADED ")[2]))


def test_import_names_of_plugins_load_the_standard_library_and_pluggy_only():
    code = "from grpo_core import Completion, Fail, Message, Rewards, Score, Skip, hookimpl, reward"

    assert loaded_by(code) == {"grpo_core", "pluggy"}


def test_import_grpo_core_loads_nothing_heavy():
    assert loaded_by("import grpo_core") & HEAVY == set()


def test_import_of_the_test_kit_loads_nothing_heavy():
    assert loaded_by("import grpo_core.testing") & HEAVY == set()


def test_import_grpo_core_and_listing_its_names_loads_no_more():
    assert loaded_by("import grpo_core; dir(grpo_core)") == {"grpo_core", "pluggy"}


@pytest.mark.parametrize("name", ["Catalog", "CompositeReward", "RunConfig", "load_reward"])
def test_import_of_name_for_scoring_loads_nothing_heavy(name):
    assert loaded_by(f"from grpo_core import {name}") & HEAVY == set()


@pytest.mark.parametrize("arguments", ['"--version"', '"plugins"', '"plugins", "--json"'])
def test_cli_without_training_loads_nothing_heavy(arguments):
    loaded = loaded_by(RUN_CLI.format(arguments=arguments))

    assert "typer" in loaded
    assert loaded & HEAVY == set()


def test_scoring_a_jsonl_file_loads_nothing_heavy(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"completion": "a"}\n')
    (tmp_path / "r.py").write_text("def lengths(completions, **k): return [1.0] * len(completions)")
    arguments = [f"{tmp_path}/r.py:lengths", "--data", f"{tmp_path}/d.jsonl"]

    loaded = loaded_by(RUN_CLI.format(arguments=f'"score", *{arguments!r}'))

    assert "numpy" in loaded
    assert loaded & {*HEAVY, "pyarrow", "pandas"} == set()


def test_probe_sees_a_package_that_is_loaded():
    assert loaded_by("import numpy") == {"numpy"}
