"""The reward `format/tag_count`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grpo_core import Completion, Score, reward
from grpo_reward_format.blocks import Contract
from grpo_reward_format.checks import check_choices, check_suffixes, check_tags
from grpo_reward_format.places import place
from grpo_reward_format.reading import FENCE_LIMIT, Reader, summary


@reward(range=(0.0, 1.0), isolation="inline")
class TagCount:
    r"""The share of the required tags that stand in their place, each exactly once.

    With the default tags each of `<think>`, `</think>`, `<answer>` and `</answer>` is worth 0.25.
    A tag is in its place if

    - it occurs exactly once, and in the order of the blocks (of tags out of order, those of the
      best chain in order count);
    - an opening tag: a visible character follows before the next tag, and no text stands between
      it and the block before (or the start);
    - a closing tag: its opening tag stands in order and a visible character is between the two;
      behind the last one no text follows.

    Text next to a tag is not held against it where its neighbour is missing; that costs already.
    So 1.0 means what it means for `format/tags` with the same options. Tags that the prompt had
    already opened are required, but not paid for. Deterministic; time grows with the length of
    the text times the number of tags, no faster. Line ends `\r\n` count as `\n`.

    With `layout_weight` = w the tags are worth 1 - w. Once all are in place, w times the share of
    the tags that stand alone on their lines comes on top.

    open-r1's own count, which pays for empty blocks, any order and text around, is
    `format/published_rule` with `rule = "open_r1_tag_count"`.

    How a lazy model could cheat: one character is a body, so `<think>.</think>` earns both its
    tags, and an unclosed opening tag before any text earns its share. What the blocks say is not
    looked at; pair this reward with one that does.

    Args:
        tags: Names of the required blocks, in order.
        outside_text: Text outside the blocks: "forbid", "allow_after" the last one, or "allow".
            White space is always free.
        layout_weight: Part of the reward, 0 to 1, for tags alone on their lines.
        prompt_prefix: What the prompt had already written of the reply, put in front of the
            completion; None takes what the chat template is known to have opened.
        prefix_policy: A completion that repeats the prefix at its start is scored without it
            under "lenient"; under "exact" its tags are there twice.
        empty_body: "reject": a body needs a visible character; "allow": it does not.
        ignore_code_fences: True makes tags inside fenced code (``` or ~~~) plain text. A fence
            that is never closed runs to the end. Over 10,000 lines of fences score 0.0.
        strip_suffixes: Special tokens cut off the end first, as often as they stand there.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        tags: Sequence[str] = ("think", "answer"),
        outside_text: Literal["forbid", "allow_after", "allow"] = "forbid",
        layout_weight: float = 0.0,
        prompt_prefix: str | None = None,
        prefix_policy: Literal["exact", "lenient"] = "exact",
        empty_body: Literal["reject", "allow"] = "reject",
        ignore_code_fences: bool = False,
        strip_suffixes: Sequence[str] = (),
    ) -> None:
        check_tags(tags)
        check_choices(outside_text=outside_text, prefix_policy=prefix_policy, empty_body=empty_body)
        if not 0 <= layout_weight <= 1:  # NaN is refused as well
            raise ValueError(
                f"layout_weight must be a number from 0 to 1, got {layout_weight!r}; write for "
                f"example 0.2, or leave it out if line breaks do not matter"
            )
        self._contract = Contract(tuple(tags), outside_text, empty_body=empty_body)
        check_suffixes(strip_suffixes, self._contract)
        self._layout_weight = layout_weight
        self._reader = Reader(prompt_prefix, prefix_policy, ignore_code_fences, strip_suffixes)

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion; the reason names the first tags that are not in their place."""
        prefix, text = self._reader.read(completion)
        if text is None:
            return Score(0.0, reason=FENCE_LIMIT)

        places = place(text, self._contract, prefix)

        weight = self._layout_weight
        faults = places.faults
        if weight and places.crowded:
            faults = (f"{places.crowded} is not alone on its line",)
        value = (1 - weight) * places.share + weight * places.alone if faults else 1.0
        return Score(value, reason=summary(faults))
