"""A schema ready for use: checked, compiled once, and found again by its text."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from grpo_reward_schema import rust
from grpo_reward_schema.credit import Tree
from grpo_reward_schema.drafts import LATEST, REF_STANDS_ALONE, specification_of, subschemas
from grpo_reward_schema.patterns import LimitHit
from grpo_reward_schema.plain import escaped, plain_fault
from grpo_reward_schema.reference import bounded_class, in_subresource
from grpo_reward_schema.rust import validator_of
from grpo_reward_schema.schema_check import (
    DATA,
    MAX_DEPTH,
    check_python_patterns,
    checked,
    has_plain_patterns,
    needs_python_patterns,
)
from grpo_reward_schema.work import MAX_STEPS, bounded

_NO_RESOURCES: Mapping[str, Any] = {}
# What makes a schema mean another thing where it is reached another way; the metaschemas do.
_DYNAMIC = ('"$dynamicRef"', '"$recursiveRef"', "json-schema.org/")
# Schemas times parts of a value that jsonschema-rs is given: a second or so. And the parts that a
# value of 1 MB has at most.
_MOST_FAST = 200_000_000
_MOST_PARTS = 500_000
# Of one schema: what there is to compile.
_MOST_OBJECTS = 10_000
_MOST_PATTERNS = 1_000
# Up to here floats hold all integers.
_MOST_EXACT = 2**53
_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
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
        check_counts(schema)
        draft, bare, resolver = checked(
            schema, draft=draft, assert_formats=assert_formats, resources=resources
        )
        self._reference = bounded_class(draft, assert_formats)(bare, _resolver=resolver)
        text = json.dumps([bare, resources])
        self._is_static = not any(word in text for word in _DYNAMIC)
        check_names(bare, resolver, draft)
        self._size = unfolded_size(bare, resolver, draft)
        # jsonschema-rs divides floats, which is not exact for all numbers.
        steps = [one["multipleOf"] for one in objects([bare, resources]) if "multipleOf" in one]
        self._divides = bool(steps)
        divides_exactly = not any(map(is_inexact, steps))
        self._fast: Any = None
        if (
            rust.engine is not None
            and divides_exactly
            and has_plain_patterns([schema, *resources.values()])
        ):
            # It refuses a pattern that backtracks, since rs would say "invalid" where it gives up,
            # also inside `not`: then the reference decides.
            with contextlib.suppress(ValueError):
                self._fast = validator_of(
                    schema, linear=True, formats=assert_formats, resources=resources
                )
        if self._fast is None and needs_python_patterns(bare):
            check_python_patterns(bare)
        self._tree = Tree(self._reference, resolver, draft, assert_formats)
        try:
            with bounded(self._is_static):
                self._tree.root.weigh()
        except LimitHit:
            raise ValueError(
                f"/: the schema is too large: counting its assertions takes over {MAX_STEPS:,} "
                f"steps; write fewer names, patterns and schemas for one value"
            ) from None

    @functools.cached_property
    def brackets(self) -> str:
        """The opening brackets that a valid value may have; "" if it may be anything."""
        names = [set(types) for types in self._tree.root.types]
        allowed = set.intersection(*names) if names else set()
        return "".join(_BRACKETS.get(name, "") for name in sorted(allowed))

    def is_valid(self, value: Any) -> bool:
        """True if the value is valid.

        Raises:
            LimitHit: A pattern or the whole ran into its limit.
        """
        with bounded(self._is_static):
            fast = self._fast if self._is_quick(value) else None
            valid: bool = (fast or self._reference).is_valid(value)
        return valid

    def _is_quick(self, value: Any) -> bool:
        if self._divides and has_inexact_number(value):
            return False
        # jsonschema-rs counts no steps, and nothing but the worker's end stops it.
        if self._size <= _MOST_FAST // _MOST_PARTS:
            return True
        return self._size <= _MOST_FAST and self._size * n_parts(value) <= _MOST_FAST

    def credit(self, value: Any) -> tuple[float, str]:
        """The share of the leaf assertions that hold for an invalid value, and the first fault.

        Raises:
            LimitHit: A pattern or the whole ran into its limit.
        """
        with bounded(self._is_static) as work:
            found = self._tree.judge(value, work)
        pointer, fault = found.fault or ("", "not valid")
        return found.share, f"{pointer or '/'}: {fault}"


def check_counts(schema: Any) -> None:
    """Raises ValueError if a schema holds more than can be compiled in a second or so."""
    n, patterns = 0, set()
    todo = [schema]
    while todo:
        one = todo.pop()
        n += isinstance(one, dict | bool)
        if isinstance(one, list):
            todo += one
        elif isinstance(one, dict):
            todo += [part for key, part in one.items() if key not in DATA]
            named = one.get("patternProperties")
            patterns |= set(named) if isinstance(named, dict) else set()
            if isinstance(one.get("pattern"), str):
                patterns.add(one["pattern"])
    for count, most, what in (
        (n, _MOST_OBJECTS, "objects and booleans"),
        (len(patterns), _MOST_PATTERNS, "patterns"),
    ):
        if count > most:
            raise ValueError(f"/: the schema has {count} {what}, at most {most} are taken")


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects in a schema, from the outside in."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, Mapping):
            yield one
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def is_inexact(number: Any) -> bool:
    """True if a float may not hold a number as it is written."""
    return isinstance(number, int | float) and (
        abs(number) > _MOST_EXACT or (isinstance(number, float) and not number.is_integer())
    )


def has_inexact_number(value: Any) -> bool:
    """True if there is a number in a value that `is_inexact`."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict | list):
            todo += one.values() if isinstance(one, dict) else one
        elif is_inexact(one):
            return True
    return False


