"""Checks a schema before it is used: it may come from a data set, and is not trusted.

Whatever passes can be validated against without a look outside, and in bounded time for each value.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from grpo_reward_schema import rust
from grpo_reward_schema.drafts import (
    REF_STANDS_ALONE,
    draft_of,
    is_schema,
    specification_of,
    subschemas,
    validator_class,
)
from grpo_reward_schema.formats import check_format
from grpo_reward_schema.patterns import check_pattern, is_plain
from grpo_reward_schema.plain import escaped, plain_fault

MAX_CHARS = 500_000
MAX_DEPTH = 100
# Ways to apply schemas to one value: doubled references make 2^n of them.
MAX_WAYS = 10_000

# Keywords whose values are data, and no schemas.
DATA = ("const", "enum", "default", "examples")
_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
# Keywords whose values are schemas by name.
_MAPS = (
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
)
# Keywords whose schemas apply to the same value, and not to a part of it.
_LISTS_IN_PLACE = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")
_MAPS_IN_PLACE = ("dependentSchemas", "dependencies")


def checked(
    schema: Any, *, draft: str, assert_formats: bool, resources: Mapping[str, Any]
) -> tuple[str, Any, Any]:
    """Checks a schema.

    Args:
        schema: What was given.
        draft: The URI of the draft that it is of if it names none.
        assert_formats: True if formats are to be checked.
        resources: Schemas by URI that it may refer to.

    Returns:
        The URI of its draft, a copy that names no draft, and a resolver with that copy as root.

    Raises:
        ValueError: It cannot be used. The message begins with a JSON pointer to the place.
    """
    check_plain(schema)
    draft = draft_of(schema, draft, resources)
    _check_against_draft(schema, draft)
    # jsonschema takes its own class, without our bounds, wherever $schema is named.
    bare = _bare(schema, draft)
    resolver = _resolver(bare, draft, resources)
    _Walk(bare, draft, assert_formats).check(resolver)
    return draft, bare, resolver


def check_plain(schema: Any) -> None:
    """Raises ValueError if a schema is too large, or holds what no JSON text can."""
    if wrong := plain_fault(schema, MAX_DEPTH):
        pointer, fault = wrong
        what = "the schema is " if fault.startswith("nested") else ""
        raise ValueError(f"{pointer or '/'}: {what}{fault}")
    n_chars = len(json.dumps(schema))
    if n_chars > MAX_CHARS:
        raise ValueError(f"/: the schema has {n_chars} characters, at most {MAX_CHARS} are taken")


def _check_against_draft(schema: Any, draft: str, at: str = "") -> None:
    if rust.engine is not None:
        named = {**schema, "$schema": draft} if isinstance(schema, dict) else schema
        try:
            rust.engine.meta.validate(named)
        except (rust.engine.ValidationError, ValueError) as exc:
            pointer = at + _pointer(getattr(exc, "instance_path", ()))
            raise ValueError(
                f"{pointer or '/'}: {str(getattr(exc, 'message', exc))[:300]}"
            ) from exc
        return
    from jsonschema.exceptions import SchemaError

    try:
        validator_class(draft, False).check_schema(schema, format_checker=None)
    except SchemaError as exc:
        raise ValueError(f"{at + _pointer(exc.absolute_path) or '/'}: {exc.message[:300]}") from exc


def _bare(schema: Any, draft: str) -> Any:
    """A copy that names no draft, and whose `dependencies` are all schemas.

    Names that others depend on, as a list, beside a schema are more than referencing takes.
    """
    if isinstance(schema, list):
        return [_bare(value, draft) for value in schema]
    if not isinstance(schema, dict):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in DATA:
            made[key] = value
        elif key == "$schema" and isinstance(value, str) and value.rstrip("#") == draft:
            continue
        elif key in _MAPS and isinstance(value, dict):
            made[key] = {
                name: {"required": inner}
                if key == "dependencies" and isinstance(inner, list)
                else _bare(inner, draft)
                for name, inner in value.items()
            }
        else:
            made[key] = _bare(value, draft)
    return made


def _resolver(schema: Any, draft: str, resources: Mapping[str, Any]) -> Any:
    from referencing import Registry

    specification = specification_of(draft)
    made = [(uri, _resource(one, specification)) for uri, one in resources.items()]
    registry: Any = Registry().with_resources(made).combine(_metaschemas())
    return registry.resolver_with_root(specification.create_resource(schema))


def _resource(contents: Any, default: Any) -> Any:
    from referencing import Resource

    return Resource.from_contents(contents, default_specification=default)


@functools.cache
def _metaschemas() -> Any:
    from jsonschema_specifications import REGISTRY

    return REGISTRY


class _Walk:
    """Goes through all schemas that can be reached, and checks each where it stands."""

    def __init__(self, schema: Any, draft: str, assert_formats: bool) -> None:
        self._draft = draft
        self._spec = specification_of(draft)
        self._schema = schema
        self._formats = assert_formats
        self._places = dict(_places(schema, ""))
        self._in_place: dict[int, list[Any]] = {}
        self._kept: list[Any] = []  # ids are those of living objects
        self._sound: set[int] = set()
        self._is_sound(schema)

    def check(self, resolver: Any) -> None:
        todo = [(self._schema, resolver)]
        while todo:
            schema, scope = todo.pop()
            if not isinstance(schema, dict) or id(schema) in self._in_place:
                continue
            self._kept.append(schema)
            if "$schema" in schema and self._at(schema):
                raise ValueError(
                    f"{self._at(schema)}/$schema: a part of the schema is of another draft, got "
                    f"{schema['$schema']!r}; write the whole of it in one draft"
                )
            targets = [self._target(schema, key, scope) for key in _REFS if key in schema]
            self._in_place[id(schema)] = [t for t, _ in targets]
            todo += targets
            if "$ref" in schema and self._draft in REF_STANDS_ALONE:
                continue
            self._check_assertions(schema)
            self._in_place[id(schema)] += _in_place(schema)
            for sub in subschemas(schema, self._draft):
                inner = self._spec.create_resource(sub)
                todo.append((sub, scope.in_subresource(inner)))
        self._ways(self._schema, {}, set())

    def _target(self, schema: dict[str, Any], key: str, scope: Any) -> tuple[Any, Any]:
        from referencing.exceptions import Unresolvable

        try:
            found = scope.lookup(schema[key])
        except (Unresolvable, ValueError, TypeError, AttributeError, LookupError) as exc:
            raise ValueError(
                f"{self._at(schema)}/{key}: {str(schema[key])[:200]!r} is not in the schema; "
                f"nothing else is read, neither from the network nor from files. Put it into "
                f"the schema, under $defs"
            ) from exc
        target = found.contents
        if not is_schema(target):
            raise ValueError(
                f"{self._at(schema)}/{key}: {str(schema[key])[:200]!r} leads to "
                f"{json.dumps(target)[:60]}, which is no schema"
            )
        if isinstance(target, dict) and id(target) not in self._sound and self._at(target):
            # It stands where the draft expects no schema, and has not been looked at.
            _check_against_draft(target, self._draft, self._at(target))
            self._is_sound(target)
        return target, found.resolver

    def _is_sound(self, schema: Any) -> None:
        """Notes that a schema and all inside of it are as the draft says."""
        todo = [schema]
        while todo:
            one = todo.pop()
            if isinstance(one, dict) and id(one) not in self._sound:
                self._sound.add(id(one))
                todo += subschemas(one, self._draft)

    def _check_assertions(self, schema: dict[str, Any]) -> None:
        patterns = [("/pattern", schema.get("pattern"))]
        named = schema.get("patternProperties")
        if isinstance(named, dict):
            patterns += [("/patternProperties", pattern) for pattern in named]
        for where, pattern in patterns:
            if isinstance(pattern, str):
                try:
                    check_pattern(pattern)
                except ValueError as exc:
                    raise ValueError(f"{self._at(schema)}{where}: {pattern[:60]!r} {exc}") from exc
        if self._formats and isinstance(schema.get("format"), str):
            try:
                check_format(schema["format"], self._draft)
            except ValueError as exc:
                raise ValueError(f"{self._at(schema)}/format: {exc}") from exc

    def _at(self, schema: Any) -> str:
        return self._places.get(id(schema), "")

    def _ways(self, schema: Any, known: dict[int, int], above: set[int]) -> int:
        """How often schemas are applied to one value, all told."""
        if id(schema) in above:
            raise ValueError(
                f"{self._at(schema) or '/'}: the schema refers to itself for the same value"
            )
        if id(schema) not in known:
            above.add(id(schema))
            inner = self._in_place.get(id(schema), ())
            known[id(schema)] = 1 + sum(self._ways(one, known, above) for one in inner)
            above.discard(id(schema))
            if known[id(schema)] > MAX_WAYS:
                raise ValueError(
                    f"{self._at(schema) or '/'}: schemas apply in over {MAX_WAYS} ways to one "
                    f"value; refer to each once"
                )
        return known[id(schema)]


def _in_place(schema: Mapping[str, Any]) -> Iterator[Any]:
    for key in _LISTS_IN_PLACE:
        yield from schema.get(key, ())
    for key in _IN_PLACE:
        if key in schema:
            yield schema[key]
    for key in _MAPS_IN_PLACE:
        yield from schema.get(key, {}).values()


def _places(value: Any, pointer: str) -> Iterator[tuple[int, str]]:
    if isinstance(value, dict):
        yield id(value), pointer
        for key, inner in value.items():
            yield from _places(inner, pointer + "/" + escaped(key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _places(inner, f"{pointer}/{i}")


def _pointer(path: Any) -> str:
    return "".join("/" + escaped(str(part)) for part in path)


def needs_python_patterns(schema: Any) -> bool:
    """True if jsonschema would give patterns of the schema to `re`, unchanged and unbounded."""
    text = json.dumps(schema)
    return "unevaluatedProperties" in text and "patternProperties" in text


def check_python_patterns(schema: Any) -> None:
    """Raises ValueError if jsonschema could not use the patterns of `needs_python_patterns`."""
    for part in _dicts(schema):
        named = part.get("patternProperties")
        # A member may be named so too; then there is a schema, or none.
        for pattern in named if isinstance(named, dict) else ():
            try:
                re.compile(pattern)
            except (re.error, TypeError, RecursionError, OverflowError) as exc:
                raise ValueError(
                    f"/: the pattern {pattern!r} beside unevaluatedProperties must be one of "
                    f"Python too, or be plain and jsonschema-rs installed: "
                    f"grpo-reward-schema[fast]"
                ) from exc


def has_plain_patterns(schema: Any) -> bool:
    """True if jsonschema-rs reads all patterns of a schema as ECMA-262 does."""
    return all(
        is_plain(pattern)
        for part in _dicts(schema)
        for patterns in ([part.get("pattern")], part.get("patternProperties"))
        if isinstance(patterns, list | dict)
        for pattern in patterns
        if isinstance(pattern, str)
    )


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _dicts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _dicts(inner)
