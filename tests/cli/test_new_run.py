"""`grpo new run`: the config it writes for data, model and rewards, and what it refuses."""

from __future__ import annotations

import gzip
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app
from grpo_core.errors import GrpoError

PLUGIN = '''
from grpo_core import hookimpl, reward

@reward
def has_end(completion, *, marks: list[str] = [".", "!"], most: int | None = None) -> float:
    """1.0 if the text ends a sentence."""
    return float(completion.text.endswith(tuple(marks)))

@reward
def answer_equals(completion, answer: str, *, strip: bool = True) -> float:
    """1.0 if the text is the answer."""
    return float(completion.text == answer)

@reward
def counted(completion, *, words: list[str]) -> float:
    """The share of the words."""
    return 0.0

@reward
def matches(completion, schema: dict) -> float:
    """1.0 if the text is of the schema."""
    return 0.0

@hookimpl
def grpo_rewards():
    return [has_end, answer_equals, counted, matches]
'''

OWN = '''
from grpo_core import Completion, reward

@reward
def total(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer."""
    return float(completion.text == answer)

def lengths(completions, **columns):
    return [float(len(c)) for c in completions]
'''

ROWS = [{"id": i, "question": f"{i}+1=", "solution": str(i + 1)} for i in range(8)]


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def project(site, tmp_path, monkeypatch) -> Path:
    """A folder with data, a reward of its own and one plugin, the only one that may be used."""
    site.install("acme-words", PLUGIN, entry="acme")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "acme-words")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.jsonl").write_text(jsonl(ROWS))
    (tmp_path / "rewards.py").write_text(OWN)
    return tmp_path


def new(*arguments: str, data: str = "train.jsonl", model: str = "nowhere/model") -> Any:
    return CliRunner().invoke(app, ["new", "run", "--data", data, "--model", model, *arguments])


def config(path: str = "run.toml") -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))


# What is written


def test_new_run_binds_the_gold_column_to_the_first_reward_that_reads_one(project):
    result = new()

    assert result.exit_code == 0, result.output
    assert config()["data"] == {"path": "train.jsonl", "template": "{question}"}
    assert config()["rewards"] == {
        "correct": {
            "use": "acme/answer_equals",
            "weight": 1.0,
            "inputs": {"answer": "solution"},
            "options": {},
        }
    }
    said = "correct (acme/answer_equals), weight 1; answer is column 'solution', a guess\n"
    assert said in result.stdout
    assert "\n\ngrpo check run.toml:\ndata: 8 rows\n" in result.stdout
    assert result.stdout.endswith("run.toml: ready to train\n")
    assert sorted(p.name for p in project.glob("run*")) == ["run.toml"]


def test_new_run_lists_columns_options_and_other_rewards_in_comments(project):
    new()

    lines = Path("run.toml").read_text(encoding="utf-8").splitlines()
    assert "#   \"question\": text, the prompt: '0+1='" in lines
    assert "#   \"solution\": text, the gold answer, it seems: '1'" in lines
    assert "# strip = true                      # bool" in lines
    assert "#   acme/has_end: 1.0 if the text ends a sentence." in lines
    assert "#   acme/counted: The share of the words." in lines


def test_new_run_commented_options_are_the_defaults(project):
    new("--reward", "has_end")

    written = Path("run.toml").read_text(encoding="utf-8")
    options = written.partition("[rewards.has_end.options]\n")[2].partition("\n\n")[0]
    assert tomllib.loads(options.replace("# marks", "marks"))["marks"] == [".", "!"]
    assert "# most = …                          # int | None; not set: None" in options
    assert options.endswith(
        "# A reward that is 0 for every completion teaches nothing; to try one:\n"
        "# grpo score acme/has_end --text TEXT --option name=value"
    )


