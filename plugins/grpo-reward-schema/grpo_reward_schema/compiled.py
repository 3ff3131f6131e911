"""A schema ready for use: checked, compiled once, and found again by its text."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping
from typing import Any

from grpo_reward_schema import rust
from grpo_reward_schema.credit import Tree
from grpo_reward_schema.drafts import LATEST, validator_class
from grpo_reward_schema.rust import validator_of
from grpo_reward_schema.schema_check import (
    check_python_patterns,
    checked,
    has_plain_patterns,
    needs_python_patterns,
)

_NO_RESOURCES: Mapping[str, Any] = {}
_BRACKETS = {"object": "{", "array": "["}


class Compiled:
    """A schema that values are validated against.

    jsonschema-rs decides if it is installed, else jsonschema; `credit` is the same for both.

    Args:
        schema: The schema.
        draft: The URI of the draft that it is of if it names none.
        assert_formats: True if `format` is an assertion and not a remark.
        resources: Schemas by URI that it may refer to.

    Raises:
        ValueError: The schema cannot be used; the message says where and why.
    """

    def __init__(
        self,
        schema: Any,
        *,
        draft: str = LATEST,
        assert_formats: bool = False,
        resources: Mapping[str, Any] = _NO_RESOURCES,
    ) -> None:
        if isinstance(schema, dict):
            schema = {"$schema": draft, **schema}
        draft, bare, resolver = checked(
            schema, draft=draft, assert_formats=assert_formats, resources=resources
        )
        make = validator_class(draft, assert_formats)
        self._reference = make(bare, _resolver=resolver)
        self._fast: Any = None
        if rust.engine is not None and has_plain_patterns([schema, *resources.values()]):
            # It refuses a pattern that backtracks, since rs would say "invalid" where it gives up,
            # also inside `not`: then the reference decides.
            with contextlib.suppress(ValueError):
                self._fast = validator_of(
                    schema, linear=True, formats=assert_formats, resources=resources
                )
        if self._fast is None and needs_python_patterns(bare):
            check_python_patterns(bare)
        self._tree = Tree(self._reference, resolver, draft, assert_formats)

    @functools.cached_property
    def brackets(self) -> str:
        """The opening brackets that a valid value may have; "" if it may be anything."""
        names = [set(types) for types in self._tree.root.types]
        allowed = set.intersection(*names) if names else set()
        return "".join(_BRACKETS.get(name, "") for name in sorted(allowed))

    def is_valid(self, value: Any) -> bool:
        """True if the value is valid.

        Raises:
            LimitHit: A pattern ran into its limit.
        """
        valid: bool = (self._fast or self._reference).is_valid(value)
        return valid

    def credit(self, value: Any) -> tuple[float, str]:
        """The share of the leaf assertions that hold for an invalid value, and the first fault.

        Raises:
            LimitHit: A pattern ran into its limit.
        """
        found = self._tree.root.judge(value)
        pointer, fault = found.fault or ("", "not valid")
        return found.share, f"{pointer or '/'}: {fault}"


@functools.lru_cache(maxsize=256)
def _of_text(text: str, draft: str, assert_formats: bool, fast: bool) -> Compiled:
    return Compiled(json.loads(text), draft=draft, assert_formats=assert_formats)


def compiled(schema: Mapping[str, Any], draft: str, assert_formats: bool) -> Compiled:
    """The compiled form of a schema; each is compiled once, whatever row it comes from.

    Raises:
        ValueError: The schema cannot be used.
    """
    text = json.dumps(schema, sort_keys=True)
    return _of_text(text, draft, assert_formats, rust.engine is not None)
