"""Secrets of options: named in a config, read from the environment, never shown.

An option of type `SecretStr` is given as "env:NAME". What a config, a manifest or a worker is
handed holds that text alone; the value is read where the reward is built.
"""

from __future__ import annotations

import os
import re
from typing import Any

from pydantic import SecretStr

from grpo_core.signature import alternatives

_NAMED = re.compile(r"env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)")

# Values that were read in this process; reasons must not repeat them.
_values: set[str] = set()

# A shorter value would be hidden in the middle of every other word.
_LEAST_HIDDEN = 4


def is_secret(annotation: Any) -> bool:
    """True if an option of this type holds a secret."""
    return SecretStr in alternatives(annotation)


def secret_problem(value: Any) -> str | None:
    """What is wrong with what an option of type `SecretStr` was given, or None."""
    if value is None or isinstance(value, SecretStr):
        return None
    named = _NAMED.fullmatch(value) if isinstance(value, str) else None
    if named is None:
        # The value is not shown: it may be the secret itself.
        return (
            'expected the name of an environment variable, "env:NAME", got a literal; a secret '
            "does not belong in a config: put it into the environment"
        )
    if not os.environ.get(named["name"]):
        return f"the environment has no {named['name']}, which {value!r} names; set it"
    return None


def read_secret(value: Any) -> Any:
    """The secret that "env:NAME" names; anything else as it is."""
    if isinstance(value, str) and (named := _NAMED.fullmatch(value)):
        value = SecretStr(os.environ[named["name"]])
    if isinstance(value, SecretStr) and len(value.get_secret_value()) >= _LEAST_HIDDEN:
        _values.add(value.get_secret_value())
    return value


def hide(text: str) -> str:
    """The text without the secrets that were read in this process."""
    for value in _values:
        text = text.replace(value, "…secret…")
    return text
