"""Tells what stands for a secret in a document from a secret."""

from __future__ import annotations

import math
from collections import Counter

# In small letters, and without signs between words.
_HELD = (
    *("your", "changeme", "changeit", "placeholder", "redacted", "replace", "insert", "dummy"),
    *("todo", "fixme", "xxx", "***", "...", "…", "<", ">", "${", "{{", "%(", "$(", "process.env"),
    *("os.environ", "getenv"),
)
_STARTS = ("example", "enter", "put", "env:", "env.", "notareal", "fake", "sample")
_ENDS = ("here",)
_PLAIN_WORDS = frozenset(
    "password passwd passphrase pass pwd pw secret token apikey username user default admin "
    "undefined optional required string hidden none null".split()
)
_BETWEEN = str.maketrans("", "", "_- ")


def is_placeholder(value: str) -> bool:
    """Whether a value only shows where a secret goes."""
    bare = value.lower().translate(_BETWEEN)
    if (bare[:-1] if bare[-1:].isdigit() else bare) in _PLAIN_WORDS or len(set(value)) <= 4:
        return True
    if bare.startswith(_STARTS) or bare.endswith(_ENDS) or any(map(bare.__contains__, _HELD)):
        return True
    # $TOKEN, %TOKEN%
    return value[0] in "$%" and value.strip("$%").isidentifier()


def entropy(value: str) -> float:
    """Bits of information for each character, by how often each stands there."""
    n = len(value)
    return -sum(k / n * math.log2(k / n) for k in Counter(value).values())
