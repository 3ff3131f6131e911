"""Texts that nobody expects: each gets a verdict and a reason, quickly, and none is run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from grpo_reward_math import AnswerEquals, Choice, NumberClose
from grpo_reward_math.shown import shown

from grpo_core import Completion, Score

REWARD = AnswerEquals(last_number=True)
# What one text repeats; 1 MB of each.
REPEATED = {
    "letters": "a",
    "line feeds": "\n",
    "open boxes": r"\boxed{",
    "boxes": r"\boxed{5}",
    "braces": "{",
    "backslashes": "\\",
    "dollars": "$5 ",
    "phrases": "answer is ",
    "phrases with words": "answer to of ",
    "headings": "# answer\n",
    "hashes": "#### ",
    "tags": "<answer>",
    "filled tags": "<answer>5</answer>",
    "fences": "```\n",
    "bold": "**5** ",
    "corrections": r"\boxed{5} wait ",
    "digits": "9",
    "NUL": "\0",
    "half of a surrogate pair": "\ud800",
    "right-to-left marks": "\u202e5",
    "alternatives": "5 or ",
}


def scored(text: str, gold: str = "5") -> Score:
    result = REWARD(Completion(text), gold)
    assert isinstance(result, Score)
    return result


@pytest.mark.parametrize("name", REPEATED)
def test_a_megabyte_gets_a_verdict_in_linear_time(name: str) -> None:
    def seconds(n_chars: int) -> float:
        """The least of three, which no other process makes larger."""
        text = REPEATED[name] * (n_chars // len(REPEATED[name]))
        took = []
        for _ in range(3):
            start = time.process_time()
            assert scored(text).reason
            took.append(time.process_time() - start)
        return min(took)

    seconds(10_000)  # patterns are compiled once
    # Ten times the text may take ten times as long, with room for a busy machine.
    assert seconds(1_000_000) < 40 * max(seconds(100_000), 0.002)


@pytest.mark.parametrize("reward", [NumberClose(), Choice()])
def test_the_other_rewards_bound_a_megabyte_too(reward: NumberClose | Choice) -> None:
    for unit in ("answer is ", r"\boxed{", "5 or "):
        start = time.process_time()
        answer = "B" if isinstance(reward, Choice) else "5"
        assert isinstance(reward(Completion(unit * (500_000 // len(unit))), answer), Score)
        assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("text", "gold", "value"),
    [
        ("\\boxed{5\0}", "5", None),
        ("\\boxed{5\ud800}", "5", 0.0),
        ("\\boxed{1\u200e2}", "12", None),
        ("\\boxed{\u202e21}", "12", 0.0),
        ("\\boxed{１２}", "12", 1.0),
        ("\\boxed{1O}", "10", 0.0),
        ("\\boxed{1О}", "10", 0.0),  # a Cyrillic letter
        ("\\boxed{l0}", "10", 0.0),
        ("\\boxed{\u0665}", "7", 0.0),  # an Arabic 5
        ("\\boxed{\u200b}", "5", 0.0),
    ],
)
def test_characters_that_look_like_others(text: str, gold: str, value: float | None) -> None:
    result = scored(text, gold)

    assert value is None or result.value == value
    result.reason.encode("utf-8")


@pytest.mark.parametrize(
    "payload",
    [
        "__import__('os').system('touch {0}')",
        "open('{0}','w')",
        "[c for c in ().__class__.__base__.__subclasses__()][0].__init__.__globals__",
        "\\begin{{matrix}}open('{0}','w')\\end{{matrix}}",
        "Matrix([[open('{0}','w')]])",
        "\\text{{eval(open('{0}','w'))}}",
        "lambda: open('{0}','w')",
        "\\int open('{0}','w') dx",
    ],
)
def test_nothing_that_the_model_wrote_is_run(payload: str, tmp_path: Path) -> None:
    mark = tmp_path / "run"

    for form in (r"\boxed{%s}", "<answer>%s</answer>", "The answer is %s", "#### %s"):
        for gold in ("5", r"\int x dx", r"\begin{pmatrix}1\\2\end{pmatrix}"):
            assert scored(form % payload.format(mark), gold).value == 0.0

    assert not mark.exists()


def test_a_reason_can_be_printed_whatever_the_text() -> None:
    assert shown("a\0b\ud800\u202e\n c") == '"a\\u0000b\\ud800\\u202e c"'
    assert len(shown("x" * 1000)) == 62