def test_new_run_takes_a_reward_without_inputs_where_no_column_is_a_gold(project):
    (project / "train.jsonl").write_text(jsonl([{"prompt": f"{i}?"} for i in range(8)]))

    result = new()

    assert result.exit_code == 0, result.output
    assert list(config()["rewards"]) == ["has_end"]
    assert config()["data"] == {"path": "train.jsonl"}
    written = Path("run.toml").read_text(encoding="utf-8")
    assert "#     not as it is: no column looks like its input 'answer'" in written
    assert '# use = "rewards.py:is_answer"' in written


def test_new_run_leaves_out_a_reward_whose_inputs_are_optional_and_not_in_the_data(
    project, site, monkeypatch
):
    source = PLUGIN.replace("answer: str, *", "reference: str | None = None, *")
    site.install("acme-rest", source, entry="rest")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "acme-rest")

    result = new()

    assert result.exit_code == 0, result.output
    assert list(config()["rewards"]) == ["has_end"]


def test_new_run_leaves_out_a_reward_that_cannot_read_the_column(project):
    rows = [{"question": "?", "answer": [i]} for i in range(8)]
    (project / "train.jsonl").write_text(jsonl(rows))

    new()

    assert list(config()["rewards"]) == ["has_end"]
    written = Path("run.toml").read_text(encoding="utf-8")
    assert "not as it is: 'answer_equals' reads column 'answer': expected str, got [0]" in written


def test_new_run_names_the_columns_that_could_be_the_prompt_too(project):
    rows = [{"notes": "n", "problem": "p", "Query": "q", "answer": "a"}] * 8
    (project / "train.jsonl").write_text(jsonl(rows))

    result = new()

    assert config()["data"]["template"] == "{problem}"
    assert "column 'problem' (text); it could also be 'Query', 'notes'\n" in result.stdout
    assert '# A guess; it could also be "Query", "notes".' in Path("run.toml").read_text()


def test_new_run_rewards_by_name_of_every_kind(project):
    names = ("acme/has_end", "answer_equals", "rewards.py:total", "rewards.py:lengths", "has_end")

    result = new(*(part for name in names for part in ("--reward", name)))

    assert result.exit_code == 0, result.output
    assert {name: r["use"] for name, r in config()["rewards"].items()} == {
        "has_end": "acme/has_end",
        "answer_equals": "acme/answer_equals",
        "total_reward": "rewards.py:total",
        "lengths": "rewards.py:lengths",
        "has_end_2": "acme/has_end",
    }


def test_new_run_paths_are_relative_to_the_config(project):
    (project / "configs").mkdir()
    (project / "data").mkdir()
    (project / "train.jsonl").rename(project / "data/train.jsonl")
    (project / "model").mkdir()
    (project / "model/config.json").write_text("{}")
    arguments = ("-o", "configs/first.toml", "--reward", "rewards.py:total")

    result = new(*arguments, data="data/train.jsonl", model="model")

    made = config("configs/first.toml")
    assert made["data"]["path"] == "../data/train.jsonl"
    assert made["model"]["name"] == "../model"
    assert made["rewards"]["total_reward"]["use"] == "../rewards.py:total"
    assert "data: 8 rows" in result.stdout


@pytest.mark.parametrize(
    ("data", "more"), [("rows", ("--split", "train")), ("rows.json.gz", ()), ("rows.py:made", ())]
)
def test_new_run_reads_data_of_every_kind(project, data, more):
    folder_of_splits(project)
    with gzip.open(project / "rows.json.gz", "wt") as file:
        json.dump(ROWS, file)
    (project / "rows.py").write_text(f"def made():\n    print('noise')\n    return {ROWS!r}\n")

    result = new(*more, data=data)

    assert result.exit_code == 0, result.output
    assert "data: 8 rows\n" in result.stdout
    assert "noise" not in result.stdout


CHAT = [{"role": "user", "content": "?"}]
REPLY = [{"role": "assistant", "content": "!"}]


