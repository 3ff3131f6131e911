"""The reward `math/number_close`."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_math.candidates import ExtractOptions
from grpo_reward_math.closeness import Measure, check_shape, measure, unit_fault
from grpo_reward_math.deciding import MAX_ANSWERS, Decision
from grpo_reward_math.extracting import extract
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.gold import BadGold, NoGold, gold_of
from grpo_reward_math.options import check_choice, check_names, check_number
from grpo_reward_math.reading import read
from grpo_reward_math.reply import NoAnswer, reply_of
from grpo_reward_math.rules import Rules
from grpo_reward_math.shown import shown


@reward(range=(0.0, 1.0), isolation="process", timeout_s=2.0, on_timeout="low")
class NumberClose:
    """1.0 if the final answer of the completion is a number close to the gold one, else 0.0.

    The answer is found and read as `math/answer_equals` does it. It is close if it differs from
    the gold by at most `tolerance`, or by at most `relative_tolerance` times the gold. Numbers are
    compared exactly, so that one at the bound is inside it. Several answers all have to be close.
    A missing unit is fine, a different one is wrong; units are not converted.

    An empty gold is skipped; one that is no number fails, and `grpo check` lists it. The metrics
    `no_answer`, `hedges`, `unreadable` and `limit_hits` count. Deterministic.

    How a lazy model could cheat: with a tolerance that is wide for the data, an estimate is enough.
    With a gold of 0 the relative tolerance is 0; set `tolerance`.

    Args:
        tolerance: How far off the answer may be.
        relative_tolerance: The same, as a share of the gold.
        units: "optional": a missing unit is fine and a different one is wrong. "required": both
            name the same unit or none. "ignored": units do not matter.
        answer_tags: Names of the tags that hold the answer; none of them for no tags.
        phrases: Phrases that lead to the answer, beside the English ones.
        corrections: Words that take an answer back, beside the English ones.
        last_number: True if the last number counts where nothing else marks an answer.
        after_tag: Name of the tag that closes the reasoning; "" counts all of the text.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        tolerance: float = 0.0,
        relative_tolerance: float = 0.01,
        units: Literal["optional", "required", "ignored"] = "optional",
        answer_tags: tuple[str, ...] = ("answer",),
        phrases: tuple[str, ...] = (),
        corrections: tuple[str, ...] = (),
        last_number: bool = False,
        after_tag: str = "think",
    ) -> None:
        check_number("tolerance", tolerance, 0, 1e300)
        check_number("relative_tolerance", relative_tolerance, 0, 1)
        check_choice("units", units, ("optional", "required", "ignored"))
        check_names("answer_tags", answer_tags)
        check_names("after_tag", (after_tag,) if after_tag else ())
        # As written: 0.01 is a hundredth, and not the float next to it.
        self._absolute = Fraction(repr(tolerance))
        self._relative = Fraction(repr(relative_tolerance))
        self._rules = Rules(units=units)
        self._options = ExtractOptions(
            tuple(answer_tags), tuple(phrases), tuple(corrections), last_number
        )
        self._after_tag = after_tag

    def check_inputs(self, answer: str | int | float) -> str | None:
        """Returns what is wrong with a gold number, or None."""
        # By its shape alone: this runs in the trainer's process, where nothing heavy is loaded.
        try:
            check_shape(gold_of(answer, self._rules), self._rules)
        except (Unreadable, LimitHit) as exc:
            return str(_unfit(exc))
        except NoGold as exc:
            return f"{exc}, so the row would be skipped; leave it out"
        except BadGold as exc:
            return str(exc)
        return None

    def __call__(self, completion: Completion, answer: str | int | float) -> Score | Skip | Fail:
        """Scores a completion; an empty gold is skipped, one that is no number fails."""
        try:
            gold = self._gold(answer)
        except NoGold as exc:
            return Skip(str(exc))
        except BadGold as exc:
            return Fail(str(exc))
        try:
            reply = reply_of(completion.text, completion.prefill, self._after_tag)
            decision = self._decide(reply, completion.truncated is False, gold)
        except NoAnswer as exc:
            decision = Decision(False, str(exc), "no_answer")
        return Score(float(decision.equal), decision.reason, decision.metrics)

    def _gold(self, answer: str | int | float) -> Measure:
        try:
            return measure(gold_of(answer, self._rules), self._rules)
        except (Unreadable, LimitHit) as exc:
            raise _unfit(exc) from None

    def _decide(self, reply: str, ended: bool, gold: Measure) -> Decision:
        found = extract(reply, self._options, ended=ended)
        if not found.candidates:
            return Decision(False, found.reason, "no_answer")
        texts = list(dict.fromkeys(c.text for c in found.candidates))
        if len(texts) > MAX_ANSWERS:
            return Decision(False, f"hedge: {len(texts)} different answers", "hedges")
        decisions = [self._compare(text, gold) for text in texts]
        wrong = [d for d in decisions if not d.equal]
        if wrong and len(wrong) < len(decisions):
            both = " and ".join(map(shown, texts[:2]))
            return Decision(False, f"hedge: {both} are both offered", "hedges")
        return wrong[-1] if wrong else decisions[-1]

    def _compare(self, text: str, gold: Measure) -> Decision:
        try:
            answer = measure(read(text, self._rules), self._rules)
        except Unreadable as exc:
            return Decision(False, f"{shown(text)} cannot be read: {exc}", "unreadable")
        except LimitHit as exc:
            return Decision(False, f"limit: {exc}", "limit_hits")
        if fault := unit_fault(answer, gold, self._rules):
            return Decision(False, f"{shown(text)}: {fault}")
        off = abs(answer.value - gold.value)
        is_close = off <= self._absolute or off <= self._relative * abs(gold.value)
        word = "close to" if is_close else "too far from"
        return Decision(is_close, f"{shown(text)} is {word} {_short(gold.value)}")


def _unfit(exc: Unreadable | LimitHit) -> BadGold:
    what = "is over a limit" if isinstance(exc, LimitHit) else "is no number"
    return BadGold(f"the gold {what}: {exc}")


def _short(value: Fraction) -> str:
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "the gold"
