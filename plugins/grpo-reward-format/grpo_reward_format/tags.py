"""The reward `format/tags`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grpo_core import Completion, Score, reward
from grpo_reward_format.blocks import Contract, judge
from grpo_reward_format.checks import check_choices, check_suffixes, check_tags
from grpo_reward_format.reading import FENCE_LIMIT, Reader, summary


@reward(range=(0.0, 1.0), isolation="inline")
class Tags:
    r"""1.0 if the text is the required blocks, each once, in order, filled, and nothing else.

    With `tags = ["think", "answer"]` that is `<think>…</think><answer>…</answer>`. Tags are
    matched letter by letter: `<Think>`, `< think>`, `<think/>` and `<thinking>` are plain text.
    Deterministic; time grows with the length of the text times the number of tags, no faster.
    Line ends `\r\n` count as `\n`.

    | check                           | how many           | made                               |
    |---------------------------------|--------------------|------------------------------------|
    | tag: once and in its place      | 2 per block        | always; a closing tag needs its    |
    |                                 |                    | opening tag right                  |
    | body: a visible character in it | 1 per block        | where both its tags are right;     |
    |                                 |                    | never with `empty_body = "allow"`  |
    | no text outside the blocks      | 1                  | once all of the above are right;   |
    |                                 |                    | never with `outside_text = "allow"`|
    | each tag alone on its line      | 1                  | likewise, if `layout = "lines"`    |
    | text after the last block       | 1                  | likewise, if `tail = "require"`    |

    `mode = "strict"` pays 1.0 if all pass, else 0.0. `mode = "soft"` pays the share passed, in
    which a check that is not made counts as not passed: no tags, no pay, and 1.0 exactly where
    strict pays it. Tags that the prompt had already opened are required, but not paid for.

    How a lazy model could cheat: one character is a body (`<think>.</think>`), and the text in
    the blocks may be anything; pair this reward with one for what the blocks say. In soft mode
    empty blocks earn the tags' share. With `outside_text = "allow"` the reply may stand outside.

    Args:
        tags: Names of the required blocks, in order.
        mode: "strict" pays all or nothing, "soft" the share of the checks passed.
        outside_text: Text outside the blocks: "forbid", "allow_after" the last one, or "allow".
            White space is always free.
        layout: "lines": each tag stands alone on its line; "any": line breaks do not matter.
        prompt_prefix: What the prompt had already written of the reply, put in front of the
            completion; None takes what the chat template is known to have opened.
        prefix_policy: A completion that repeats the prefix at its start is scored without it
            under "lenient"; under "exact" its tags are there twice.
        empty_body: "reject": a body needs a visible character; "allow": it does not.
        tail: "require": a visible character must follow the last block.
        ignore_code_fences: True makes tags inside fenced code (``` or ~~~) plain text. A fence
            that is never closed runs to the end. Over 10,000 lines of fences score 0.0.
        strip_suffixes: Special tokens cut off the end first, as often as they stand there.

    Raises:
        ValueError: An option is not one of these, or no text could satisfy them together.
    """

    def __init__(
        self,
        *,
        tags: Sequence[str] = ("think", "answer"),
        mode: Literal["strict", "soft"] = "strict",
        outside_text: Literal["forbid", "allow_after", "allow"] = "forbid",
        layout: Literal["any", "lines"] = "any",
        prompt_prefix: str | None = None,
        prefix_policy: Literal["exact", "lenient"] = "exact",
        empty_body: Literal["reject", "allow"] = "reject",
        tail: Literal["optional", "require"] = "optional",
        ignore_code_fences: bool = False,
        strip_suffixes: Sequence[str] = (),
    ) -> None:
        check_tags(tags)
        check_choices(
            mode=mode,
            outside_text=outside_text,
            layout=layout,
            prefix_policy=prefix_policy,
            empty_body=empty_body,
            tail=tail,
        )
        if tail == "require" and outside_text == "forbid":
            raise ValueError(
                "tail = 'require' wants text after the last block, which outside_text = 'forbid' "
                "rejects; set outside_text to 'allow_after', or leave tail out"
            )
        self._contract = Contract(tuple(tags), outside_text, layout, empty_body, tail)
        check_suffixes(strip_suffixes, self._contract)
        self._soft = mode == "soft"
        self._reader = Reader(prompt_prefix, prefix_policy, ignore_code_fences, strip_suffixes)

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion; the reason names the first checks that fail."""
        prefix, text = self._reader.read(completion)
        if text is None:
            return Score(0.0, reason=FENCE_LIMIT)

        verdict = judge(text, self._contract, prefix)

        value = verdict.share if self._soft else float(not verdict.faults)
        return Score(value, reason=summary(verdict.faults))