@pytest.mark.parametrize(
    ("prompt", "model", "active"),
    [("?", "a/b-Instruct", True), ("?", "a/b", False), (CHAT, "a/b-Instruct", False)],
)
def test_new_run_makes_chats_only_where_texts_meet_a_chat_model(project, prompt, model, active):
    (project / "train.jsonl").write_text(jsonl([{"prompt": prompt}] * 8))

    result = new(model=model)

    assert result.exit_code == 0, result.output
    assert ("chat" in config()["data"]) is active
    assert "system" not in config()["data"]


@pytest.mark.parametrize(("file", "chat"), [("tokenizer_config.json", False), ("a.jinja", True)])
def test_new_run_chat_template_of_a_folder_is_seen(project, file, chat):
    (project / "model").mkdir()
    (project / "model/config.json").write_text('{"max_position_embeddings": 64}')
    (project / "model/tokenizer_config.json").write_text("{}")
    if chat:
        (project / "model/chat_template.jinja").write_text("{{ messages }}")

    new(model="model")

    assert ("chat" in config()["data"]) is chat
    assert config()["train"]["max_completion_length"] == 32
    assert "lora" not in config()["model"]


def test_new_run_evaluates_where_there_are_rows_enough(project):
    (project / "train.jsonl").write_text(jsonl(ROWS * 20))

    result = new()

    assert "data: 152 rows, 8 for evaluation" in result.stdout
    assert config()["eval"]["fraction"] == 0.05


def folder_of_splits(project: Path) -> None:
    (project / "rows").mkdir()
    (project / "rows/train.jsonl").write_text(jsonl(ROWS))
    (project / "rows/test.jsonl").write_text(jsonl(ROWS[:2]))


def test_new_run_folder_of_splits_is_trained_and_evaluated_on(project):
    folder_of_splits(project)

    result = new(data="rows")

    assert "splits:  train to train on, test to evaluate on\n" in result.stdout
    assert "data: 8 rows, 2 for evaluation\n" in result.stdout
    assert config()["eval"]["split"] == "test"


# Whatever columns and values hold

NASTY = ["\"'", "\n", "\r\n# x", "{}", "{a}", "a.b", "#", "]", "\t", "é漢😀", "\x7f", "\\", "="]
NASTY += ["\u2028", "\u202e", "${model}", '"""', "'''", "[x]", "%s", " ", "\ufeff", "\x85", "…"]


@pytest.mark.parametrize("seed", range(12))
def test_new_run_nasty_columns_and_values_give_a_config_that_passes(project, seed):
    draw = random.Random(seed)

    def word() -> str:
        return "".join(draw.choices([*NASTY, "q", "answer"], k=4))

    names = list(dict.fromkeys(word() for _ in range(6)))
    # A text for the prompt; texts with NUL, which no column of Arrow's can be called, and others.
    others = [word, lambda: word() + "\0", lambda: {word(): [word()]}, lambda: None]
    kinds = [word, *draw.choices(others, k=len(names) - 1)]
    rows = [{n: kind() for n, kind in zip(names, kinds, strict=True)} for _ in range(5)]
    (project / "train.jsonl").write_text(jsonl(rows))

    result = new("--reward", "acme/has_end")

    assert result.exit_code == 0, result.output
    section = config()["data"]
    assert section.get("prompt", section.get("template", "").strip("{}")) in names
    written = Path("run.toml").read_text(encoding="utf-8")
    assert [line for line in written.split("\n") if not line.isprintable()] == []


def test_new_run_nasty_docstring_and_default_stay_in_their_comment(project, site, monkeypatch):
    source = (
        "from grpo_core import hookimpl, reward\n@reward\n"
        "def odd(completion, *, mark: str = 'a\\n[rewards.x]\\x00', low: float = float('-inf')):\n"
        "    'Pays.\\x0b\\x1b[31m[model]'\n    return 0.0\n"
        "@hookimpl\ndef grpo_rewards():\n    return [odd]\n"
    )
    site.install("acme-odd", source, entry="odd")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "acme-odd")

    assert new().exit_code == 0
    assert list(config()["rewards"]) == ["odd"]


# What is refused

