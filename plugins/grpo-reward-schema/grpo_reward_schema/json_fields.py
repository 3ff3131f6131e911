"""The reward `schema/json_fields`."""

from __future__ import annotations

from typing import Any, Literal

from grpo_core import Completion, Fail, Score, reward
from grpo_reward_schema.comparing import ONE_OF, Comparison, is_choice
from grpo_reward_schema.finding import NotFound
from grpo_reward_schema.parsing import NotJson
from grpo_reward_schema.patterns import LimitHit
from grpo_reward_schema.plain import cut, escaped, plain_fault
from grpo_reward_schema.reply import Reader, check_choice, check_number

# As deep as a reply can be.
_MOST_DEPTH = 200
_MOST_SHOWN = 100


@reward(range=(0.0, 1.0))
class JsonFields:
    """How well the fields of the reply's JSON object are those of a gold object, from 0.0 to 1.0.

    The JSON is found and parsed as `schema/json` does it. A field is a scalar anywhere in the
    object. With P points, 1 for each field that is equal, and N fields in each object, the score is
    2 P / (N of the gold + N of the reply): F1, the harmonic mean of precision and recall, so that
    fields that are missing and fields that nobody asked for both cost. A field of the right type
    with another value earns `type_points`, one of another type `present_points`. 1.0 means that
    all fields are there and equal, and no others.

    Numbers are compared as they are written, exactly unless a tolerance is given.
    A member that is null counts as absent, on both sides. A gold `{"$one_of": [...]}` is content
    with any of its values; null among them takes a member that is left out. The reason names the
    first field that is wrong, with a JSON pointer. A comparison that takes over 1,000,000 steps,
    which only lists in any order can, scores 0.0, and the metric `limit_hits` is 1. Deterministic.

    How a lazy model could cheat: leaving a field out costs less than getting it wrong where most
    are right, and naming all fields with a guess of the right type earns `type_points` of the
    whole. Set both points to 0.0 once the model knows the fields.

    Args:
        mode: "partial", or "strict" for 1.0 and 0.0 only.
        extra: "penalise", or "ignore" for fields that the gold does not have: then the score is
            the recall.
        lists: "ordered" compares items as they stand, "unordered" those that are most alike.
        tolerance: How far off a number may be.
        relative_tolerance: The same, as a share of the larger of the two; below 1.
        ignore_case: True if case and white space of texts do not matter.
        type_points: For a field of the right type with another value.
        present_points: For a field of another type; at most `type_points`.
        extract: "auto" allows prose and code fences around the JSON, "whole" does not.
        pick: Which piece of JSON counts where there are several: "last", "first", or "only", which
            refuses several.
        after_tag: Name of the tag that closes the reasoning; only the text behind it counts.
            "" counts all of it.
        duplicate_keys: "reject", or "last" for the last value.
        max_bytes: Of the text; a longer one scores 0.0.
        max_depth: Of brackets in brackets.
        max_digits: Of a number.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        mode: Literal["partial", "strict"] = "partial",
        extra: Literal["penalise", "ignore"] = "penalise",
        lists: Literal["ordered", "unordered"] = "ordered",
        tolerance: float = 0.0,
        relative_tolerance: float = 0.0,
        ignore_case: bool = False,
        type_points: float = 0.2,
        present_points: float = 0.1,
        extract: Literal["auto", "whole"] = "auto",
        pick: Literal["last", "first", "only"] = "last",
        after_tag: str = "think",
        duplicate_keys: Literal["reject", "last"] = "reject",
        max_bytes: int = 1_000_000,
        max_depth: int = 128,
        max_digits: int = 300,
    ) -> None:
        check_choice("mode", mode, ("partial", "strict"))
        check_choice("extra", extra, ("penalise", "ignore"))
        check_choice("lists", lists, ("ordered", "unordered"))
        check_number("tolerance", tolerance, 0, 1e300)
        if not 0 <= relative_tolerance < 1:  # at 1 any two numbers of one sign are equal
            raise ValueError(
                f"relative_tolerance must be from 0 to below 1, got {relative_tolerance!r}"
            )
        check_number("type_points", type_points, 0, 1)
        check_number("present_points", present_points, 0, type_points)
        self._is_strict = mode == "strict"
        self._costs_extra = extra == "penalise"
        self._comparison = Comparison(
            lists, tolerance, relative_tolerance, ignore_case, type_points, present_points
        )
        self._reader = Reader.of_options(
            extract=extract,
            pick=pick,
            after_tag=after_tag,
            duplicate_keys=duplicate_keys,
            max_bytes=max_bytes,
            max_depth=max_depth,
            max_digits=max_digits,
        )

    def check_inputs(self, gold: dict[str, Any]) -> str | None:
        """Returns what is wrong with a gold object, or None."""
        if all(value is None for value in gold.values()):
            return "gold has no fields; leave the row out, or write what the reply should say"
        return _fault(gold)

    def __call__(self, completion: Completion, gold: dict[str, Any]) -> Score | Fail:
        """Scores a completion; a row whose gold has no fields fails."""
        if wrong := self.check_inputs(gold):
            return Fail(wrong)
        try:
            value = self._reader.read(completion, "{")
        except (NotFound, NotJson) as exc:
            return _score(0.0, str(exc), 0.0, 0.0)
        if not isinstance(value, dict):
            return _score(0.0, "/: expected an object", 0.0, 0.0)
        try:
            match = self._comparison.match(gold, value)
        except (LimitHit, RecursionError) as exc:
            why = (
                "is nested too deep" if isinstance(exc, RecursionError) else "takes too many steps"
            )
            return _score(0.0, f"limit: the comparison {why}", 0.0, 0.0, limit_hits=1.0)
        precision = match.points / max(1, match.n_found)
        recall = match.points / match.n_gold if match.n_gold else 1.0
        # Equal to the last field, whatever floats make of the sum.
        is_all = match.points == match.n_gold == match.n_found
        if self._costs_extra:
            points = 1.0 if is_all else match.likeness
        else:
            is_all = match.points == match.n_gold
            points = 1.0 if is_all else min(1.0, recall)
        if self._is_strict:
            points = float(is_all)
        reason = ""
        if not is_all and match.fault:
            pointer, words = match.fault
            reason = cut(f"{pointer or '/'}: {words()}")
        return _score(points, reason, precision, recall)


def _score(
    points: float, reason: str, precision: float, recall: float, limit_hits: float = 0.0
) -> Score:
    metrics = {"precision": precision, "recall": recall, "limit_hits": limit_hits}
    return Score(points, reason, metrics)


def _fault(gold: dict[str, Any]) -> str | None:
    """What is wrong with a gold value: what no JSON can hold, a choice of nothing."""
    if wrong := plain_fault(gold, _MOST_DEPTH):
        pointer, fault = wrong
        return f"gold{pointer}: {fault}; no reply can have it"
    todo: list[tuple[Any, str]] = [(gold, "gold")]
    while todo:
        one, at = todo.pop()
        if is_choice(one):
            choices = one[ONE_OF]
            is_list = isinstance(choices, list) and any(choice is not None for choice in choices)
            if len(one) > 1 or not is_list:
                wanted = f'{{"{ONE_OF}": [values]}} and no other member'
                return f"{at}: expected {wanted}, got {repr(one)[:_MOST_SHOWN]}"
        if isinstance(one, dict):
            todo += [(inner, f"{at}/{escaped(key)}") for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [(inner, f"{at}/{i}") for i, inner in enumerate(one)]
    return None
