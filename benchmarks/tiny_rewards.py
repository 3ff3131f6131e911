"""Four cheap rewards: two to be tagged, two of TRL's kind, and the first two as TRL takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grpo_core import Completion


def share_of_digits(text: str) -> float:
    return sum(map(str.isdigit, text)) / len(text) if text else 0.0


def share_of_answer(text: str, answer: str) -> float:
    return sum(character in text for character in answer) / len(answer)


def digits(completion: Completion) -> float:
    """Share of the characters that are digits, from 0 to 1."""
    return share_of_digits(completion.text)


def holds_answer(completion: Completion, answer: str) -> float:
    """Share of the answer's characters that the text holds, from 0 to 1."""
    return share_of_answer(completion.text, answer)


def text_of(completion: Any) -> str:
    return completion if isinstance(completion, str) else completion[-1]["content"]


def letters(completions: Sequence[Any], **kwargs: Any) -> list[float]:
    return [sum(map(str.isalpha, text_of(c))) / 48 for c in completions]


def variety(
    prompts: Sequence[Any], completions: Sequence[Any], answer: Sequence[str], **kwargs: Any
) -> list[float]:
    return [len(set(text_of(c)) - set(a)) / 48 for c, a in zip(completions, answer, strict=True)]


def plain_digits(completions: Sequence[Any], **kwargs: Any) -> list[float]:
    return [share_of_digits(text_of(c)) for c in completions]


def plain_holds_answer(
    completions: Sequence[Any], answer: Sequence[str], **kwargs: Any
) -> list[float]:
    return [share_of_answer(text_of(c), a) for c, a in zip(completions, answer, strict=True)]
