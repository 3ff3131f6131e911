"""Reads the JSON value of a completion: found, parsed, within limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from grpo_core import Completion
from grpo_reward_schema.finding import Extract, NeverClosed, NotFound, Pick, Place, open_json
from grpo_reward_schema.parsing import Duplicates, Limits, NotJson

# Deeper values overflow Python's stack in a validator; 128 is what parsers commonly take.
_MOST_DEPTH = 200


@dataclass(frozen=True)
class Reader:
    """Reads completions as the options of a reward say.

    Attributes:
        place: Where the JSON may stand.
        limits: What a parser may be given.
    """

    place: Place
    limits: Limits

    @classmethod
    def of_options(
        cls,
        *,
        extract: Extract,
        pick: Pick,
        after_tag: str,
        duplicate_keys: Duplicates,
        max_bytes: int,
        max_depth: int,
        max_digits: int,
    ) -> Reader:
        """Makes one of the options that the rewards for JSON share.

        Raises:
            ValueError: An option is not one of its values.
        """
        check_choice("extract", extract, get_args(Extract))
        check_choice("pick", pick, get_args(Pick))
        check_choice("duplicate_keys", duplicate_keys, get_args(Duplicates))
        check_after_tag(after_tag)
        check_number("max_bytes", max_bytes, 1, 100_000_000)
        check_number("max_depth", max_depth, 1, _MOST_DEPTH)
        # Above 308 digits a number has no float, below 16 not even every float fits.
        check_number("max_digits", max_digits, 16, 300)
        return cls(
            Place(extract, pick, after_tag),
            Limits(max_bytes, max_depth, max_digits, duplicate_keys),
        )

    def read(self, completion: Completion, prefer: str = "{[") -> Any:
        """The value of the JSON in a completion.

        Args:
            completion: What is read.
            prefer: Opening brackets that the value may have; see `Place.piece_of`.

        Raises:
            NotFound: There is no JSON.
            NotJson: It cannot be parsed, or is over a limit.
        """
        self.limits.check_size(completion.text)
        try:
            reply = self.place.reply_of(completion.text, completion.prefill, open_json)
        except NeverClosed as exc:
            if self._is_json(exc.rest):  # the tag stands inside a string
                return self.limits.parse(exc.rest)
            raise
        try:
            return self._value(reply, prefer)
        except (NotFound, NotJson) as exc:
            if any(map(self._is_json, self.place.cut(completion.text))):
                tag = f"</{self.place.after_tag}>"
                why = f"no JSON behind the last {tag}, which stands inside a string of JSON"
                raise NotFound(why) from exc
            raise type(exc)(f"{self.place.where(completion.text)}{exc}") from exc

    def _value(self, reply: str, prefer: str) -> Any:
        if not reply:
            raise NotFound("the text is empty")
        if self.place.extract == "whole":
            return self.limits.parse(reply)
        why: NotFound | NotJson = NotFound("no JSON in the text")
        if reply[0] in '{["-0123456789tfn':  # else it cannot be JSON as a whole
            try:
                return self.limits.parse(reply)
            except NotJson as exc:
                why = exc
        piece = self.place.piece_of(reply, prefer)
        if piece in ("", reply):
            raise why
        return self.limits.parse(piece)

    def _is_json(self, text: str) -> bool:
        try:
            self.limits.parse(text)
        except NotJson:
            return False
        return True


def check_choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raises ValueError if an option has none of its values."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{option} must be one of {names}, got {value!r}")


def check_after_tag(name: str) -> None:
    """Raises ValueError if `after_tag` is more than the name of a tag."""
    bare = name.strip("</> \t\n")
    if bare != name:
        raise ValueError(f"after_tag must be the bare name of a tag, got {name!r}; write {bare!r}")


def check_number(option: str, value: float, low: float, high: float) -> None:
    """Raises ValueError if an option is outside of its bounds."""
    if not low <= value <= high:  # NaN is refused as well
        most = high if isinstance(high, int) else f"{high:g}"
        raise ValueError(f"{option} must be from {low:g} to {most}, got {value!r}")
