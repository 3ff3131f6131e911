"""The lists and smaller tables of the documents agree with the code."""

from __future__ import annotations

import json
import re
import typing

import pytest
from docs_pages import ROOT, code, prose_of, table_under
from test_docs_reference import COMMANDS, REFERENCE, SECTIONS, needs_train
from typer.testing import CliRunner

from grpo_core import discovery, files
from grpo_core.bulk import job
from grpo_core.cli import app
from grpo_core.reward import _REFUSED_INPUTS

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


# Rewards


def test_page_on_rewards_names_what_an_input_cannot_be_called():
    prose = prose_of(ROOT / "docs" / "how-to" / "write-a-reward.md")
    [sentence] = re.findall(r"Inputs cannot be called(.*?);", prose, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", sentence)) == set(_REFUSED_INPUTS)
