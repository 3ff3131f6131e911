"""The length of a completion: what is counted, and in which unit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from grpo_core import Completion, Score, Skip
from grpo_reward_brevity.checks import check_choice, check_number
from grpo_reward_brevity.visible import is_visible

# No `from __future__ import annotations` here: the fields of Measured are options of every reward,
# and its types must be there in whatever module they are read.

Unit = Literal["tokens", "chars", "words"]
Part = Literal["whole", "think", "answer"]
Truncated = Literal["count", "low", "skip"]


@dataclass(kw_only=True)
class Measured:
    """What every reward of this plugin takes, and how it counts.

    Attributes:
        unit: What is counted: "tokens" of the trainer, "chars" (code points) or "words" (between
            white space; Chinese and Japanese have none, count chars there).
        part: "whole", "think" (what stands in the think tag) or "answer" (what stands behind it).
            A part has tokens only with a tokenizer.
        think_tag: Name of the tag around the reasoning.
        strip: Whether white space around the part is left out of chars.
        min_length: A shorter part earns the low end of the range, and so does one that shows
            nothing, whatever it counts: an empty reply has one token, the last. 0 for neither.
        truncated: What a completion counts as that was cut off at the length limit: "count" by
            its length as any other, "low" as the low end of the range, "skip" as no value.
        tokenizer: Name or folder of a tokenizer that counts tokens; "" takes the trainer's ids.
    """

    unit: Unit = "tokens"
    part: Part = "whole"
    think_tag: str = "think"
    strip: bool = True
    min_length: int = 1
    truncated: Truncated = "count"
    tokenizer: str = ""

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            ValueError: One is not one of its values, or two contradict each other.
        """
        check_choice("unit", self.unit, get_args(Unit))
        check_choice("part", self.part, get_args(Part))
        check_choice("truncated", self.truncated, get_args(Truncated))
        check_number("min_length", self.min_length, 0, 1e9)
        bare = self.think_tag.strip("</> \t\n")
        if not bare or bare != self.think_tag:
            raise ValueError(
                f"think_tag must be the bare name of a tag, got {self.think_tag!r}; write "
                f"{bare or 'think'!r}"
            )
        if self.tokenizer and self.unit != "tokens":
            raise ValueError(
                f"tokenizer counts tokens, but unit is {self.unit!r}; leave one of them out"
            )
        if self.unit == "tokens" and self.part != "whole" and not self.tokenizer:
            raise ValueError(
                f"part = {self.part!r} has no token count of its own: the trainer's ids are those "
                f"of the whole completion. Set tokenizer to the model's name or folder, or unit "
                f'to "chars" or "words"'
            )

    def length(self, completion: Completion) -> int:
        """The length of a completion in units, 0 or more.

        Raises:
            ValueError: It is to be counted in tokens and has none. The core skips such a row
                before, as `needs` asks it to.
        """
        if self.unit == "tokens" and not self.tokenizer:
            if completion.token_ids is None:
                raise ValueError("the completion has no token ids; set unit or tokenizer")
            return len(completion.token_ids)
        text = self._part(completion)
        if self.unit == "words":
            return len(text.split())
        if self.unit == "tokens":
            return _counter(self.tokenizer)(text)
        return len(text.strip() if self.strip else text)

    def _part(self, completion: Completion) -> str:
        return part_of(completion.text, completion.prefill, self.part, self.think_tag)

    def score(self, completion: Completion, n: int, low: float, value: float) -> Score | Skip:
        """What a completion of a length earns.

        Args:
            completion: The completion.
            n: Its length.
            low: The low end of the range, for what is too short or was cut off.
            value: What the formula gives for its length.
        """
        cut = completion.truncated is True
        metrics = {"length": float(n), "truncated": float(cut)}
        counted = f"{n} {self.unit}"
        if cut and self.truncated == "skip":
            return Skip(f"cut off after {counted}")
        if cut and self.truncated == "low":
            return Score(low, f"cut off after {counted}", metrics)
        if n < self.min_length:
            return Score(low, f"{counted}, fewer than min_length = {self.min_length}", metrics)
        if self.min_length and not is_visible(self._part(completion)):
            return Score(low, f"{counted}, and nothing to be seen in them", metrics)
        return Score(value, counted, metrics)


def needs(*, unit: Unit, tokenizer: str) -> tuple[str, ...]:
    """What must be known of a completion: its token ids, where they are counted."""
    return ("token_ids",) if unit == "tokens" and not tokenizer else ()


def part_of(text: str, prefill: str, part: Part, tag: str) -> str:
    """The part of a text that counts.

    Args:
        text: The completion.
        prefill: What the prompt had already opened, such as "<think>".
        part: "think": from the opening tag, or the start where the prompt had opened it, to the
            last closing tag, or the end where there is none. "answer": what is behind the last
            closing tag; nothing if the reasoning is never closed, all if there is none.
        tag: Name of the tag.
    """
    if part == "whole":
        return text
    opener, closer = f"<{tag}>", f"</{tag}>"
    start = text.find(opener)
    end = text.rfind(closer)
    if part == "answer":
        if end >= 0:
            return text[end + len(closer) :]
        return "" if start >= 0 or prefill.rstrip().endswith(opener) else text
    if start >= 0 and (end < 0 or start < end):
        begin = start + len(opener)
    elif end >= 0 or prefill.rstrip().endswith(opener):
        begin = 0
    else:
        return ""
    return text[begin : end if end >= 0 else len(text)]


@lru_cache(maxsize=4)
def _counter(name: str) -> Callable[[str], int]:
    """Counts the tokens of a text, without those that mark its start and end."""
    try:
        from transformers import AutoTokenizer  # noqa: TID251  # the extra `tokenizer`
    except ImportError as exc:
        raise ValueError(
            "tokenizer needs transformers: pip install 'grpo-reward-brevity[tokenizer]'"
        ) from exc
    loaded = AutoTokenizer.from_pretrained(name)
    return lambda text: len(loaded(text, add_special_tokens=False)["input_ids"])
