"""The reward for GSM8K: is the number in the answer block the one behind `####`."""

from __future__ import annotations

import re

from grpo_core import Completion, Fail, reward


@reward(range=(0.0, 1.0))
def answers(completion: Completion, answer: str) -> float | Fail:
    """1.0 if the text holds one answer block with the gold number and nothing else, else 0.0.

    `$1,234` and `1234.00` are the same number. Several blocks earn nothing: else a model could list
    numbers until one is right. The steps are not read.
    """
    gold = _number(answer.rpartition("####")[2]) if "####" in answer else None
    if gold is None:
        return Fail(f"the column 'answer' has no number behind '####': {answer[-40:]!r}")
    if completion.text.count("<answer>") != 1:
        return 0.0
    block, closed, _ = completion.text.partition("<answer>")[2].partition("</answer>")
    return float(bool(closed) and _number(block) == gold)


def _number(text: str) -> float | None:
    digits = text.strip().removeprefix("$").replace(",", "")
    return float(digits) if re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,10})?", digits) else None
