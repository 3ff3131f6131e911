"""Word problems with one addition or subtraction, and the reward for solving them.

`train` and `test` are what smollm2.toml reads. The problems are drawn with a fixed seed. Each
problem of `test` has a pair of numbers of its own, which does not occur in `train`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from grpo_core import Completion, reward

SEED = 7
N_TRAIN = 256
N_TEST = 32

ADD = (
    "{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
    "There are {a} {things} in one box and {b} in another. How many {things} are there in all?",
    "{name} finds {a} {things} on Monday and {b} on Tuesday. How many {things} is that together?",
)
TAKE = (
    "{name} has {a} {things} and gives {b} away. How many {things} are left?",
    "There are {a} {things} in a bag. {name} takes {b} out. How many {things} stay in the bag?",
)
NAMES = ("Ada", "Ben", "Carla", "Dan", "Eva", "Finn", "Greta", "Hugo")
THINGS = ("apples", "books", "coins", "eggs", "marbles", "pencils", "shells", "stamps")

# A model this small follows examples better than instructions. Written as earlier turns of the
# chat, three of them make it keep the form now and then, which GRPO needs to begin with.
SHOWN = (
    ("Kim has 6 pens and gets 2 more. How many pens now?", "6 + 2 = 8"),
    ("There are 9 cups. Sam takes 4 away. How many are left?", "9 - 4 = 5"),
    ("There are 12 cards here and 3 there. How many in all?", "12 + 3 = 15"),
)


def train() -> list[dict[str, Any]]:
    """The problems to train on, as columns `prompt` (a chat) and `answer` (text)."""
    rng = random.Random(SEED)
    pairs = _pairs()[N_TEST:]
    return [_row(rng, *rng.choice(pairs)) for _ in range(N_TRAIN)]


def test() -> list[dict[str, Any]]:
    """The problems to evaluate on."""
    rng = random.Random(SEED)
    return [_row(rng, *pair) for pair in _pairs()[:N_TEST]]


def _pairs() -> list[tuple[int, int]]:
    pairs = [(a, b) for a in range(3, 20) for b in range(2, 10) if b < a]
    random.Random(SEED).shuffle(pairs)
    return pairs


def _row(rng: random.Random, a: int, b: int) -> dict[str, Any]:
    text = rng.choice(ADD + TAKE)
    words = {"name": rng.choice(NAMES), "things": rng.choice(THINGS), "a": a, "b": b}
    chat = [*_shown(), {"role": "user", "content": text.format(**words)}]
    return {"prompt": chat, "answer": str(a - b if text in TAKE else a + b)}


def _shown() -> Iterator[dict[str, str]]:
    for question, steps in SHOWN:
        answer = steps.rpartition(" ")[2]
        yield {"role": "user", "content": question}
        reply = f"<think>{steps}</think><answer>{answer}</answer>"
        yield {"role": "assistant", "content": reply}


@reward(range=(0.0, 1.0))
def answers(completion: Completion, answer: str) -> float:
    """1.0 if the text holds one answer block and the number in it is the answer, else 0.0.

    Several blocks earn nothing: else a model could list numbers until one is right. A right number
    after wrong steps counts; only the number is read.
    """
    if completion.text.count("<answer>") != 1:
        return 0.0
    block, closed, _ = completion.text.partition("<answer>")[2].partition("</answer>")
    return float(bool(closed) and block.strip() == answer)