def n_parts(value: Any) -> int:
    """About how much there is to look at in a value."""
    n, todo = 0, [value]
    while todo:
        one = todo.pop()
        n += 1
        if isinstance(one, str):
            n += len(one) // 32
        elif isinstance(one, dict | list):
            todo += one.values() if isinstance(one, dict) else one
    return n


def unfolded_size(schema: Any, scope: Any, draft: str) -> int:
    """How many schemas there are with each reference written out, but for those that lead back.

    jsonschema-rs remembers its verdicts only for references that lead back. Where each schema of a
    row names the next one twice it takes twice as long with each.
    """
    known: dict[int, int] = {}
    todo: list[tuple[Any, Any, list[Any] | None]] = [(schema, scope, None)]
    while todo:
        one, scope, parts = todo.pop()
        if parts is not None:
            own = 1 + sum(len(v) for v in one.values() if isinstance(v, dict | list))
            known[id(one)] = own + sum(known.get(id(part), 1) for part in parts)
        elif isinstance(one, dict) and id(one) not in known:
            known[id(one)] = 1  # where it leads back
            inner = [
                (part, in_subresource(scope, part, draft), None) for part in subschemas(one, draft)
            ]
            for key in _REFS:
                if key in one and (key == "$ref" or draft not in REF_STANDS_ALONE):
                    found = scope.lookup(one[key])
                    inner.append((found.contents, found.resolver, None))
            todo += [(one, scope, [part for part, _, _ in inner]), *inner]
    return known.get(id(schema), 1)


def check_names(schema: Any, scope: Any, draft: str) -> None:
    """Raises ValueError if two schemas have one name: the packages take different ones."""
    named: set[str] = set()
    todo = [(schema, scope)]
    while todo:
        one, scope = todo.pop()
        if isinstance(one, dict):
            for name in names_of(one, scope, draft):
                if name in named:
                    raise ValueError(f"/: two schemas have the name {name!r}; rename one")
                named.add(name)
            todo += [(part, in_subresource(scope, part, draft)) for part in subschemas(one, draft)]


def names_of(schema: Mapping[str, Any], scope: Any, draft: str) -> list[str]:
    """What a reference may call a schema: its URI and its anchors."""
    if "$ref" in schema and draft in REF_STANDS_ALONE:
        return []
    anchors = specification_of(draft).anchors_in(schema)
    names = [f"{scope._base_uri}#{anchor.name}" for anchor in anchors]
    own = schema.get("id" if draft.endswith("04/schema") else "$id", "")
    if isinstance(own, str) and own and not own.startswith("#"):
        names.append(scope._base_uri)
    return names


@functools.lru_cache(maxsize=256)
def _of_text(text: str, draft: str, assert_formats: bool, fast: bool) -> Compiled:
    return Compiled(json.loads(text), draft=draft, assert_formats=assert_formats)


def compiled(schema: Mapping[str, Any], draft: str, assert_formats: bool) -> Compiled:
    """The compiled form of a schema; each is compiled once, whatever row it comes from.

    Raises:
        ValueError: The schema cannot be used.
    """
    try:
        text = json.dumps(schema, sort_keys=True)
    except RecursionError:
        raise ValueError(f"/: the schema is nested deeper than {MAX_DEPTH} levels") from None
    except TypeError:  # of a script; JSON text holds nothing else
        pointer, fault = plain_fault(schema, MAX_DEPTH) or ("", "expected what JSON has")
        raise ValueError(f"{pointer or '/'}: {fault}") from None
    try:
        return _of_text(text, draft, assert_formats, rust.engine is not None)
    except ValueError as exc:
        if place := null_place(schema):
            raise ValueError(
                f"{place}: is null. A column of objects gets the keys of all rows, and null where "
                f"a row had none; store each schema as JSON text (json.dumps)"
            ) from exc
        raise


def null_place(schema: Any, pointer: str = "") -> str:
    """Where null stands for a keyword's value or a schema, which neither can be; "" if nowhere."""
    if schema is None:
        return pointer
    if isinstance(schema, list):
        parts: Iterable[tuple[Any, Any]] = enumerate(schema)
    elif isinstance(schema, dict):
        # null may be data, but no list of it.
        parts = (
            (key, part)
            for key, part in schema.items()
            if key not in DATA or (key == "enum" and part is None)
        )
    else:
        return ""
    places = (null_place(part, f"{pointer}/{escaped(str(key))}") for key, part in parts)
    return next(filter(None, places), "")
