"""`grpo score`: one reward on one text, inputs and options read by their declared types."""

import io
import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from grpo_core import cli

REWARDS = """
from pathlib import Path
from typing import Literal
from grpo_core import Fail, Score, Skip, reward

print("noise of the import")

@reward(range=(0, 10))
def says(completion, answer: str):
    return Score(float(completion.text == answer), f"{answer!r}", {"length": len(completion.text)})

@reward
def shows(
    completion, n: int = 0, items: list[str] | None = None, plain=None, share: float = 0.0,
    flag: bool = False, table: dict = {}, either: int | str = 0,
):
    got = [n, items, plain, share, flag, table, either]
    print("noise of the call")
    return Score(1.0, repr(got))

@reward
def takes(
    completion, *, tags: list[str] = ["a"], limit=3, place: Path = Path("x"), free=None,
    mode: Literal["soft", "hard"] = "soft", text: str = "", count: int = 0,
):
    return Score(1.0, repr([tags, limit, place, free, mode, text, count]))

@reward
def asks(completion):
    return Score(1.0, f"{completion.prompt!r} {completion.text!r}")

@reward
def matches(completion, golds: str | list[str]):
    return Score(1.0, repr(golds))

@reward
def skips(completion):
    return Skip("does not apply")

@reward
def fails(completion):
    return Fail("the gold is broken")

@reward
def raises(completion):
    raise RuntimeError("boom")

@reward
class Band:
    def __init__(self, *, low: int = 0):
        if low > 1:
            raise ValueError("low is above 1")
    def __call__(self, completion):
        return 0.123456789

def untagged(completions, prompts, gold):
    return [len(completions[0]) + len(prompts[0]) + len(gold[0])]
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def score(site, monkeypatch, capsys):
    """Runs `grpo score mine.py:NAME ...` as the command does, in this process."""
    site.write("mine.py", REWARDS)
    monkeypatch.chdir(site.folder)

    def run(name: str, *arguments: str, text: str | None = "42") -> Ran:
        full = name if "/" in name else f"mine.py:{name}"
        given = [] if text is None else ["--text", text]
        monkeypatch.setattr(sys, "argv", ["grpo", "score", full, *given, *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        return Ran(int(caught.value.code or 0), out, err)

    return run


def reason(ran: Ran) -> str:
    """The reason, which is the second line."""
    assert ran.code == 0, ran.err
    return ran.out.splitlines()[1].strip()


def test_score_prints_name_value_status_reason_and_metrics(score):
    ran = score("says", "--input", "answer=42")

    assert ran.code == 0
    assert ran.out.splitlines() == [
        "mine.py:says  1  scored",
        "  '42'",
        "  length = 2",
    ]


def test_score_json_is_one_object_and_nothing_else(score):
    ran = score("shows", "--json")

    assert json.loads(ran.out) == {
        "reward": "mine.py:shows",
        "value": 1.0,
        "status": "scored",
        "reason": "[0, None, None, 0.0, False, {}, 0]",
        "metrics": {},
    }
    assert "noise of the import" in ran.err


def test_score_json_keeps_every_digit(score):
    assert json.loads(score("Band", "--json").out)["value"] == 0.123456789


def test_score_input_is_a_list_only_if_it_is_written_as_one_of_texts(score):
    assert reason(score("matches", "--input", 'golds=["7", "8"]')) == "['7', '8']"
    assert reason(score("matches", "--input", "golds=[7, 8]")) == "'[7, 8]'"


def test_score_input_may_be_a_file(score, site):
    site.write("gold.txt", "42")
    site.write("table.json", '{"a": [1]}')

    assert reason(score("says", "--input-file", "answer=gold.txt")) == "'42'"
    assert "{'a': [1]}" in reason(score("shows", "--input-file", "table=table.json"))


def test_score_file_of_an_input_that_cannot_be_read_is_named(score, site):
    ran = score(
        "says", "--input-file", "answer=no.txt", "--input-file", "anser=x", "--input", "b=1"
    )

    assert ran.code == 2
    assert "--input-file answer: file" in ran.err
    assert "no.txt cannot be read: No such file" in ran.err
    assert "--input-file anser: 'says' has no such input. Did you mean 'answer'?" in ran.err


def test_score_input_of_json_with_a_key_twice_is_no_object(score):
    ran = score("shows", "--input", 'table={"a": 1, "a": 2}')

    assert ran.code == 2
    assert '--input table: expected dict, got \'{"a": 1, "a": 2}\'' in ran.err


def test_score_input_given_twice_is_refused(score, site):
    site.write("gold.txt", "42")

    ran = score("says", "--input", "answer=1", "--input-file", "answer=gold.txt")

    assert "--input-file: 'answer' is given by --input too" in ran.err


def test_score_input_of_text_stays_text(score):
    assert reason(score("says", "--input", "answer=42")) == "'42'"
    assert reason(score("says", "--input", "answer=a=b=[1]")) == "'a=b=[1]'"
    assert reason(score("says", "--input", "answer=")) == "''"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("n=42", "[42, None, None, 0.0, False, {}, 0]"),
        ('items=["a", "1"]', "[0, ['a', '1'], None, 0.0, False, {}, 0]"),
        ("items=null", "[0, None, None, 0.0, False, {}, 0]"),
        ("plain=42", "[0, None, '42', 0.0, False, {}, 0]"),
        ("share=1", "[0, None, None, 1.0, False, {}, 0]"),
        ("flag=true", "[0, None, None, 0.0, True, {}, 0]"),
        ('table={"a": [1]}', "[0, None, None, 0.0, False, {'a': [1]}, 0]"),
        ("either=5", "[0, None, None, 0.0, False, {}, '5']"),
    ],
)
def test_score_input_is_read_by_its_type(score, given, expected):
    assert reason(score("shows", "--input", given)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('tags=["b", "c"]', "[['b', 'c'], 3, PosixPath('x'), None, 'soft', '', 0]"),
        ("limit=5", "[['a'], 5, PosixPath('x'), None, 'soft', '', 0]"),
        ("place=1", "[['a'], 3, PosixPath('1'), None, 'soft', '', 0]"),
        ("free=5", "[['a'], 3, PosixPath('x'), 5, 'soft', '', 0]"),
        ('free="5"', "[['a'], 3, PosixPath('x'), '5', 'soft', '', 0]"),
        ("free=a 5", "[['a'], 3, PosixPath('x'), 'a 5', 'soft', '', 0]"),
        ("mode=hard", "[['a'], 3, PosixPath('x'), None, 'hard', '', 0]"),
        ("text=42", "[['a'], 3, PosixPath('x'), None, 'soft', '42', 0]"),
        ("count=7", "[['a'], 3, PosixPath('x'), None, 'soft', '', 7]"),
    ],
)
def test_score_option_is_read_by_its_type(score, given, expected):
    assert reason(score("takes", "--option", given)) == expected


def test_score_prompt_is_given(score):
    assert reason(score("asks", "--prompt", "2+2?")) == "'2+2?' '42'"


def test_score_text_from_standard_input(score, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("line 1\nline 2\n"))

    assert reason(score("asks", text="-")) == r"'' 'line 1\nline 2\n'"


def test_score_standard_input_that_is_no_text_is_refused(score, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)

    ran = score("asks", text="-")

    assert (ran.code, ran.out) == (2, "")
    assert "--text -: standard input is not text: 'utf-8' codec can't decode byte" in ran.err


def test_score_untagged_function_gets_texts(score):
    ran = score("untagged", "--input", "gold=[1]", "--prompt", "p")

    assert ran.out.splitlines()[0] == "mine.py:untagged  6  scored"


def test_score_skipped_is_no_error(score):
    ran = score("skips")

    assert ran.code == 0
    assert ran.out.splitlines() == ["mine.py:skips  -  skipped", "  does not apply"]


def test_score_failed_ends_with_1(score):
    ran = score("fails")

    assert ran.code == 1
    assert ran.out.splitlines() == ["mine.py:fails  -  failed", "  the gold is broken"]


def test_score_exception_ends_with_1_and_no_traceback(score):
    ran = score("raises", "--json")

    assert ran.code == 1
    shown = json.loads(ran.out)
    assert (shown["status"], shown["value"]) == ("failed", None)
    assert shown["reason"].startswith("raised RuntimeError: boom (")
    assert "mine.py:" in shown["reason"]
    assert "Traceback" not in ran.err


def errors(ran: Ran) -> list[str]:
    """The lines of the error, after what the module printed."""
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    return ran.err.split("error: ", 1)[1].splitlines()


def test_score_all_problems_come_together(score):
    ran = score(
        "takes",
        "--option", "tags=think",
        "--option", "limt=3",
        "--option", "nothing",
        "--option", "text=a",
        "--option", "text=b",
        "--input", "answer=42",
        "--input", "=5",
    )  # fmt: skip

    assert errors(ran) == [
        "6 problems in the command:",
        "  - --option: expected name=value, got 'nothing'",
        "  - --option: 'text' is given twice",
        "  - --input: expected name=value, got '=5'",
        "  - answer: 'mine.py:takes' has no such input. Inputs are none.",
        "  - options.tags: expected list[str], got 'think' (Input should be a valid array)",
        "  - options.limt: 'takes' has no such option. Did you mean 'limit'? Options are count, "
        "free, limit, mode, place, tags, text.",
    ]


def test_score_missing_input_is_named_with_its_type(score):
    assert errors(score("says")) == [
        "1 problem in the command:",
        "  - answer: 'mine.py:says' needs this input (str); it is missing",
    ]


@pytest.mark.parametrize(
    ("given", "phrase"),
    [
        ("n=many", "--input n: expected int, got 'many'"),
        ("n=1.5", "--input n: expected int, got 1.5"),
        ("flag=yes", "--input flag: expected bool, got 'yes'"),
        ("items=[1]", "--input items[0]: expected list[str] | None, got 1"),
        ("table={'a': 1}", "--input table: expected dict, got \"{'a': 1}\""),
        ("table=" + "[" * 100_000, "--input table: expected dict, got '[[["),
    ],
)
def test_score_input_of_another_type_is_refused(score, given, phrase):
    assert phrase in errors(score("shows", "--input", given))[1]


def test_score_option_that_the_class_refuses_is_named(score):
    assert errors(score("Band", "--option", "low=2")) == [
        "1 problem in the command:",
        "  - options: 'band' refuses them: low is above 1",
    ]


def test_score_option_of_an_untagged_function_is_refused(score):
    assert "takes no options" in errors(score("untagged", "--option", "a=1"))[1]


def test_score_unknown_name_gets_near_names(score, site):
    site.install("grpo-reward-fake")

    (text,) = errors(score("fake/answer_equal", "--allow-plugin", "grpo-reward-fake"))

    assert "no reward 'fake/answer_equal'" in text
    assert "Did you mean 'fake/answer_equals'" in text


def test_score_text_missing_is_a_usage_error(score):
    ran = score("says", text=None)

    assert ran.code == 2
    assert "--text" in ran.err


def test_score_bare_name_prints_the_full_one_from_a_shell(site):
    site.install("grpo-reward-fake")

    code = "from grpo_core.cli import main; main()"
    arguments = ["score", "answer_equals", "--text", "a", "--input", "answer=a"]

    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(site.folder),
            "GRPO_CORE_PLUGINS": "grpo-reward-fake",  # a plugin beside it has the same bare name
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (0, "fake/answer_equals  1  scored\n"), ran.stderr
