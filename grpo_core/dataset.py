"""Rows of a data set: making prompts, and columns that keep nested values whole."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from grpo_core.errors import DataError, listed, near
from grpo_core.files import Row, lost_time, shown

PROMPT = "prompt"

# Says where row i is from, for the errors.
Where = Callable[[int], object]


def _row(i: int) -> str:
    return f"row {i}"


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of the rows, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def with_prompts(
    rows: Sequence[Row],
    *,
    prompt: str | None = None,
    template: str | None = None,
    chat: bool | None = None,
    system: str | None = None,
    where: str = "data",
    place: Where = _row,
) -> list[Row]:
    """Gives each row its `prompt`.

    Args:
        rows: The rows.
        prompt: Column that holds the prompt, as text or as a chat; default: "prompt".
        template: Text with {columns} that makes the prompt instead; nested values as JSON.
        chat: A text becomes a chat of one user's message.
        system: System message. A text becomes a chat of it and the text; a chat gets it in front
            unless it starts with one, as a block where its contents are blocks.
        where: Section of the config that says so.
        place: Says where a row is from; default: its number.

    Returns:
        New rows with a `prompt` that is text in all or a chat in all.

    Raises:
        DataError: Both or neither source is there, `chat` is False beside `system`, a column is
            absent, the template names none, a prompt is blank or of another kind.
    """
    if prompt is not None and template is not None:
        raise DataError(f"give {where}.prompt or {where}.template, not both")
    if chat is False and system is not None:
        raise DataError(
            f"{where}.chat is false, but the system message makes a chat of each text; leave one "
            f"out"
        )
    columns = columns_of(rows)
    if template is not None:
        pieces = _pieces(template, f"{where}.template")
        if all(field is None for _, field in pieces):
            example = next((c for c in columns if c in template), columns[0])
            raise DataError(
                f"{where}.template {template!r} names no column, so every prompt would be the "
                f"same; write a column in single braces, such as {{{example}}} ({{{{ and }}}} are "
                f"literal braces)"
            )
        for _, field in pieces:
            if field is not None:
                _require(field, columns, f"{where}.template")
        made: list[Any] = [
            _filled(pieces, row, f"{where}.template: {place(i)}") for i, row in enumerate(rows)
        ]
    else:
        source = PROMPT if prompt is None else prompt
        _require(source, columns, f"{where}.prompt")
        made = [row.get(source) for row in rows]
    chats: dict[bool, int] = {}
    for i, p in enumerate(made):
        chats.setdefault(_is_chat(p, place(i)), i)
    if len(chats) > 1:
        raise DataError(
            f"some prompts are texts ({place(chats[False])}) and some are chats "
            f"({place(chats[True])}); make them of one kind"
        )
    if blank := [i for i, p in enumerate(made) if _is_blank(p)]:
        shown = ", ".join([*(str(place(i)) for i in blank[:3]), *(["…"] if blank[3:] else [])])
        n = len(blank)
        raise DataError(
            f"the prompt is blank in {n} row{'s' if n > 1 else ''}: {shown}; leave "
            f"{'these rows' if n > 1 else 'the row'} out"
        )
    if chat or system is not None:
        made = [[{"role": "user", "content": p}] if isinstance(p, str) else p for p in made]
    if system is not None:
        made = [_with_system(p, system) for p in made]
    return [{**row, PROMPT: p} for row, p in zip(rows, made, strict=True)]


def template_fields(template: str) -> list[str]:
    """The columns that a template names.

    Raises:
        DataError: The braces do not match, or a field is no plain column name.
    """
    pieces = _pieces(template, "data.template")
    return list(dict.fromkeys(field for _, field in pieces if field is not None))


def _pieces(template: str, where: str) -> list[tuple[str, str | None]]:
    """The template as texts, each with the column that follows it, if one does."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as exc:
        raise DataError(
            f"{where} {template!r}: {exc}; write {{{{ and }}}} for literal braces"
        ) from exc
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if not field or spec or conversion or any(c in field for c in ".["):
            got = field + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise DataError(
                f"{where} {template!r}: expected {{column}} alone, got {{{got}}}; nothing is "
                f"converted, formatted or looked up in a value, so put the finished text into a "
                f"column, or write {{{{ and }}}} for literal braces"
            )
    return [(text, field) for text, field, _, _ in parts]


def _filled(pieces: Sequence[tuple[str, str | None]], row: Row, where: str) -> str:
    text = ""
    for before, field in pieces:
        text += before
        if field is None:
            continue
        value = row.get(field)
        if value is None:
            raise DataError(f"{where} has no value in column {field!r}")
        nested = isinstance(value, dict | list | tuple)
        text += _to_json(value, f"{where}, column {field!r}") if nested else str(value)
    return text


def nested_columns(rows: Sequence[Row]) -> frozenset[str]:
    """The columns that `to_columns` stores as JSON text.

    Whoever hands such a row to a reward decodes them; a text that happens to be JSON is none.
    """
    return frozenset(
        column
        for column in columns_of(rows)
        if column != PROMPT and _is_nested([row.get(column) for row in rows])
    )