REFUSED: dict[str, tuple[list[str], str | None, str]] = {
    "no data": (["--data", "trian.jsonl"], None, "trian.jsonl. Did you mean 'train.jsonl'?"),
    "empty data": ([], "", "train.jsonl has no rows"),
    "broken line": ([], '{"question": "a"}\nnope\n', "train.jsonl, line 2: expected a JSON object"),
    "no prompt": (
        [],
        jsonl(
            [{"id": 1, "answer": "x", "messages": [*CHAT, {"role": "assistant", "content": ""}]}]
        ),
        "got 'id' (number), 'answer' (text), 'messages' (chat). Name one with --prompt",
    ),
    "prompt of numbers": (["--prompt", "id"], None, "texts or chats, got 'id' (number): 0."),
    "unknown prompt": (["--prompt", "qestion"], None, "'qestion'. Did you mean 'question'"),
    "row without prompt": (
        [],
        jsonl([*ROWS, {"question": None, "solution": "1"}]),
        "train.jsonl, line 9 has no value in column 'question'; or name another column with",
    ),
    "blank split": (["--split", ""], None, "data.split: expected a text that is not empty"),
    "unknown reward": (["--reward", "acme/has_and"], None, "Did you mean 'acme/has_end'"),
    "no function": (["--reward", "rewards.py:totl"], None, "Did you mean 'total'?"),
    "absent folder": (["-o", "away/run.toml"], None, "there is no folder away; make it first"),
    "a folder": (["-o", "."], None, ". is a folder; name the new file in it: run.toml"),
    "exists": (["-o", "rewards.py"], None, "rewards.py exists already and is not overwritten; "),
}


@pytest.mark.parametrize(("arguments", "data", "phrase"), REFUSED.values(), ids=REFUSED.keys())
def test_new_run_refuses_with_the_reason_and_writes_nothing(project, arguments, data, phrase):
    if data is not None:
        (project / "train.jsonl").write_text(data)
    before = {p: p.read_bytes() for p in project.iterdir() if p.is_file()}

    result = new(*arguments)

    assert isinstance(result.exception, GrpoError)
    assert phrase in str(result.exception)
    assert {p: p.read_bytes() for p in project.iterdir() if p.is_file()} == before


def test_new_run_without_plugins_says_what_to_do(project, monkeypatch):
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "")

    message = str(new().exception)

    assert 'pip install "grpo-core[all]"; or name one of your own: --reward rewards.py:' in message
    assert not Path("run.toml").exists()


def test_new_run_where_no_reward_fits_says_why(project, site, monkeypatch):
    source = PLUGIN.replace("[has_end, answer_equals, counted, matches]", "[counted, matches]")
    site.install("acme-rest", source, entry="rest")
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "acme-rest")

    message = str(new().exception)

    assert "  - rest/matches: no column looks like its input 'schema'\n" in message
    assert "  - rest/counted: its option 'words' must be given\n" in message


# What the check finds

UNFINISHED = {
    "option": (["--reward", "counted"], "counted", "# words = … ", "needs this option"),
    "input": (["--reward", "matches"], "matches", "# inputs = { schema =", "reads column 'schema'"),
    "model": (["--model", "./away"], "correct", '"./away" ', "there is no folder away"),
    "no model": (["--model", "site"], "correct", '"site" ', "there is no config.json in it"),
}


@pytest.mark.parametrize(
    ("arguments", "reward", "line", "phrase"), UNFINISHED.values(), ids=UNFINISHED.keys()
)
def test_new_run_unfinished_config_stays_and_the_check_says_why(
    project, arguments, reward, line, phrase
):
    result = new(*arguments)

    assert result.exit_code == 2, result.output
    assert list(config()["rewards"]) == [reward]
    assert line in Path("run.toml").read_text(encoding="utf-8")
    assert phrase in result.stdout
    assert result.stdout.endswith(
        "run.toml stays: edit it where the problems say, then run grpo check again\n"
    )
