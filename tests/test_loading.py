"""The rows of a run: `[data]` and `[eval]` together, and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_core.loading import RunData, eval_source, load_data
from grpo_core.reader import read_draft
from grpo_core.sections import DataSection, EvalSection


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Reads the data of a config with these sections; d.jsonl has ten rows, e.jsonl two."""
    for name, n in (("d", 10), ("e", 2)):
        rows = [{"prompt": f"{name}{i}", "answer": str(i)} for i in range(n)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    def load(text: str) -> RunData:
        (tmp_path / "run.toml").write_text('[data]\npath = "d.jsonl"\n' + text)
        return load_data(read_draft(tmp_path / "run.toml"))

    return load


def said(data: RunData, folder: Path) -> list[str]:
    return [str(p).replace(f"{folder}/", "") for p in data.problems]


def test_load_data_without_eval_has_the_training_rows(run, tmp_path):
    data = run("")

    assert data.train.table["prompt"] == [f"d{i}" for i in range(10)]
    assert data.evaluation is None
    assert data.train.fingerprint["rows"] == 10
    assert data.problems == []


def test_load_data_fraction_holds_whole_rows_out(run):
    data = run("[eval]\nfraction = 0.3\n")

    train, out = data.train.table, data.evaluation.table
    assert len(train["prompt"]) == 7
    assert sorted(train["prompt"] + out["prompt"]) == [f"d{i}" for i in range(10)]
    assert [f"d{a}" for a in out["answer"]] == out["prompt"]
    assert train["prompt"] == sorted(train["prompt"])
    assert data.train.fingerprint["rows"] == 7
    assert data.evaluation.fingerprint["rows"] == 3
    assert data.evaluation.fingerprint["seed"] == 0


def test_load_data_fraction_of_another_seed_holds_others_out(run):
    zero = run("[eval]\nfraction = 0.3\n").evaluation.table["prompt"]

    assert run("[eval]\nfraction = 0.3\nseed = 0\n").evaluation.table["prompt"] == zero
    assert run("[eval]\nfraction = 0.3\nseed = 1\n").evaluation.table["prompt"] != zero


def test_load_data_fraction_is_of_the_rows_within_the_limit(run):
    data = run("limit = 4\n[eval]\nfraction = 0.01\n")

    assert len(data.train.table["prompt"]) == 3
    assert len(data.evaluation.table["prompt"]) == 1


@pytest.mark.parametrize("fraction", [0.96, 0.99])
def test_load_data_fraction_that_leaves_no_row_is_refused(run, tmp_path, fraction):
    assert said(run(f"[eval]\nfraction = {fraction}\n"), tmp_path) == [
        "eval.fraction: would hold out every row (there are 10); make it smaller or add rows"
    ]


def test_load_data_fraction_of_one_row_is_refused(run, tmp_path):
    assert said(run("limit = 1\n[eval]\nfraction = 0.05\n"), tmp_path) == [
        "eval.fraction: would hold out every row (there are 1); make it smaller or add rows"
    ]


def test_load_data_eval_of_its_own_takes_prompts_as_in_data(run):
    data = run('template = "Q: {answer}"\nsystem = "S"\n[eval]\npath = "e.jsonl"\n')

    assert data.evaluation.table["prompt"] == [
        [{"role": "system", "content": "S"}, {"role": "user", "content": f"Q: {i}"}]
        for i in range(2)
    ]
    assert data.evaluation.fingerprint["sha256"] != data.train.fingerprint["sha256"]


def test_load_data_eval_takes_chat_as_in_data_unless_it_says(run):
    same = run('chat = true\n[eval]\npath = "e.jsonl"\n')
    other = run('chat = true\n[eval]\npath = "e.jsonl"\nchat = false\n')

    assert same.evaluation.table["prompt"][0] == [{"role": "user", "content": "e0"}]
    assert other.evaluation.table["prompt"] == ["e0", "e1"]
    assert other.train.table["prompt"][0][0]["role"] == "user"


def test_load_data_eval_prompt_of_its_own_replaces_the_template(run):
    data = run('template = "Q: {answer}"\n[eval]\npath = "e.jsonl"\nprompt = "prompt"\n')

    assert data.evaluation.table["prompt"] == ["e0", "e1"]


def test_eval_source_of_another_split_is_the_same_data():
    data = DataSection(path="a/b", name="main", split="train", limit=9, seed=1, prompt="q")

    source = eval_source(EvalSection(split="test"), data)

    assert source == DataSection(path="a/b", name="main", split="test", prompt="q")


def test_eval_source_of_another_path_takes_neither_split_nor_name():
    data = DataSection(path="a/b", name="main", split="train")

    assert eval_source(EvalSection(path="c", limit=2), data) == DataSection(path="c", limit=2)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            "",
            ["eval: says no rows: give fraction = 0.05 to hold some out, or path, or another spl"],
        ),
        (
            "limit = 5",
            ["eval: says no rows: give fraction = 0.05 to hold some out, or path, or an"],
        ),
        (
            "fraction = 0.1\npath = 'e.jsonl'\nlimit = 5",
            [
                "eval.path: cannot stand beside fraction, whose rows are those of [data]",
                "eval.limit: cannot stand beside fraction, whose rows are those of [data]",
            ],
        ),
        (
            "path = 'org/name'",
            ["eval.split: is missing: say which split of 'org/name' to evaluate"],
        ),
        (
            "path = 'gone.jsonl'",
            ["eval.path: there is no data file gone.jsonl. Did you mean '"],
        ),
        ("split = 'test'", ["eval.path: d.jsonl is a file and has no split 'test'; leave it out"]),
        (
            "path = 'e.jsonl'\nprompt = 'promt'",
            ["eval.prompt: the data has no column 'promt'. Did you mean 'prompt'? Columns are"],
        ),
    ],
)
def test_load_data_fault_of_eval_is_named(run, tmp_path, text, problems):
    found = said(run(f"[eval]\n{text}\n"), tmp_path)

    assert [f[: len(p)] for f, p in zip(found, problems, strict=True)] == problems


