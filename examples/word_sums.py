"""Word problems with one addition or subtraction, and the reward for solving them.

`rows` is what smollm2.toml reads. The problems are drawn with a fixed seed, and no pair of numbers
of the part `test` occurs in the part `train`.
"""

from __future__ import annotations

import random

from grpo_core import Completion, reward

SEED = 0
N_TRAIN = 256
N_TEST = 48

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


def rows() -> dict[str, list[dict[str, str]]]:
    """The problems as columns `question` and `answer`, by part: train and test."""
    rng = random.Random(SEED)
    pairs = [(a, b) for a in range(2, 20) for b in range(2, 10) if b < a]
    rng.shuffle(pairs)
    held_out = len(pairs) // 5
    parts = {"train": (pairs[held_out:], N_TRAIN), "test": (pairs[:held_out], N_TEST)}
    return {
        part: [_row(rng, *rng.choice(allowed)) for _ in range(n)]
        for part, (allowed, n) in parts.items()
    }


def _row(rng: random.Random, a: int, b: int) -> dict[str, str]:
    text = rng.choice(ADD + TAKE)
    words = {"name": rng.choice(NAMES), "things": rng.choice(THINGS), "a": a, "b": b}
    return {"question": text.format(**words), "answer": str(a - b if text in TAKE else a + b)}


@reward(range=(0.0, 1.0))
def answers(completion: Completion, answer: str) -> float:
    """1.0 if the text holds one answer block and the number in it is the answer, else 0.0.

    Several blocks earn nothing: else a model could list numbers until one is right. A right number
    after wrong steps counts; only the number is read.
    """
    if completion.text.count("<answer>") != 1:
        return 0.0
    block = completion.text.partition("<answer>")[2].partition("</answer>")[0]
    return float(block.strip() == answer)
