"""Rows of a data set: reading JSONL, making prompts, and columns that keep nested values whole."""

from __future__ import annotations

import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grpo_core.errors import DataError, listed, near

Row = dict[str, Any]

PROMPT = "prompt"


def read_jsonl(path: Path) -> list[Row]:
    """Reads a JSONL file: one JSON object a line, blank lines left out.

    Raises:
        DataError: There is no such file, it is no text, or a line is no JSON object; the text
            names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except OSError as exc:
        raise DataError(f"data file {path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"data file {path} is not UTF-8 text: {exc}") from exc
    rows = []
    # Not splitlines(): JSON strings may hold U+2028 and its like, which are no line ends here.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as exc:
            raise DataError(
                f"{path}, line {number}: expected a JSON object, got {_shown(line)} ({exc})"
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: expected a JSON object, got {_shown(line)}")
        rows.append(row)
    if not rows:
        raise DataError(f"{path} has no rows; expected one JSON object a line")
    return rows


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of the rows, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def with_prompts(
    rows: Sequence[Row],
    *,
    prompt: str | None = None,
    template: str | None = None,
    system: str | None = None,
) -> list[Row]:
    """Gives each row its `prompt`.

    Args:
        rows: The rows.
        prompt: Column that holds the prompt, as text or as a chat; default: "prompt".
        template: Text with {columns} that makes the prompt instead.
        system: System message. A text becomes a chat of it and the text; a chat gets it in front
            unless it starts with one.

    Returns:
        New rows with a `prompt` that is text in all or a chat in all.

    Raises:
        DataError: Both or neither source is there, a column is absent, or a prompt is of another
            kind.
    """
    if prompt is not None and template is not None:
        raise DataError("give data.prompt or data.template, not both")
    columns = columns_of(rows)
    if template is not None:
        fields = template_fields(template)
        for field in fields:
            _require(field, columns, "data.template")
        made: list[Any] = [
            template.format_map(_present(row, fields, i)) for i, row in enumerate(rows)
        ]
    else:
        source = PROMPT if prompt is None else prompt
        _require(source, columns, "data.prompt")
        made = [row.get(source) for row in rows]
    chats = {_is_chat(p, i) for i, p in enumerate(made)}
    if len(chats) > 1:
        raise DataError("some prompts are texts and some are chats; make them of one kind")
    if system is not None:
        made = [_with_system(p, system) for p in made]
    return [{**row, PROMPT: p} for row, p in zip(rows, made, strict=True)]


def template_fields(template: str) -> list[str]:
    """The columns that a template names.

    Raises:
        DataError: The braces do not match, or a field is no plain column name.
    """
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as exc:
        raise DataError(
            f"data.template {template!r}: {exc}; write {{{{ and }}}} for literal braces"
        ) from exc
    fields = []
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if not field or spec or conversion or any(c in field for c in ".["):
            raise DataError(
                f"data.template {template!r}: expected {{column}}, got {{{field}}}; write {{{{ and "
                f"}}}} for literal braces"
            )
        fields.append(field)
    return list(dict.fromkeys(fields))


def to_columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Turns rows into columns that Arrow keeps as they are.

    Nested values are stored as JSON text, except in `prompt`: Arrow would give every row the keys
    of all others. A reward whose input is a dict or list gets them decoded.

    Raises:
        DataError: A column mixes texts, numbers and truth values; the text names two rows.
    """
    table: dict[str, list[Any]] = {}
    for column in columns_of(rows):
        values = [row.get(column) for row in rows]
        if column != PROMPT:
            if any(isinstance(v, dict | list) for v in values):
                values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            _one_kind(column, values)
        table[column] = values
    return table


def _one_kind(column: str, values: Sequence[Any]) -> None:
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        if value is not None:
            kind = "number" if type(value) in (int, float) else type(value).__name__
            seen.setdefault(kind, i)
    if len(seen) > 1:
        (first, i), (second, j) = list(seen.items())[:2]
        raise DataError(
            f"column {column!r} mixes kinds: row {i} holds {_shown(repr(values[i]))} ({first}), "
            f"row {j} holds {_shown(repr(values[j]))} ({second}); make them one kind"
        )


def _require(column: str, columns: Sequence[str], where: str) -> None:
    if column not in columns:
        raise DataError(
            f"{where}: the data has no column {column!r}.{near(column, columns)} "
            f"Columns are {listed(columns)}."
        )


def _present(row: Mapping[str, Any], fields: Sequence[str], number: int) -> dict[str, Any]:
    for field in fields:
        if row.get(field) is None:
            raise DataError(f"data.template: row {number} has no value in column {field!r}")
    return {field: row[field] for field in fields}


def _is_chat(prompt: Any, number: int) -> bool:
    if isinstance(prompt, str):
        return False
    if (
        isinstance(prompt, list)
        and prompt
        and all(isinstance(m, dict) and "role" in m and "content" in m for m in prompt)
    ):
        return True
    raise DataError(
        f"row {number}: a prompt must be a text or a list of messages with role and content, got "
        f"{_shown(repr(prompt))}"
    )


def _with_system(prompt: Any, system: str) -> list[dict[str, Any]]:
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if chat[0]["role"] == "system":
        return chat
    return [{"role": "system", "content": system}, *chat]


def _shown(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