def to_columns(rows: Sequence[Row], place: Where = _row) -> dict[str, list[Any]]:
    """Turns rows into columns that Arrow keeps as they are.

    Nested values are stored as JSON text, except in `prompt`: Arrow would give every row the keys
    of all others; `nested_columns` says which columns these are. Lists of texts, of truth values,
    of integers or of decimals stay lists, where all rows hold the same. A column of integers and
    decimals becomes decimals.

    Args:
        rows: The rows.
        place: Says where a row is from; default: its number.

    Raises:
        DataError: A column's name holds NUL, or a column mixes texts, numbers, truth values and
            nested values, holds an integer beyond 64 bits or a time in nanoseconds, or nested
            values that JSON does not have; the text names the rows.
    """
    table: dict[str, list[Any]] = {}
    for column in columns_of(rows):
        if "\0" in column:
            raise DataError(
                f"column {column!r}: a name cannot hold the character NUL, at which Arrow cuts it "
                f"off; rename the column"
            )
        values = [row.get(column) for row in rows]
        if column == PROMPT:
            _check_contents(values, place)
        else:
            _one_kind(column, values, place)
            if _is_nested(values):
                values = [
                    None if v is None else _to_json(v, f"column {column!r}, {place(i)}")
                    for i, v in enumerate(values)
                ]
            _check_integers(column, values, place)
            _check_times(column, values, place)
        table[column] = values
    return table


def _to_json(value: Any, where: str) -> str:
    """JSON text of a nested value; dates become ISO texts, decimals of Arrow plain texts."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_json_scalar)
    except (ValueError, TypeError, RecursionError) as exc:
        raise DataError(
            f"{where}: expected what JSON can hold, got {shown(repr(value))} ({exc}); leave the "
            f"column out or write it as text"
        ) from exc


def _json_scalar(value: Any) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _is_nested(values: Sequence[Any]) -> bool:
    """True if Arrow would not keep the values as they are, since some hold others."""
    return any(isinstance(v, dict | list | tuple) for v in values) and not _flat_lists(values)


def _flat_lists(values: Sequence[Any]) -> bool:
    """True if the values are lists of one kind of scalar, which Arrow keeps."""
    if not all(isinstance(v, list | tuple | None) for v in values):
        return False
    kinds = {type(item) for v in values if v is not None for item in v}
    return len(kinds) == 1 and kinds <= {str, bool, int, float}


def _one_kind(column: str, values: Sequence[Any], place: Where) -> None:
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        if value is not None:
            seen.setdefault(_kind(value), i)
    if len(seen) > 1:
        (first, i), (second, j) = list(seen.items())[:2]
        raise DataError(
            f"column {column!r} mixes kinds: {place(i)} holds {shown(repr(values[i]))} ({first}), "
            f"{place(j)} holds {shown(repr(values[j]))} ({second}); make them one kind"
        )


def _kind(value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return "nested"
    return "number" if type(value) in (int, float) else type(value).__name__


def _check_integers(column: str, values: Sequence[Any], place: Where) -> None:
    """Refuses integers that Arrow cannot hold: in a column with decimals, beyond 53 bits."""
    bits = 53 if any(type(v) is float for v in values) else 63
    for i, value in enumerate(values):
        for item in value if isinstance(value, list) else (value,):
            if type(item) is int and not -(2**bits) <= item < 2**bits:
                raise DataError(
                    f"column {column!r}, {place(i)}: expected an integer of at most {bits + 1} "
                    f"bits with its sign, got {shown(str(item))}; write it as a text"
                )


def _check_times(column: str, values: Sequence[Any], place: Where) -> None:
    """Refuses times of pandas, as Parquet files give them, that end in nanoseconds."""
    for i, value in enumerate(values):
        if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
            raise lost_time(column, value, place(i))


def _check_contents(prompts: Sequence[Any], place: Where) -> None:
    """Refuses chats whose contents are texts here and lists of blocks there."""
    seen: dict[str, int] = {}
    for i, prompt in enumerate(prompts):
        for message in prompt if isinstance(prompt, list) else ():
            content = message.get("content")
            if content is not None:
                seen.setdefault("text" if isinstance(content, str) else "blocks", i)
    if len(seen) > 1:
        raise DataError(
            f"the prompts' contents are texts ({place(seen['text'])}) and lists of blocks "
            f"({place(seen['blocks'])}); make them of one kind"
        )


def _require(column: str, columns: Sequence[str], where: str) -> None:
    if column not in columns:
        raise DataError(
            f"{where}: the data has no column {column!r}.{near(column, columns)} "
            f"Columns are {listed(columns)}."
        )


def is_chat(value: Any) -> bool:
    """True for a chat: a list of messages with role and content, not empty."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def _is_chat(prompt: Any, where: object) -> bool:
    if isinstance(prompt, str):
        return False
    if is_chat(prompt):
        return True
    raise DataError(
        f"{where}: a prompt must be a text or a list of messages with role and content, got "
        f"{shown(repr(prompt))}"
    )


def _is_blank(prompt: str | list[Any]) -> bool:
    """True for white space alone, also as the only contents of a chat."""
    texts = [prompt] if isinstance(prompt, str) else [m["content"] for m in prompt]
    return all(isinstance(text, str) and not text.strip() for text in texts)


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and "content" in message
        and isinstance(message["content"], str | list | None)
    )


def _with_system(chat: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    if chat[0]["role"] == "system":
        return chat
    blocks = any(isinstance(message["content"], list) for message in chat)
    content = [{"type": "text", "text": system}] if blocks else system
    return [{"role": "system", "content": content}, *chat]