def test_load_data_faults_of_both_come_together(run, tmp_path):
    data = run('prompt = "p"\n[eval]\npath = "gone.jsonl"\n')

    assert [t.split(": ")[0] for t in said(data, tmp_path)] == ["data.prompt", "eval.path"]
    assert list(data.train.table) == ["prompt", "answer"]


@pytest.mark.parametrize("line", ["limit = 0", "seed = -1", "limit = 'all'", "system = ''"])
def test_load_data_wrong_value_does_not_hide_a_path_that_leads_nowhere(tmp_path, line):
    (tmp_path / "run.toml").write_text(
        f"[data]\npath = 'gone.jsonl'\n{line}\n[eval]\npath = 'lost.jsonl'\n{line}\n"
    )
    draft = read_draft(tmp_path / "run.toml")

    key = line.split()[0]
    wrong = [p.where for p in draft.problems if not p.where.startswith(("model", "rewards"))]
    assert wrong == [f"data.{key}", f"eval.{key}"]
    assert [p.where for p in load_data(draft).problems] == ["data.path", "eval.path"]


def test_load_data_wrong_limit_does_not_read_a_function_without_end(tmp_path):
    (tmp_path / "endless.py").write_text(
        "def rows():\n    while True:\n        yield {'prompt': 'a'}\n"
    )
    (tmp_path / "run.toml").write_text("[data]\npath = 'endless.py:rows'\nlimit = 0\n")

    assert load_data(read_draft(tmp_path / "run.toml")).train.fingerprint["rows"] == 1000


def test_load_data_row_without_prompt_is_named_by_file_and_line(run, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"prompt": "a"}\n\n{"prompt": null}\n')

    (text,) = said(run("seed = 5\n[eval]\nfraction = 0.5\n"), tmp_path)

    assert text == (
        "d.jsonl, line 3: a prompt must be a text or a list of messages with role and content, "
        "got None"
    )


def test_load_data_column_of_two_kinds_is_named_by_file_and_line(run, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"prompt": "a", "x": 1}\n{"prompt": "a", "x": "y"}\n')

    assert said(run(""), tmp_path) == [
        "column 'x' mixes kinds: d.jsonl, line 1 holds 1 (number), d.jsonl, line 2 holds 'y' "
        "(str); make them one kind"
    ]


SPELT = (
    "import json\n"
    "def rows():\n"
    "    return [{'prompt': 'a'}, {'prompt': 'b'}]\n"
    "def others():\n"
    "    return [{'prompt': 'c'}]\n"
)


