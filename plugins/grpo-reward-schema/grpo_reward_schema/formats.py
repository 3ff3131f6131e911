"""Formats that are asserted without jsonschema-rs; with it, all of them are."""

from __future__ import annotations

import datetime
import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from grpo_reward_schema import rust
from grpo_reward_schema.rust import validator_of

_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|([+-])(\d\d):(\d\d))", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DURATION = re.compile(
    r"P(?:\d+W|(?=\d|T\d)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
    r"(?:T(?=\d)(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)",
    re.ASCII,
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_RELATIVE = re.compile(r"(?:0|[1-9]\d*)(?:#|(?:/(?:[^~/]|~[01])*)*)", re.ASCII)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = re.compile(
    r"(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r'|"(?:[^"\\\x00-\x1f]|\\.)*")'
    rf"@(?:{_LABEL}(?:\.{_LABEL})*|\[(?P<literal>[^\]]+)\])"
)
# Drafts that do not know a format of a later one, as jsonschema-rs has it: it is a remark there.
_LATER: Mapping[str, frozenset[str]] = {
    "http://json-schema.org/draft-04/schema": frozenset(
        {
            "duration",
            "idn-hostname",
            "iri",
            "iri-reference",
            "json-pointer",
            "relative-json-pointer",
            "uri-reference",
            "uri-template",
            "uuid",
        }
    ),
    "http://json-schema.org/draft-06/schema": frozenset(
        {"duration", "idn-hostname", "iri", "iri-reference", "relative-json-pointer", "uuid"}
    ),
    "http://json-schema.org/draft-07/schema": frozenset({"duration", "uuid"}),
}
# What can only be asserted with jsonschema-rs; unknown formats are annotations, as always.
ONLY_RUST = frozenset(
    {
        "hostname",
        "idn-email",
        "idn-hostname",
        "iri",
        "iri-reference",
        "regex",
        "uri",
        "uri-reference",
        "uri-template",
    }
)


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    datetime.date.fromisoformat(text)
    return True


def _time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if not found:
        return False
    hour, minute, second = (int(part) for part in found.groups()[:3])
    sign, by_hours, by_minutes = found.groups()[3:]
    off = int(by_hours or 0) * 60 + int(by_minutes or 0)
    if int(by_hours or 0) > 23 or int(by_minutes or 0) > 59:
        return False
    if second == 60:  # a leap second comes at the end of a day, as it is at UTC
        at = hour * 60 + minute - (off if sign == "+" else -off)
        return hour < 24 and minute < 60 and at % 1440 == 1439
    return hour < 24 and minute < 60 and second < 60


def _date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _date(text[:10]) and _time(text[11:])


def _email(text: str) -> bool:
    found = _EMAIL.fullmatch(text)
    if not found:
        return False
    literal = found["literal"]
    if literal is None:
        return True
    if literal.startswith("IPv6:"):
        return _ipv6(literal[5:])
    return _ipv4(literal)


def _ipv4(text: str) -> bool:
    return text.isascii() and bool(ipaddress.IPv4Address(text))


def _ipv6(text: str) -> bool:
    return text.isascii() and "%" not in text and ipaddress.IPv6Address(text) is not None


_CHECKS: Mapping[str, Callable[[str], Any]] = {
    "date": _date,
    "time": _time,
    "date-time": _date_time,
    "duration": _DURATION.fullmatch,
    "email": _email,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "uuid": _UUID.fullmatch,
    "json-pointer": _POINTER.fullmatch,
    "relative-json-pointer": _RELATIVE.fullmatch,
}


def check_format(name: str, draft: str) -> None:
    """Raises ValueError if a draft knows a format, and without jsonschema-rs nothing asserts it."""
    if rust.engine is None and name in ONLY_RUST and name not in _LATER.get(draft, ()):
        raise ValueError(
            f"the format {name!r} can only be asserted with jsonschema-rs; install "
            f"grpo-reward-schema[fast], or leave assert_formats out"
        )


def matches(name: str, draft: str) -> Callable[[Any], bool]:
    """Returns what says whether a value has a format; values other than texts have all."""
    return _matches(name, draft, rust.engine is not None)


@functools.lru_cache(maxsize=256)
def _matches(name: str, draft: str, fast: bool) -> Callable[[Any], bool]:
    if fast:
        has_it: Callable[[Any], bool]
        has_it = validator_of({"$schema": draft, "format": name}, formats=True).is_valid
        return has_it
    check = None if name in _LATER.get(draft, ()) else _CHECKS.get(name)

    def has_format(value: Any) -> bool:
        if check is None or not isinstance(value, str):
            return True
        try:
            return bool(check(value))
        except ValueError:
            return False

    return has_format
