"""The reward `math/choice`."""

from __future__ import annotations

import re

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_math.candidates import ExtractOptions
from grpo_reward_math.choices import chosen, letter_of
from grpo_reward_math.deciding import MAX_ANSWERS, Decision
from grpo_reward_math.extracting import extract
from grpo_reward_math.failures import Unreadable
from grpo_reward_math.gold import bare
from grpo_reward_math.options import check_names
from grpo_reward_math.reply import NoAnswer, reply_of
from grpo_reward_math.shown import shown

_PHRASES = ("I choose", "I pick", "I select")
# A reply that is nothing but an option: "(B) 24".
_WHOLE = re.compile(r"\s*[*_]{0,3}\(?[A-Z][).:][*_]{0,3}[ \t]++[^\n]{1,200}+\s*+")


@reward(range=(0.0, 1.0), isolation="process", timeout_s=2.0, on_timeout="low")
class Choice:
    r"""1.0 if the final answer of the completion names the right option, else 0.0.

    The answer is found as `math/answer_equals` does it. It names an option by its letter ("B",
    "b", "(B)", "B) 24", `\textbf{(B)}\ 24`) or, if the input `choices` is there, by the option's
    own text. Several different options, and a letter with the text of another option, score 0.0.

    An empty gold is skipped; one that names no option fails, and `grpo check` lists it. The metrics
    `no_answer`, `hedges` and `unreadable` count; `limit_hits` is always 0. Deterministic.

    How a lazy model could cheat: with four options a guess is right in a quarter of the rows.

    Args:
        answer_tags: Names of the tags that hold the answer; none of them for no tags.
        phrases: Phrases that lead to the answer, beside the English ones.
        corrections: Words that take an answer back, beside the English ones.
        after_tag: Name of the tag that closes the reasoning; "" counts all of the text.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        answer_tags: tuple[str, ...] = ("answer",),
        phrases: tuple[str, ...] = (),
        corrections: tuple[str, ...] = (),
        after_tag: str = "think",
    ) -> None:
        check_names("answer_tags", answer_tags)
        check_names("after_tag", (after_tag,) if after_tag else ())
        self._options = ExtractOptions(
            tuple(answer_tags), (*_PHRASES, *phrases), tuple(corrections)
        )
        self._after_tag = after_tag

    def check_inputs(self, answer: str | int, choices: list[str] | None = None) -> str | None:
        """Returns what is wrong with a gold option, or None."""
        if isinstance(answer, str) and not answer.strip():
            return "the gold is empty, so the row would be skipped; leave it out"
        try:
            _gold(answer, choices or [])
        except Unreadable as exc:
            return f"the gold {shown(str(answer))} is no option: {exc}"
        return None

    def __call__(
        self, completion: Completion, answer: str | int, choices: list[str] | None = None
    ) -> Score | Skip | Fail:
        """Scores a completion; an empty gold is skipped, one that names no option fails."""
        if isinstance(answer, str) and not answer.strip():
            return Skip("the gold is empty")
        options = choices or []
        try:
            gold = _gold(answer, options)
        except Unreadable as exc:
            return Fail(f"the gold {shown(str(answer))} is no option: {exc}")
        try:
            reply = reply_of(completion.text, completion.prefill, self._after_tag)
            decision = self._decide(reply, completion.truncated is False, gold, options)
        except NoAnswer as exc:
            decision = Decision(False, str(exc), "no_answer")
        return Score(float(decision.equal), decision.reason, decision.metrics)

    def _decide(self, reply: str, ended: bool, gold: int, options: list[str]) -> Decision:
        if _WHOLE.fullmatch(reply):
            tier, texts = "whole reply", [reply.strip()]
        else:
            found = extract(reply, self._options, ended=ended)
            tier, texts = found.tier, list(dict.fromkeys(c.text for c in found.candidates))
            if not texts:
                return Decision(False, found.reason, "no_answer")
        if len(texts) > MAX_ANSWERS:
            return Decision(False, f"hedge: {len(texts)} different answers", "hedges")
        named: dict[int, str] = {}
        for text in texts:
            try:
                named.setdefault(chosen(text, options), text)
            except Unreadable as exc:
                return Decision(False, f"{tier}: {shown(text)}: {exc}", "unreadable")
        if len(named) > 1:
            both = " and ".join(letter_of(i) for i in sorted(named))
            return Decision(False, f"hedge: {both} are both offered", "hedges")
        ((index, text),) = named.items()
        read = f"{tier}: {shown(text)} read as option {letter_of(index)}"
        if index == gold:
            return Decision(True, f"{read}, the gold")
        return Decision(False, f"{read}, gold is {letter_of(gold)}")


def _gold(answer: str | int, choices: list[str]) -> int:
    """The index of the gold option: its letter, its text, or a number that counts from 0."""
    if isinstance(answer, str):
        return chosen(bare(answer), choices)
    if not 0 <= answer < (len(choices) or 26):
        raise Unreadable(f"options count from 0, and there are {len(choices) or 26}")
    return answer