@pytest.mark.parametrize(
    ("data", "spelt"),
    [
        ("d.jsonl", "path = './d.jsonl'"),
        ("d.jsonl", "path = '{folder}/d.jsonl'"),
        ("./d.jsonl", "path = 'd.jsonl'\nlimit = 3\nseed = 1"),
        ("d.jsonl", "path = 'link.jsonl'"),
        ("f.py:rows", "path = 'f:rows'"),
        ("f:rows", "path = './f.py:rows'"),
        ("f:rows", "path = '{folder}/f.py:rows'"),
        ("a/b", "path = 'a/b'\nsplit = 'train'"),
        ("a/b", "path = 'a/b'\nsplit = 'train[:]'"),
        ("a/b", "split = 'train[:100%]'"),
        ("a/b", "split = 'train[0:]'"),
        ("a/b", "split = 'train'\nname = 'default'"),
    ],
)
def test_load_data_eval_of_the_training_rows_is_refused_however_it_is_spelt(
    run, tmp_path, data, spelt
):
    (tmp_path / "f.py").write_text(SPELT)
    (tmp_path / "link.jsonl").symlink_to("d.jsonl")
    overrides = [f"data.path={data}"]
    run(f"[eval]\n{spelt.format(folder=tmp_path)}\n")

    found = load_data(read_draft(tmp_path / "run.toml", overrides)).problems

    assert [str(p) for p in found if p.where == "eval"] == [
        "eval: reads the rows that are trained on; give fraction = 0.05, or another path or split"
    ]


def test_load_data_eval_of_another_function_of_the_file_is_fine(run, tmp_path):
    (tmp_path / "two_functions.py").write_text(SPELT)
    run("[eval]\npath = 'two_functions:others'\n")

    data = load_data(read_draft(tmp_path / "run.toml", ["data.path=two_functions.py:rows"]))

    assert (data.problems, data.warnings) == ([], [])
    assert data.evaluation.table["prompt"] == ["c"]


def test_load_data_eval_of_a_copy_of_training_rows_is_refused(run, tmp_path):
    lines = (tmp_path / "d.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "copy.jsonl").write_text("".join(lines[3:5]))

    assert said(run("[eval]\npath = 'copy.jsonl'\n"), tmp_path) == [
        "eval: all 2 rows are trained on too: copy.jsonl, line 1 (as d.jsonl, line 4), copy.jsonl, "
        "line 2 (as d.jsonl, line 5); give fraction = 0.05, or rows that are not in [data]"
    ]


def test_load_data_eval_prompts_that_are_trained_on_are_counted(run, tmp_path):
    prompts = ["d9", "new", "d2", "d0", "d1"]
    (tmp_path / "e.jsonl").write_text(
        "".join(json.dumps({"prompt": p, "answer": "?"}) + "\n" for p in prompts)
    )

    data = run("[eval]\npath = 'e.jsonl'\n")

    assert data.problems == []
    assert [str(w).replace(f"{tmp_path}/", "") for w in data.warnings] == [
        "eval: 4 of the 5 prompts are trained on too: e.jsonl, line 1 (as d.jsonl, line 10), "
        "e.jsonl, line 3 (as d.jsonl, line 3), e.jsonl, line 4 (as d.jsonl, line 1), …; take them "
        "out of [data] or [eval]"
    ]


def test_load_data_eval_prompts_alike_with_other_columns_are_a_warning_only(run, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"prompt": "d0", "answer": "another"}\n')

    data = run("[eval]\npath = 'e.jsonl'\n")

    assert data.problems == []
    assert [w.message.partition(":")[0] for w in data.warnings] == [
        "1 of the 1 prompts are trained on too"
    ]


def test_load_data_chats_and_held_out_rows_are_compared_too(run, tmp_path):
    chat = [{"role": "user", "content": "same"}]
    (tmp_path / "d.jsonl").write_text((json.dumps({"prompt": chat}) + "\n") * 4)

    data = run("[eval]\nfraction = 0.25\n")

    assert data.problems == []
    assert [w.message.partition(":")[0] for w in data.warnings] == [
        "1 of the 1 prompts are trained on too"
    ]
