"""jsonschema's verdict in bounded time: one error is enough, and nothing is judged twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from grpo_reward_schema.drafts import validator_class
from grpo_reward_schema.work import STEPS_OF_FAULT, Work, current, spend

# For the validator of a schema, made anew at each place if what it says depends on the way there.
_STEPS_OF_VALIDATOR = 12


@functools.cache
def bounded_class(draft: str, assert_formats: bool) -> Any:
    """`validator_class`, whose verdicts count as work; they say that there is an error, not which.

    jsonschema collects all errors of all branches of `anyOf` and `oneOf`, which takes exponential
    time where a schema refers to itself in several of them.
    """
    from jsonschema.validators import extend

    base = validator_class(draft, assert_formats)
    counts = {
        "unevaluatedItems": _n_pairs,
        "unevaluatedProperties": _n_pairs,
        "patternProperties": _n_matches,
        "additionalProperties": _n_matches,
    }
    own = {
        name: _counted(base.VALIDATORS[name], count)
        for name, count in counts.items()
        if name in base.VALIDATORS
    }
    made = extend(base, own)
    made.descend = functools.partialmethod(_descend, draft)
    made.is_valid = _is_valid
    return made


def _counted(keyword: Callable[..., Any], count: Callable[[Any, Any], int]) -> Callable[..., Any]:
    def counted(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
        if isinstance(value, dict | list):
            spend(count(value, schema))
        return keyword(validator, wanted, value, schema)

    return counted


def _n_pairs(value: Any, schema: Any) -> int:
    return len(value) ** 2 // 64  # it looks each part up in a list of them


def _n_matches(value: Any, schema: Any) -> int:
    return len(value) * len(schema.get("patternProperties", ())) // 4


def _is_valid(self: Any, instance: Any, _schema: Any = None) -> bool:
    return next(self.descend(instance, self.schema, resolver=self._resolver), None) is None


def _descend(
    self: Any,
    draft: str,
    instance: Any,
    schema: Any,
    path: Any = None,
    schema_path: Any = None,
    resolver: Any = None,
) -> Iterator[Any]:
    # All in one function that is no generator: a deep value needs the stack.
    if isinstance(schema, bool):
        return _errors(schema)
    work = current() or Work(is_static=False)
    has_parts = work.is_static and isinstance(instance, dict | list)
    if has_parts and (verdict := work.known("verdict", schema, instance)) is not None:
        return _errors(verdict)
    inner, steps = _inner(self, draft, schema, resolver, work)
    work.spend(steps)
    is_valid = True
    # Its own iter_errors would do the same, one level of the stack deeper.
    for keyword, _, wanted in inner._validators:
        if next(iter(keyword(inner, wanted, instance, schema) or ()), None) is not None:
            is_valid = False
            work.spend(STEPS_OF_FAULT)
            break
    if has_parts:
        work.keep("verdict", is_valid, schema, instance)
    return _errors(is_valid)


def _errors(is_valid: bool) -> Iterator[Any]:
    return iter(() if is_valid else _one_error())


@functools.cache
def _one_error() -> tuple[Any, ...]:
    from jsonschema.exceptions import ValidationError

    return (ValidationError("is not valid"),)


def _inner(validator: Any, draft: str, schema: Any, resolver: Any, work: Work) -> tuple[Any, int]:
    """The validator of a schema inside another one, and what a use of it costs."""
    if work.is_static and (known := work.known("inner", schema)) is not None:
        return known  # type: ignore[no-any-return]
    if resolver is None:
        resolver = in_subresource(validator._resolver, schema, draft)
    inner = validator.evolve(schema=schema, _resolver=resolver)
    n_parts = sum(len(v) for v in schema.values() if isinstance(v, dict | list))
    made = (inner, 2 + n_parts // 4)
    if not work.is_static:
        return inner, made[1] + _STEPS_OF_VALIDATOR
    work.keep("inner", made, schema)
    return made


def in_subresource(resolver: Any, schema: Any, draft: str) -> Any:
    """The resolver for a schema inside another one; another one if it names itself."""
    if isinstance(schema, bool) or ("$id" not in schema and "id" not in schema):
        return resolver
    from referencing.jsonschema import specification_with

    specification: Any = specification_with(draft + ("#" if "draft-0" in draft else ""))
    return resolver.in_subresource(specification.create_resource(schema))
