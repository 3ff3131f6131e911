"""Tells what stands for a secret in a document from a secret."""

from __future__ import annotations

import math
import re
from collections import Counter

_STANDS_FOR = re.compile(
    r"your|change.?me|change.?it|placeholder|redacted|replace|insert|dummy|todo|fixme|xxx|\*\*\*"
    r"|\.\.\.|…|<|>|\$\{|\{\{|%\(|\$\(|^\$[A-Za-z_]|^%\w+%$|^example|^enter|^put.?your|^env[:.]"
    r"|process\.env|os\.environ|getenv|(?:^|[_-])here$|^not.?a.?real|^fake|^sample"
    r"|^none$|^null$",
    re.IGNORECASE,
)
_PLAIN_WORDS = frozenset(
    "password passwd passphrase pass pwd pw secret token apikey api_key username user default admin "
    "undefined optional required string hidden".split()
)


def is_placeholder(value: str) -> bool:
    """Whether a value only shows where a secret goes."""
    if value.lower() in _PLAIN_WORDS or len(set(value)) <= 4:
        return True
    return _STANDS_FOR.search(value) is not None


def entropy(value: str) -> float:
    """Bits of information for each character, by how often each stands there."""
    n = len(value)
    return -sum(k / n * math.log2(k / n) for k in Counter(value).values())
