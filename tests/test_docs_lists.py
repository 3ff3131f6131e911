"""The lists and smaller tables of the documents agree with the code."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import typing

import pytest
from docs_pages import ROOT, code, prose_of, table_under
from test_docs_reference import COMMANDS, REFERENCE, SECTIONS, needs_train
from typer.testing import CliRunner

import grpo_core
from grpo_core import CompositeReward, discovery, files
from grpo_core.bulk import job
from grpo_core.cli import app
from grpo_core.combination import Combined
from grpo_core.reward import _REFUSED_INPUTS
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.single import SETTINGS, SingleReward

# Commands


def test_cli_page_has_every_environment_variable_of_the_code():
    source = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("grpo_core/**/*.py"))

    rows = table_under(REFERENCE / "cli.md", "Environment variables")

    assert sorted(code(row["variable"]) for row in rows) == sorted(
        set(re.findall(r"\bGRPO_CORE_[A-Z]+\b", source))
    )


def test_cli_page_has_every_state_of_a_plugin():
    rows = table_under(REFERENCE / "cli.md", "States of a plugin")

    # No plugin is "found" any more once they are listed.
    assert ["found", *(code(row["state"]) for row in rows)] == [*typing.get_args(discovery.State)]


def test_cli_page_has_the_columns_that_scoring_adds():
    rows = table_under(REFERENCE / "cli.md", "Scoring a file")

    assert [code(row["column"]) for row in rows] == [
        *(f"NAME/{kind}" for kind in job.KINDS),
        job.TOTAL,
        job.ADVANTAGE,
    ]


def test_cli_page_has_the_keys_of_the_json_of_check(tmp_path):
    [row] = [
        r
        for r in table_under(REFERENCE / "cli.md", "grpo check")
        if code(r["argument"]) == "--json"
    ]
    [shown, *_] = row["meaning"].split(" (`text`")

    report = json.loads(
        CliRunner().invoke(app, ["check", str(tmp_path / "x.toml"), "--json"]).stdout
    )

    keys = re.findall(r"`(\w+)`", shown)
    assert [k for k in keys if k not in ("where", "message")] == list(report)
    assert set(report["problems"][0]) == {"where", "message"}


@pytest.mark.parametrize("name", [name for name, found in COMMANDS.items() if found.params])
def test_cli_page_says_no_other_defaults_than_the_commands_have(name):
    texts = {p.name: p.default for p in COMMANDS[name].params if isinstance(p.default, str)}

    for row in table_under(REFERENCE / "cli.md", name):
        argument = code(row["argument"]).lstrip("-").replace("-", "_")
        if texts.get(argument):
            assert f"default `{texts[argument]}`" in row["meaning"]


# Config


@pytest.mark.parametrize("heading", SECTIONS)
def test_config_page_has_the_choices_of_a_key(heading):
    for row in table_under(REFERENCE / "config.md", heading):
        annotation = SECTIONS[heading].model_fields[code(row["key"])].annotation
        parts = [annotation, *typing.get_args(annotation)]
        choices = [c for p in parts if typing.get_origin(p) is typing.Literal for c in p.__args__]
        assert re.findall(r'`"(\w+)"`', row["type"]) == choices


def test_config_page_has_every_ending_of_a_data_file():
    rows = table_under(REFERENCE / "config.md", "Kinds of files")

    shown = [ending for row in rows for ending in re.findall(r"`([^`]+)`", row["name ends in"])]
    assert shown == list(files._READERS)


@needs_train
def test_config_page_names_what_train_does_not_take():
    from grpo_core.training.config import _SET_ELSEWHERE

    prose = prose_of(REFERENCE / "config.md").split("## [train]")[1]
    [sentence, *_] = prose.partition("but those that are set elsewhere:")[2].split(". ")

    assert re.findall(r"`(\w+)`", sentence) == list(_SET_ELSEWHERE)


# Python names

PYTHON = REFERENCE / "python.md"


def arguments_of(function):
    return [n for n in inspect.signature(function).parameters if n not in ("self", "cls")]


def public_of(kind):
    """Public names that a class defines: its callables, and its other attributes."""
    names = {n: v for n, v in vars(kind).items() if not n.startswith("_")}
    called = {n for n, v in names.items() if callable(v) or isinstance(v, classmethod)}
    return called, set(names) - called


def calls_shown(cells):
    """The calls that cells show, by name: the names of their arguments."""
    shown = [re.fullmatch(r"(\w+)\((.*)\)", code(cell)) for cell in cells]
    return {m[1]: re.findall(r"\w+", m[2]) for m in shown if m}


@pytest.mark.parametrize("name", ["load_reward", "CompositeReward"])
def test_python_page_has_the_arguments_and_defaults(name):
    called = getattr(grpo_core, name)
    parameters = inspect.signature(called).parameters.values()

    rows = table_under(PYTHON, name)

    assert [code(row["argument"]) for row in rows] == arguments_of(called)
    for row, p in zip(rows, parameters, strict=True):
        assert row["meaning"]
        if p.default is not p.empty:
            assert code(row["default"]) == str(p.default)
        else:
            assert row["default"] == ("required" if p.kind is not p.VAR_KEYWORD else "not set")


def test_python_page_has_the_settings_of_load_reward():
    row = table_under(PYTHON, "load_reward")[-1]

    assert re.findall(r"`(\w+)`", row["meaning"]) == list(SETTINGS)


def test_python_page_has_what_a_loaded_reward_offers():
    cells = [row["name"] for row in table_under(PYTHON, "load_reward", 1)]
    calls = calls_shown(cells)
    called, others = public_of(SingleReward)

    assert calls == {n: arguments_of(getattr(SingleReward, n)) for n in called}
    assert {code(c) for c in cells if "(" not in c} == others | {"name", "resolved"}


@pytest.mark.parametrize("name", ["Score", "Outcome", "ScoreTable", "Completion"])
def test_python_page_has_the_fields_of_the_dataclass(name):
    rows = table_under(PYTHON, name)

    shown = [field for row in rows for field in re.findall(r"`(\w+)`", row["field"])]
    expected = [f.name for f in dataclasses.fields(getattr(grpo_core, name))]
    assert sorted(shown) == sorted(expected)


def test_python_page_has_the_statuses_of_an_outcome():
    [row] = [r for r in table_under(PYTHON, "Outcome") if code(r["field"]) == "status"]
    hints = typing.get_type_hints(grpo_core.Outcome)

    assert re.findall(r'"(\w+)"', row["type"]) == list(typing.get_args(hints["status"]))


@pytest.mark.parametrize(("name", "n"), [("CompositeReward", 2), ("ScoreTable", 1)])
def test_python_page_has_the_methods(name, n):
    kind = getattr(grpo_core, name)
    called, _ = public_of(kind)
    expected = {m: arguments_of(getattr(kind, m)) for m in called - {"from_config"}}

    rows = table_under(PYTHON, name, n)

    assert calls_shown([row["method"] for row in rows]) == expected
    assert all(row["returns"] for row in rows)


def test_python_page_has_the_attributes_of_a_composite():
    rows = table_under(PYTHON, "CompositeReward", 1)
    composite = CompositeReward({"format": "format/tags"})

    shown = {n for row in rows for n in re.findall(r"`(\w+)`", row["attribute"])}

    assert shown == {n for n in vars(composite) if not n.startswith("_")}


def test_python_page_names_the_parts_of_what_is_combined():
    [row] = [r for r in table_under(PYTHON, "CompositeReward", 2) if "combined(" in r["method"]]

    assert re.findall(r"`(\w+)`", row["returns"]) == list(Combined._fields)


# The run directory


def test_run_directory_page_has_the_keys_of_a_reward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "told.py").write_text(
        "from grpo_core import reward\n"
        "@reward(isolation='inline')\n"
        "class Told:\n"
        "    def __call__(self, completion): return 1.0\n"
        "    def info(self): return {'made': 'of nothing'}\n"
    )
    told = {
        "use": "told.py:Told",
        "transform": {"clip": [0, 0.5]},
        "requires": {"format": 1},
        "otherwise": 0.1,
        "shadow": True,
        "modes": ["train"],
    }
    described = CompositeReward({"format": "format/tags", "told": told}).describe()["told"]

    rows = table_under(REFERENCE / "run-directory.md", "Of each reward")

    shown = [name for row in rows for name in re.findall(r"`(\w+)`", row["key"])]
    assert sorted(shown) == sorted(described)
    [policy] = [row["content"] for row in rows if code(row["key"]) == "policy"]
    assert re.findall(r"`(\w+)`", policy) == [f.name for f in dataclasses.fields(Policy)]


# Rewards


def test_page_on_rewards_names_what_an_input_cannot_be_called():
    prose = prose_of(ROOT / "docs" / "how-to" / "write-a-reward.md")
    [sentence] = re.findall(r"Inputs cannot be called(.*?);", prose, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", sentence)) == set(_REFUSED_INPUTS)
