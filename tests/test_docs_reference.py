"""The tables of the reference and of the architecture page agree with the code."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
from typing import Any

import pytest
import typer.main
from docs_pages import ROOT, blocks_of, code, prose_of, table_under
from docs_runner import one_thread
from test_layers import LEVELS, SAME_LEVEL

import grpo_core.testing
from grpo_core import errors
from grpo_core.catalog import Catalog
from grpo_core.cli import app
from grpo_core.config import REFUSED_NAMES
from grpo_core.reader import NOT_YET
from grpo_core.sections import (
    DataSection,
    EvalSection,
    LoraSection,
    ModelSection,
    PluginsSection,
    RecordSection,
    RewardSection,
    RunSection,
    ScoringSection,
    Section,
    TransformSection,
    WeightSchedule,
)
from grpo_core.testing import RewardContract
from grpo_core.testing.attributes import Attributes
from grpo_core.testing.case_file import _KEYS
from grpo_core.testing.guard import contract_tests

REFERENCE = ROOT / "docs" / "reference"
ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"
needs_train = pytest.mark.skipif(
    importlib.util.find_spec("trl") is None, reason="the extra 'train' is not installed"
)

SECTIONS: dict[str, type[Section]] = {
    "[model]": ModelSection,
    "[model.lora]": LoraSection,
    "[data]": DataSection,
    "[eval]": EvalSection,
    "[rewards.NAME]": RewardSection,
    "[rewards.NAME.weight]": WeightSchedule,
    "[rewards.NAME.transform]": TransformSection,
    "[run]": RunSection,
    "[record]": RecordSection,
    "[plugins]": PluginsSection,
    "[scoring]": ScoringSection,
}


@pytest.mark.parametrize("heading", SECTIONS)
def test_config_page_has_the_keys_and_defaults_of_the_section(heading):
    expected = {}
    for name, field in SECTIONS[heading].model_fields.items():
        default = (
            "required" if field.is_required() else field.get_default(call_default_factory=True)
        )
        expected[name] = "not set" if default is None else default

    rows = table_under(REFERENCE / "config.md", heading)

    assert [code(row["key"]) for row in rows] == list(expected)
    for row in rows:
        shown = row["default"]
        if "`" in shown:
            shown = json.loads(code(shown))
        assert shown == expected[code(row["key"])], row
        assert row["meaning"]
        assert row["type"]


def test_config_page_has_every_section_of_the_config():
    fields = set(grpo_core.RunConfig.model_fields) - {"source"}

    assert {h.strip("[]").split(".")[0] for h in [*SECTIONS, "[train]"]} == fields


def test_config_page_names_what_is_not_supported_yet():
    rows = table_under(REFERENCE / "config.md", "Not supported yet")
    names = {"top level": "", "[rewards.NAME]": "rewards"}

    shown = {
        names.get(row["section"].strip("`"), row["section"].strip("`[]")): tuple(
            re.findall(r"`(\w+)`", row["keys"])
        )
        for row in rows
    }

    assert shown == NOT_YET


def test_config_page_names_the_refused_instance_names():
    prose = prose_of(REFERENCE / "config.md").split("## [rewards.NAME]")[1]
    sentence = re.search(r"It cannot be(.*?)\.", prose, re.DOTALL)

    assert re.findall(r"`(\w+)`", sentence[1]) == list(REFUSED_NAMES)


@needs_train
def test_config_page_has_the_aliases_and_defaults_of_training():
    from grpo_core.training.config import ALIASES, DEFAULTS

    aliases = table_under(REFERENCE / "config.md", "[train]")
    defaults = table_under(REFERENCE / "config.md", "[train]", 1)

    assert {code(row["key"]): code(row["TRL's name"]) for row in aliases} == ALIASES
    assert {code(r["field"]): json.loads(code(r["default"])) for r in defaults} == DEFAULTS


@needs_train
def test_config_page_has_the_fields_whose_values_are_checked():
    from grpo_core.training.config import _VALUES

    rows = table_under(REFERENCE / "config.md", "[train]", 2)
    shown = [name for row in rows for name in re.findall(r"`(\w+)`", row["fields"])]

    assert sorted(shown) == sorted([*_VALUES, "max_steps", "num_train_epochs"])


@needs_train
def test_config_page_says_what_grpo_train_sets():
    from grpo_core.training.prepared import _QUIET

    prose = " ".join(prose_of(REFERENCE / "config.md").split())
    for name, value in _QUIET.items():
        assert f"`{name} = {json.dumps(value)}`" in prose


def commands(command: Any, name: str) -> dict[str, Any]:
    found = {name: command}
    for sub, inner in getattr(command, "commands", {}).items():
        found |= commands(inner, f"{name} {sub}")
    return found


COMMANDS = commands(typer.main.get_command(app), "grpo")


@pytest.mark.parametrize("name", [name for name, found in COMMANDS.items() if found.params])
def test_cli_page_has_the_arguments_of_the_command(name):
    expected = []
    for p in COMMANDS[name].params:
        if p.param_type_name == "argument":
            expected.append(p.name.upper())
        else:
            expected += [o for o in p.opts if o != "--help"]

    rows = table_under(REFERENCE / "cli.md", name)

    assert sorted(code(row["argument"]) for row in rows) == sorted(expected)


def test_cli_page_has_no_command_that_does_not_exist():
    headings = re.findall(r"(?m)^## (grpo.*)$", prose_of(REFERENCE / "cli.md"))

    assert sorted(headings) == sorted(COMMANDS)


def test_python_page_has_the_public_names():
    titles = ("writes a reward", "uses rewards", "trains")
    rows = [
        row
        for title in titles
        for row in table_under(REFERENCE / "python.md", f"For whoever {title}")
    ]

    assert sorted(code(row["name"]) for row in rows) == grpo_core.__all__
    assert all(row["what it is"] for row in rows)


def test_python_page_marks_the_names_that_need_the_extra():
    heavy = {n for n, home in grpo_core._LAZY.items() if home.startswith("training")}

    rows = table_under(REFERENCE / "python.md", "For whoever trains")

    assert {code(r["name"]) for r in rows if r["what it is"].startswith("*train*")} == heavy


def test_python_page_has_the_arguments_of_reward():
    parameters = inspect.signature(grpo_core.reward).parameters.values()
    expected = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    assert [code(row["argument"]) for row in table_under(REFERENCE / "python.md", "reward")] == (
        expected
    )


def test_python_page_has_the_fields_of_completion():
    rows = table_under(REFERENCE / "python.md", "Completion")

    shown = [name for row in rows for name in re.findall(r"`(\w+)`", row["field"])]
    assert sorted(shown) == sorted(grpo_core.Completion.__dataclass_fields__)


@needs_train
@pytest.mark.parametrize("name", ["GRPOTrainer", "GRPOConfig", "to_trl"])
def test_python_page_has_the_arguments_and_defaults_of(name):
    target = getattr(grpo_core, name)
    if isinstance(target, type):
        target = target.__init__  # that of the class may be another's: TRL's config is a dataclass
    parameters = [p for p in inspect.signature(target).parameters.values() if p.name != "self"]

    rows = table_under(REFERENCE / "python.md", name)

    assert [(code(row["argument"]), row["default"].strip("`")) for row in rows] == [
        name_and_default(p) for p in parameters
    ]
    assert all(row["meaning"] for row in rows)


def name_and_default(p: inspect.Parameter) -> tuple[str, str]:
    """What a table of arguments says of a parameter; several at once have no default."""
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
        return str(p).partition(":")[0], ""
    return p.name, "required" if p.default is p.empty else repr(p.default)


@needs_train
def test_python_page_has_the_fields_of_trl_rewards():
    rows = table_under(REFERENCE / "python.md", "to_trl", 1)

    assert [code(row["field"]) for row in rows] == list(grpo_core.TrlRewards._fields)


def test_testing_page_has_the_names_of_the_kit():
    rows = table_under(REFERENCE / "testing.md", "Test kit")

    assert sorted(code(row["name"]) for row in rows) == sorted(grpo_core.testing.__all__)


def test_testing_page_has_every_test_with_what_it_says_of_itself():
    rows = table_under(REFERENCE / "testing.md", "Tests")

    assert {code(row["test"]): row["passes if"] for row in rows} == {
        name: (test.__doc__ or "").split("\n")[0]
        for name, test in contract_tests(RewardContract).items()
    }


def test_testing_page_has_the_attributes_and_defaults_of_a_contract():
    defaults = {name: value for name, value in vars(Attributes).items() if name[0] != "_"}

    rows = table_under(REFERENCE / "testing.md", "RewardContract")

    assert [code(row["attribute"]) for row in rows] == list(defaults)
    for row in rows:
        name = code(row["attribute"])
        if name not in ("reward", "cases", "heavy"):
            assert ast.literal_eval(code(row["default"])) == defaults[name]
    documented = inspect.getdoc(RewardContract).split("Attributes:\n")[1]
    assert re.findall(r"(?m)^    (\w+): ", documented) == list(defaults)


def test_testing_page_has_the_keys_of_a_case():
    rows = table_under(REFERENCE / "testing.md", "Cases")

    shown = [name for row in rows for name in re.findall(r"`(\w+)`", row["key"])]
    assert sorted(shown) == sorted(_KEYS)


def test_errors_page_has_every_error_with_its_bases():
    expected = {}
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.GrpoError):
            base = kind.__bases__[-1].__name__
            expected[name] = "" if base in ("GrpoError", "Exception") else base
    del expected["GrpoError"]

    rows = table_under(REFERENCE / "errors.md", "Errors")

    assert {code(r["error"]): r["also a"].strip("`") for r in rows} == expected


def test_errors_page_draws_the_tree_with_every_error():
    [tree] = [b for b in blocks_of(REFERENCE / "errors.md") if "drawing" in b.markers]

    drawn = re.findall(r"(\w+Error)\b", tree.text)
    assert set(drawn) == {code(r["error"]) for r in table_under(tree.page, "Errors")} | {
        "GrpoError"
    }


@pytest.fixture(scope="module")
def one_step(tmp_path_factory):
    """The run directory of one step with a reward of its own metrics and one that skips rows."""
    pytest.importorskip("trl", reason="the extra 'train' is not installed")
    from tiny_model import make_model, make_tokenizer

    from grpo_core.reader import read_draft
    from grpo_core.training.run import quiet_libraries, train_run

    folder = tmp_path_factory.mktemp("one_step")
    quiet_libraries()
    make_model().save_pretrained(folder / "model")
    make_tokenizer().save_pretrained(folder / "model")
    (folder / "train.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\n' * 4)
    (folder / "rewards.py").write_text(
        "from grpo_core import Score, Skip, reward\n"
        "@reward\n"
        "def even(completion):\n"
        "    if not completion.token_ids[0] % 2:\n"
        "        return Skip('odd')\n"
        "    return Score(1.0, metrics={'n_chars': len(completion.text)})\n"
    )
    (folder / "run.toml").write_text(
        '[model]\nname = "model"\n[data]\npath = "train.jsonl"\n[eval]\nfraction = 0.25\n'
        '[rewards.even]\nuse = "rewards.py:even"\n'
        '[rewards.format]\nuse = "format/tags"\n'
        "[train]\nmax_steps = 1\nlogging_steps = 1\nper_device_train_batch_size = 8\n"
        "gradient_accumulation_steps = 1\nmax_completion_length = 4\nkl_guard = true\n"
        f'[run]\ndir = "{folder}/run"\n'
    )
    with one_thread():
        train_run(read_draft(folder / "run.toml"), Catalog(), lambda line: None)
    return folder / "run"


@pytest.mark.slow
def test_metrics_page_has_what_a_run_logs(one_step):
    lines = [json.loads(line) for line in (one_step / "metrics.jsonl").read_text().splitlines()]
    logged = next(line for line in lines if "reward" in line)
    ours = {
        re.sub(r"^grpo/(even|format)/", "grpo/<reward>/", key).replace("m/n_chars", "m/<key>")
        for key in logged
        if key.startswith("grpo/")
    }
    theirs = {
        re.sub(r"^rewards/(even|format)/", "rewards/<reward>/", key)
        for key in logged
        if not key.startswith("grpo/") and key != "step"
    }

    page = REFERENCE / "metrics.md"
    shown = [code(row["metric"]) for row in table_under(page, "Ours")]
    others = [
        re.escape(name).replace(r"\*", ".*")
        for row in table_under(page, "TRL's")
        for name in re.findall(r"`([^`]+)`", row["metric"])
    ]

    assert sorted(shown) == sorted(ours)
    assert [k for k in theirs if not any(re.fullmatch(o, k) for o in others)] == []
    assert [o for o in others if not any(re.fullmatch(o, k) for k in theirs)] == []


@pytest.mark.slow
def test_metrics_page_names_metrics_of_an_evaluation_that_exist(one_step):
    lines = [json.loads(line) for line in (one_step / "metrics.jsonl").read_text().splitlines()]
    logged = {re.sub("/(even|format)/", "/<reward>/", key) for line in lines for key in line}
    [section] = prose_of(REFERENCE / "metrics.md").split("## Of an evaluation")[1:]

    shown = set(re.findall(r"`(eval_[^`]+)`", section))

    assert len(shown) >= 4
    assert shown - logged == set()


@pytest.mark.slow
def test_run_directory_page_has_the_files_of_a_run(one_step):
    rows = table_under(REFERENCE / "run-directory.md", "Run directory")
    shown = {code(row["file"]).rstrip("/") for row in rows}

    assert {p.name for p in one_step.iterdir()} == shown - {
        "reference",
        "metrics.superseded.jsonl",
    }


@pytest.mark.slow
def test_run_directory_page_has_the_keys_of_the_manifest(one_step):
    manifest = json.loads((one_step / "manifest.json").read_text())
    rows = {
        name: row["content"]
        for row in table_under(REFERENCE / "run-directory.md", "manifest.json")
        for name in re.findall(r"`(\w+)`", row["key"])
    }

    assert list(manifest) == [name for name in rows if name != "resumed"]
    assert all(name in rows["libraries"] for name in manifest["libraries"])


# Explanation


def test_architecture_page_has_every_module_with_its_layer():
    rows = table_under(ARCHITECTURE, "The modules by layer")
    expected = {
        name: level
        for name, level in LEVELS.items()
        if (ROOT / "grpo_core" / name).exists() or (ROOT / "grpo_core" / f"{name}.py").exists()
    }

    assert {code(r["module"]): int(r["layer"].strip("L")) for r in rows} == expected


def test_architecture_page_draws_every_module():
    drawing, *_ = [b for b in blocks_of(ARCHITECTURE) if "drawing" in b.markers]
    words = set(re.findall(r"\w+", drawing.text))
    own = {p.stem for p in (ROOT / "grpo_core" / "training").glob("*.py")} - {"__init__"}

    modules = {code(r["module"]) for r in table_under(ARCHITECTURE, "The modules by layer")}
    assert modules - words == set()
    assert own - words == set()


def test_architecture_page_has_every_arrow_inside_a_layer():
    rows = table_under(ARCHITECTURE, "The modules by layer", 1)

    assert {(code(r["from"]), code(r["to"])) for r in rows} == SAME_LEVEL
