"""Rewards that are wrong on purpose, each in one way; the last of a kind is in `wrong_heavy`."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from typing import Any

from grpo_core import Completion, reward


@reward
def constant(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0; or so it says."""
    return 1.0


@reward
def dead_column(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0; but it reads another column."""
    return float(completion.text == completion.columns.get("solution"))


@reward
def all_none(completion: Completion, answer: str) -> float | None:
    """1.0 if the text is the answer, else 0.0; but it never says so."""
    return None


@reward
def swallowed_error(completion: Completion, answer) -> float:  # part of the fault
    """1.0 if the text is the answer, else 0.0; 0.0 too where the answer is broken."""
    try:
        return float(completion.text == answer.strip())
    except Exception:
        return 0.0


@reward(scope="batch")
def returns_too_few(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, else 0.0."""
    return [float(c.text == a) for c, a in zip(completions, answer, strict=True)][1:]


@reward
def wrong_type(completion: Completion, answer: str) -> Any:
    """1.0 if the text is the answer, else 0.0."""
    return str(float(completion.text == answer))


@reward
def out_of_range(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return 100.0 * (completion.text == answer)


@reward
def not_a_number(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return 1.0 if completion.text == answer else float("nan")


@reward
def infinite_on_empty(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    if not completion.text:
        return float("-inf")
    return float(completion.text == answer)


@reward(scope="batch")
def depends_on_mates(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, else less, down to 0.0."""
    longest = max(len(c.text) for c in completions) + 1
    return [
        1.0 if c.text == a else 0.5 - 0.5 * len(c.text) / longest
        for c, a in zip(completions, answer, strict=True)
    ]


@reward(scope="batch")
def best_of_the_batch_wins(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, or the longest of a batch without one, else 0.0."""
    right = [c.text == a for c, a in zip(completions, answer, strict=True)]
    if any(right):
        return [float(r) for r in right]
    longest = max(len(c.text) for c in completions)
    return [float(len(c.text) == longest) for c in completions]


@reward(scope="batch")
def depends_on_position(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, else less, down to 0.0."""
    n = len(completions)
    return [
        1.0 if c.text == a else i / (2 * n)
        for i, (c, a) in enumerate(zip(completions, answer, strict=True))
    ]


@reward
def edits_its_input(completion: Completion, answers: list[str]) -> float:
    """1.0 if the text is one of the answers, else 0.0."""
    answers.sort()
    return float(completion.text in answers)


@reward
def edits_columns(completion: Completion, answers: list[str]) -> float:
    """1.0 if the text is one of the answers, else 0.0."""
    completion.columns["seen"] = True
    return float(completion.text in answers)


@reward(scope="batch")
def sorts_completions(completions: list[Completion], answers: list[list[str]]) -> list[float]:
    """1.0 if the text is one of the answers, else 0.0."""
    values = [float(c.text in a) for c, a in zip(completions, answers, strict=True)]
    completions.sort(key=lambda c: c.text)
    return values


@reward
def random_score(completion: Completion, answer: str) -> float:
    """1.0 or a little less if the text is the answer, else 0.0 or a little more."""
    noise = 0.1 * random.random()
    return 1.0 - noise if completion.text == answer else noise


@reward
def seldom_random(completion: Completion, answer: str) -> float:
    """1.0 or, one time in a hundred, a little less if the text is the answer, else 0.0."""
    noise = 0.1 * (random.random() < 0.01)
    return 1.0 - noise if completion.text == answer else 0.0


calls = 0


@reward
def drifts(completion: Completion, answer: str) -> float:
    """1.0 or a little less if the text is the answer, else 0.0; as a clock would have it."""
    global calls
    calls += 1
    return (1.0 - 0.1 * (calls > 150)) * (completion.text == answer)


@reward
def slow(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    time.sleep(0.01)
    return float(completion.text == answer)


@reward
def exits(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    if completion.text != answer:
        sys.exit(0)
    return 1.0


@reward
def crashes_on_junk(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, as JSON or not, else 0.0."""
    if completion.text.startswith("{"):
        return float(json.loads(completion.text) == answer)
    return float(completion.text == answer)


def made(bonus: float) -> Any:
    @reward
    def closure(completion: Completion, answer: str) -> float:
        """1.0 if the text is the answer, else 0.0."""
        return min(1.0, float(completion.text == answer) + bonus)

    return closure


closure = made(0.0)


# Further faults, one for each way in which the contract looks at a reward.


@reward(timeout_s=2.5)
def hangs(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    time.sleep(0.0 if completion.text == answer else 30.0)
    return 1.0


@reward(timeout_s=2.5)
async def hangs_waiting(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    await asyncio.sleep(0.0 if completion.text == answer else 30.0)
    return 1.0


@reward
def exits_on_junk(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    if not completion.text.strip():
        sys.exit(0)
    return float(completion.text == answer)


@reward
def ends_the_process(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    if completion.text != answer:
        os._exit(1)
    return 1.0


@reward(scope="batch")
def ends_the_process_of_all(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, else 0.0."""
    if any(c.text != a for c, a in zip(completions, answer, strict=True)):
        os.kill(os.getpid(), signal.SIGSEGV)
    return [1.0 for _ in completions]


@reward
def crashes_on_none(completion: Completion, answer: str | None) -> float:
    """1.0 if the text is the answer, else 0.0."""
    if answer is None:
        os._exit(1)
    return float(completion.text == answer)


@reward
def raises(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return 1.0 / (completion.text == answer)


@reward
def guesses(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer and was not cut off, else 0.0."""
    return float(completion.text == answer and not completion.truncated)


@reward
def reads_the_reply(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0; in a chat it looks for messages."""
    return float(completion.text == answer and completion.reply is None)


@reward
def needs_its_input(completion: Completion, answer: str = "42", extra: str = "") -> float:
    """1.0 if the text is the answer, else 0.0; with extra nothing is."""
    return float(completion.text == answer) if extra else 1 / 0


@reward(deterministic=False)
def declared_random(completion: Completion, answer: str) -> float:
    """1.0 or a little less if the text is the answer, else 0.0 or a little more."""
    noise = 0.1 * random.random()
    return 1.0 - noise if completion.text == answer else noise


@reward(scope="group")
def needs_mates(completions: list[Completion], answer: list[str]) -> list[float]:
    """1.0 if the text is the answer, else 0.0."""
    share = 1 / min(1, len(completions) - 1)
    return [share * (c.text == a) for c, a in zip(completions, answer, strict=True)]


@reward(scope="batch")
def returns_one(completions: list[Completion], answer: list[str]) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return 1.0


@reward
def undocumented(completion: Completion, gold_answer: str) -> float:
    """Compares the text"""  # noqa: D415  # the fault
    return float(completion.text == gold_answer)


@reward(needs=("token_ids",))
def wants_tokens(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return float(completion.text == answer)


def untagged(completions: list[str], **columns: Any) -> list[float]:
    return [1.0 for _ in completions]


@reward
def reads_a_global(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0; more or less so, as others set it."""
    return share * (completion.text == answer)


share = 1.0


@reward(isolation="thread")
def waits(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0; nothing is wrong with it."""
    time.sleep(0.001)
    return float(completion.text == answer)


@reward(needs=("reply",))
def counts_messages(completion: Completion, answer: str) -> float:
    """1.0 if the one message is the answer, else 0.0; nothing is wrong with it."""
    assert completion.reply is not None
    return float([m.content for m in completion.reply] == [answer])
