"""jsonschema-rs, if it is installed: built so that it reads no file and opens no connection."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

# None without it. Read where it is used, so that a test can take it away.
engine: ModuleType | None
try:
    import jsonschema_rs as engine
except ImportError:
    engine = None

_BACKTRACK_LIMIT = 100_000
_SIZE_LIMIT = 10_000_000
_NO_RESOURCES: Mapping[str, Any] = {}


def validator_of(
    schema: Any,
    *,
    linear: bool = False,
    formats: bool = False,
    resources: Mapping[str, Any] = _NO_RESOURCES,
) -> Any:
    """A compiled validator of jsonschema-rs.

    Args:
        schema: A schema that names its draft, else it is 2020-12.
        linear: True refuses patterns that cannot be matched in linear time.
        formats: True asserts formats.
        resources: Schemas by URI that it may refer to.

    Raises:
        ValueError: The schema is none, refers to something that is not there, or holds a pattern
            that cannot be used.
    """
    rs = engine
    assert rs is not None
    options = (
        rs.RegexOptions(size_limit=_SIZE_LIMIT)
        if linear
        else rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT, size_limit=_SIZE_LIMIT)
    )
    try:
        return rs.validator_for(
            schema,
            validate_formats=formats,
            pattern_options=options,
            registry=rs.Registry(list(resources.items())) if resources else None,
            offline=True,
        )
    except (rs.ValidationError, rs.ReferencingError, ValueError, TypeError) as exc:
        raise ValueError(str(getattr(exc, "message", exc))) from exc
