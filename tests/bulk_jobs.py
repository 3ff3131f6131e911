"""What the tests of scoring files share: two rewards, jobs, and what comes of them."""

import json

import pytest

from grpo_core import Score, reward
from grpo_core.bulk.job import score_file
from grpo_core.errors import DataError

ROW = {"completion": "a", "answer": "a"}


@reward
def equals(completion, answer: str):
    return Score(float(completion.text == answer), f"gold {answer}", {"n": len(completion.text)})


@reward(range=(0.0, 2.0))
def half(completion):
    """0.5, but None for an empty reply; breaks on a reply of x."""
    if completion.text == "x":
        raise RuntimeError("boom")
    return 0.5 if completion.text else None


def lengths(completions, **columns):
    return [float(len(c)) for c in completions]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def scored(job):
    """The summary and the rows that were written."""
    summary = score_file(job, lambda stage, done, total: None)
    return summary, [json.loads(line) for line in job.out.read_text("utf-8").splitlines()]


def refusal(job):
    """The error; nothing is left of the output."""
    before = sorted(job.data.parent.iterdir())
    with pytest.raises(DataError) as caught:
        score_file(job, lambda stage, done, total: None)
    assert sorted(job.data.parent.iterdir()) == before
    return str(caught.value).replace(str(job.data), "FILE")
