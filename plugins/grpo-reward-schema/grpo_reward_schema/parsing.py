"""Parses JSON under limits: what is over one of them, or is not JSON, is named."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from grpo_reward_schema.finding import is_deeper

Duplicates = Literal["reject", "last"]

# An escape that may be half of a pair; a whole pair has two of them.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class NotJson(ValueError):
    """The text is not JSON, or over a limit; the text of the error says which."""


@dataclass(frozen=True)
class Limits:
    """What a parser may be given.

    Attributes:
        max_bytes: Of the whole text, in UTF-8.
        max_depth: Of brackets in brackets.
        max_digits: Of a number, before its exponent or point.
        duplicate_keys: "reject", or "last": the last value counts, as Python's parser has it.
    """

    max_bytes: int = 1_000_000
    max_depth: int = 128
    max_digits: int = 300
    duplicate_keys: Duplicates = "reject"

    def check_size(self, text: str) -> None:
        """Raises NotJson if the text is longer than `max_bytes`."""
        if len(text) > self.max_bytes or (
            len(text) * 4 > self.max_bytes
            and len(text.encode("utf-8", "surrogatepass")) > self.max_bytes
        ):
            raise NotJson(f"the text is longer than {self.max_bytes} bytes")

    def parse(self, text: str) -> Any:
        """The value that the text is.

        Raises:
            NotJson: It is none, or it is over a limit.
        """
        if is_deeper(text, self.max_depth):
            raise NotJson(f"nested deeper than {self.max_depth} levels")
        try:
            value = json.loads(
                text,
                object_pairs_hook=_unique if self.duplicate_keys == "reject" else None,
                parse_int=self._int,
                parse_float=self._float,
                parse_constant=_no_constant,
            )
        except NotJson:
            raise
        except json.JSONDecodeError as exc:
            at = f"line {exc.lineno} column {exc.colno}"
            raise NotJson(f"not JSON: {exc.msg} at {at}") from exc
        except RecursionError as exc:
            raise NotJson("nested too deep") from exc
        _check_surrogates(text, value)
        return value

    def _int(self, digits: str) -> int:
        if len(digits) > self.max_digits:
            raise NotJson(f"a number of more than {self.max_digits} digits")
        return int(digits)

    def _float(self, text: str) -> float:
        if len(text) > self.max_digits:
            raise NotJson(f"a number of more than {self.max_digits} digits")
        value = float(text)
        if math.isinf(value):
            raise NotJson(f"the number {text} is too large")
        return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJson(f"the key {key[:40]!r} is there twice")
            seen.add(key)
    return made


def _no_constant(text: str) -> Any:
    raise NotJson(f"{text} is not JSON")


def _check_surrogates(text: str, value: Any) -> None:
    """Half a surrogate pair is no character: it can be parsed, and breaks all that comes after."""
    try:
        if not text.isascii():
            text.encode()
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as exc:
        raise NotJson("half of a surrogate pair in a string") from exc
