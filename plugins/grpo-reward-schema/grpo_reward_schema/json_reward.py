"""The reward `schema/json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from grpo_core import Completion, Fail, Score, reward
from grpo_reward_schema.drafts import BY_NAME
from grpo_reward_schema.finding import NotFound
from grpo_reward_schema.parsing import NotJson
from grpo_reward_schema.patterns import LimitHit, shared_time
from grpo_reward_schema.plain import cut
from grpo_reward_schema.reply import Reader, check_choice

if TYPE_CHECKING:
    from grpo_reward_schema.compiled import Compiled

# What a value that is not valid can earn at most.
MOST_INVALID = 0.95


@reward(range=(0.0, 1.0))
class Json:
    """1.0 if the reply holds JSON that is valid against the schema; less, or 0.0, if it does not.

    The JSON is looked for in the text behind the last `</think>`: the text as a whole, else code
    fences, else objects and arrays in the prose. It is parsed once, under limits, and a text
    without JSON, or with one that cannot be parsed, scores 0.0. Under `mode = "partial"` a value
    that is not valid earns 0.95 times the share of the schema's leaf assertions that it satisfies;
    one whose root has the wrong type earns 0.0. The reason names the first assertion that does
    not hold, with a JSON pointer to the place.

    `jsonschema-rs` decides if it is installed, else `jsonschema`; scores are the same. Nothing is
    read from the network or from files. Deterministic, but for patterns that run into a limit.
    Where one does, or the value takes over 1,000,000 steps against the schema, the score is 0.0,
    the reason begins with "limit:" and the metric `limit_hits` is 1.

    How a lazy model could cheat: a schema says what a value looks like, not that it is right. What
    is not required need not be there, and `{}` is valid where nothing is. Write `type`, `required`,
    `additionalProperties` and `minLength` into the schema, and pair this reward with one that looks
    at the values, such as `schema/json_fields`.

    Args:
        mode: "partial", or "strict" for 1.0 and 0.0 only.
        extract: "auto" allows prose and code fences around the JSON, "whole" does not.
        pick: Which piece of JSON counts where there are several: "last", "first", or "only", which
            refuses several.
        after_tag: Name of the tag that closes the reasoning; only the text behind it counts.
            "" counts all of it.
        draft: Which draft a schema without `$schema` is of; 7 is "7".
        assert_formats: True makes `format` an assertion, as `pattern` is one.
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
        extract: Literal["auto", "whole"] = "auto",
        pick: Literal["last", "first", "only"] = "last",
        after_tag: str = "think",
        draft: Literal["4", "6", "7", "2019-09", "2020-12", 4, 6, 7] = "2020-12",
        assert_formats: bool = False,
        duplicate_keys: Literal["reject", "last"] = "reject",
        max_bytes: int = 1_000_000,
        max_depth: int = 128,
        max_digits: int = 300,
    ) -> None:
        check_choice("mode", mode, ("partial", "strict"))
        self._is_strict = mode == "strict"
        check_choice("draft", str(draft), tuple(BY_NAME))
        self._draft = BY_NAME[str(draft)]
        self._assert_formats = assert_formats
        self._reader = Reader.of_options(
            extract=extract,
            pick=pick,
            after_tag=after_tag,
            duplicate_keys=duplicate_keys,
            max_bytes=max_bytes,
            max_depth=max_depth,
            max_digits=max_digits,
        )

    def check_inputs(self, schema: dict[str, Any]) -> str | None:
        """Returns what is wrong with a schema, or None."""
        try:
            self._compiled(schema)
        except (ValueError, RecursionError) as exc:
            return cut(f"the schema cannot be used: {exc}")
        return None

    def __call__(self, completion: Completion, schema: dict[str, Any]) -> Score | Fail:
        """Scores a completion; a row whose schema cannot be used fails."""
        try:
            against = self._compiled(schema)
        except (ValueError, RecursionError) as exc:
            return Fail(cut(f"the schema cannot be used: {exc}"))
        try:
            value = self._reader.read(completion, against.brackets)
        except (NotFound, NotJson) as exc:
            return Score(0.0, str(exc), {"limit_hits": 0.0})
        try:
            with shared_time():
                if against.is_valid(value):
                    return Score(1.0, "", {"limit_hits": 0.0})
                share, fault = against.credit(value)
        except LimitHit as exc:
            return Score(0.0, f"limit: {exc}", {"limit_hits": 1.0})
        except RecursionError:
            why = "limit: the value is nested too deep for this schema"
            return Score(0.0, why, {"limit_hits": 1.0})
        points = 0.0 if self._is_strict else MOST_INVALID * share
        return Score(points, cut(fault), {"limit_hits": 0.0})

    def _compiled(self, schema: dict[str, Any]) -> Compiled:
        from grpo_reward_schema.compiled import compiled  # not above: it imports jsonschema

        return compiled(schema, self._draft, self._assert_formats)
