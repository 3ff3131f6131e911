"""The reward `math/answer_equals`."""

from __future__ import annotations

from typing import Literal

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_math.deciding import Decision, decide
from grpo_reward_math.extracting import ExtractOptions, extract
from grpo_reward_math.gold import BadGold, Gold, NoGold, gold_of
from grpo_reward_math.options import check_choice, check_names
from grpo_reward_math.reply import NoAnswer, reply_of
from grpo_reward_math.rules import Rules


@reward(range=(0.0, 1.0), isolation="process", timeout_s=2.0, on_timeout="low")
class AnswerEquals:
    r"""1.0 if the final answer of the completion is the gold answer, else 0.0.

    The answer is looked for in the text behind the last `</think>`: in answer tags, else in boxes
    (`\boxed{}`, `\fbox{}`), else behind `####`, else behind a phrase such as "the answer is", else
    in a marked value that ends the reply. The first of these that is there decides. Of several
    answers the last counts if words such as "wait" take the others back; else they must be equal,
    or together be the list that the gold is. Several different ones are a hedge and score 0.0.

    Answers are equal if their values are, exactly: fractions, decimals, roots, powers, sums,
    binomials, equations up to a factor, intervals and inequalities, sets in any order, tuples in
    order. An approximation is not equal to an exact gold. A missing unit is fine, a different one
    is wrong. Nothing that the model wrote is evaluated as code.

    An empty gold is skipped, and one that cannot be read fails; `grpo check` lists them before
    the training. An answer that is over a limit scores 0.0, with a reason that begins with
    "limit:". The reason says what was extracted, how it was read and which rule decided. The
    metrics `no_answer`, `hedges`, `unreadable` and `limit_hits` count. Deterministic.

    How a lazy model could cheat: it is right by chance where few answers are possible, such as
    "Yes" or a letter. `last_number = true` also pays for a number that nobody called the answer.

    Args:
        units: "optional": a missing unit is fine and a different one is wrong. "required": both
            name the same unit or none. "ignored": units do not matter.
        percent_sign_optional: True if 20 is also equal to 20%; 0.2 always is.
        base_optional: True if 1101 is also equal to 1101 in base 2.
        ratios_scale: True if 6:8 is equal to 3:4.
        ignore_case: False if the case of words matters.
        ignore_letter_case: True if the option letter a is equal to A.
        log_base: The base of a `\log` that names none: "e" or "10".
        answer_tags: Names of the tags that hold the answer; none of them for no tags.
        phrases: Phrases that lead to the answer, beside the English ones, such as "Antwort".
        corrections: Words that take an answer back, beside the English ones.
        last_number: True if the last number counts where nothing else marks an answer.
        after_tag: Name of the tag that closes the reasoning; only the text behind it counts.
            "" counts all of it.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        units: Literal["optional", "required", "ignored"] = "optional",
        percent_sign_optional: bool = False,
        base_optional: bool = False,
        ratios_scale: bool = False,
        ignore_case: bool = True,
        ignore_letter_case: bool = False,
        log_base: Literal["e", "10"] = "e",
        answer_tags: tuple[str, ...] = ("answer",),
        phrases: tuple[str, ...] = (),
        corrections: tuple[str, ...] = (),
        last_number: bool = False,
        after_tag: str = "think",
    ) -> None:
        check_choice("units", units, ("optional", "required", "ignored"))
        check_choice("log_base", log_base, ("e", "10"))
        check_names("answer_tags", answer_tags)
        check_names("after_tag", (after_tag,) if after_tag else ())
        self._rules = Rules(
            units=units,
            percent_sign_optional=percent_sign_optional,
            base_optional=base_optional,
            ratios_scale=ratios_scale,
            ignore_case=ignore_case,
            ignore_letter_case=ignore_letter_case,
            log_base=log_base,
        )
        self._options = ExtractOptions(
            tuple(answer_tags), tuple(phrases), tuple(corrections), last_number
        )
        self._after_tag = after_tag

    def check_inputs(self, answer: Gold) -> str | None:
        """Returns what is wrong with a gold answer, or None."""
        try:
            gold_of(answer, self._rules)
        except NoGold as exc:
            return f"{exc}, so the row would be skipped; leave it out"
        except BadGold as exc:
            return str(exc)
        return None

    def __call__(self, completion: Completion, answer: Gold) -> Score | Skip | Fail:
        """Scores a completion; an empty gold is skipped, an unreadable one fails."""
        try:
            gold = gold_of(answer, self._rules)
        except NoGold as exc:
            return Skip(str(exc))
        except BadGold as exc:
            return Fail(str(exc))
        try:
            reply = reply_of(completion.text, completion.prefill, self._after_tag)
        except NoAnswer as exc:
            decision = Decision(False, str(exc), "no_answer")
        else:
            found = extract(reply, self._options, ended=completion.truncated is False)
            decision = decide(found, gold, self._rules)
        return Score(float(decision.equal), decision.reason, decision.metrics)
