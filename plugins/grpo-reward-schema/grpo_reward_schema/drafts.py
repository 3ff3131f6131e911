"""The drafts of JSON Schema, and jsonschema's validators for them with bounded assertions."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from grpo_reward_schema.formats import matches
from grpo_reward_schema.leaves import LEAVES
from grpo_reward_schema.patterns import matcher_of

LATEST = "https://json-schema.org/draft/2020-12/schema"
DRAFTS: Mapping[str, str] = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    LATEST: "Draft202012Validator",
}
# By what the option `draft` calls them.
BY_NAME = dict(zip(("4", "6", "7", "2019-09", "2020-12"), DRAFTS, strict=True))
# Before 2019-09 what stands beside a $ref does not count.
REF_STANDS_ALONE = frozenset(list(DRAFTS)[:3])


def draft_of(schema: Any, default: str, resources: Mapping[str, Any]) -> str:
    """The URI of the draft that a schema names, without its final "#".

    Args:
        schema: The schema.
        default: The draft of a schema that names none.
        resources: Schemas by URI; one of them may be what the schema names.

    Raises:
        ValueError: It names none of those that are known.
    """
    named = schema.get("$schema", default) if isinstance(schema, dict) else default
    if isinstance(named, str) and named in resources:
        return draft_of(resources[named], LATEST, {})
    draft = named.rstrip("#") if isinstance(named, str) else ""
    if draft not in DRAFTS:
        raise ValueError(
            f"/$schema: expected one of {', '.join(DRAFTS)}, got {named!r}; leave it out for "
            f"2020-12"
        )
    return draft


def specification_of(draft: str) -> Any:
    """What the package referencing knows of a draft."""
    from referencing.jsonschema import specification_with

    return specification_with(draft + ("#" if "draft-0" in draft else ""))


def subschemas(schema: Any, draft: str) -> list[Any]:
    """The schemas right inside of a schema, those of `dependencies` in every draft."""
    if not isinstance(schema, dict):
        return []
    found = list(specification_of(draft).subresources_of(schema))
    if draft not in REF_STANDS_ALONE:
        found += [one for one in schema.get("dependencies", {}).values() if is_schema(one)]
    return found


def is_schema(value: Any) -> bool:
    """True for what may be a schema by its type."""
    return isinstance(value, dict | bool)


@functools.cache
def validator_class(draft: str, assert_formats: bool) -> Any:
    """Jsonschema's class for a draft, with assertions that are bounded and exact."""
    import jsonschema
    from jsonschema.validators import extend

    base = getattr(jsonschema, DRAFTS[draft])
    own: dict[str, Any] = {
        name: _keyword(leaf)
        for name, leaf in LEAVES.items()
        # Draft 4 has exclusiveMinimum as a flag beside minimum, which jsonschema knows.
        if name in base.VALIDATORS and not (draft.endswith("04/schema") and "imum" in name)
    }
    # jsonschema knows it up to draft 7 only, jsonschema-rs goes on reading it.
    own["dependencies"] = jsonschema.Draft7Validator.VALIDATORS["dependencies"]
    if draft.endswith(("06/schema", "07/schema")):
        own |= {"contentEncoding": _encoding, "contentMediaType": _media_type}
    own["patternProperties"] = _pattern_properties
    own["additionalProperties"] = _additional_properties
    own["format"] = functools.partial(_format, draft) if assert_formats else _nothing
    return extend(base, own)


def _keyword(leaf: Callable[[Any, Any], str]) -> Callable[..., Iterator[Any]]:
    from jsonschema.exceptions import ValidationError

    def keyword(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if fault := leaf(wanted, value):
            yield ValidationError(fault)

    return keyword


def _nothing(validator: Any, wanted: Any, value: Any, schema: Any) -> tuple[Any, ...]:
    return ()


def _format(draft: str, validator: Any, name: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not matches(name, draft)(value):
        yield ValidationError(f"is no {name}")


def _pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for pattern, inner in patterns.items():
            has_match = matcher_of(pattern)
            for name, member in value.items():
                if has_match(name):
                    yield from validator.descend(member, inner, path=name, schema_path=pattern)


def additional(value: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Names of the members that neither `properties` nor `patternProperties` cover."""
    named = schema.get("properties", ())
    matchers = [matcher_of(pattern) for pattern in schema.get("patternProperties", ())]
    return [n for n in value if n not in named and not any(has(n) for has in matchers)]


def _additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name in additional(value, schema):
            yield from validator.descend(value[name], inner, path=name)


def _decoded(text: str, schema: Mapping[str, Any]) -> bytes | None:
    """The content of a text, None if it is not what `contentEncoding` says."""
    if schema.get("contentEncoding") != "base64":
        return text.encode()
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    # Python takes bits behind the last byte, which nobody could have written.
    return decoded if base64.b64encode(decoded) == text.encode() else None


def _encoding(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if isinstance(value, str) and _decoded(value, schema) is None:
        yield ValidationError(f"is not {wanted}")


def _media_type(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not isinstance(value, str) or wanted != "application/json":
        return
    content = _decoded(value, schema)
    try:
        json.loads((content or b"").decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        yield ValidationError(f"is not {wanted}")


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")
