"""Rows of a data set: reading JSONL, making prompts, and columns that keep nested values whole."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grpo_core.errors import DataError, listed, near

Row = dict[str, Any]

PROMPT = "prompt"


def read_jsonl(path: Path) -> list[Row]:
    """Reads a JSONL file: one JSON object a line, blank lines left out.

    Raises:
        DataError: There is no such file, it is no text, or a line is no JSON object; the text
            names the line. Also refused, since something would be lost or break later: a key
            twice in an object, NaN and Infinity (no JSON), and half of a surrogate pair.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no data file {path}") from None
    except OSError as exc:
        raise DataError(f"data file {path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:  # not UTF-8, or a path that no file can have
        raise DataError(f"data file {path} is not UTF-8 text: {exc}") from exc
    rows = []
    # Not splitlines(): JSON strings may hold U+2028 and its like, which are no line ends here.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = _parsed(line)
        except (ValueError, RecursionError) as exc:
            raise DataError(
                f"{path}, line {number}: expected a JSON object, got {_shown(line)} ({exc})"
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: expected a JSON object, got {_shown(line)}")
        rows.append(row)
    if not rows:
        raise DataError(f"{path} has no rows; expected one JSON object a line")
    return rows


def _parsed(line: str) -> Any:
    value = json.loads(line, object_pairs_hook=_object, parse_constant=_no_constant)
    if "\\u" in line:  # the only way to write half of a surrogate pair
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _object(pairs: list[tuple[str, Any]]) -> Row:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise ValueError(f"the key {twice!r} is there twice")
    return made


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON; write null or leave the row out")


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
        template: Text with {columns} that makes the prompt instead; nested values as JSON.
        system: System message. A text becomes a chat of it and the text; a chat gets it in front
            unless it starts with one.

    Returns:
        New rows with a `prompt` that is text in all or a chat in all.

    Raises:
        DataError: Both or neither source is there, a column is absent, a prompt is empty or of
            another kind.
    """
    if prompt is not None and template is not None:
        raise DataError("give data.prompt or data.template, not both")
    columns = columns_of(rows)
    if template is not None:
        fields = template_fields(template)
        for field in fields:
            _require(field, columns, "data.template")
        made: list[Any] = [_filled(template, row, i) for i, row in enumerate(rows)]
    else:
        source = PROMPT if prompt is None else prompt
        _require(source, columns, "data.prompt")
        made = [row.get(source) for row in rows]
    chats = {_is_chat(p, i) for i, p in enumerate(made)}
    if len(chats) > 1:
        raise DataError("some prompts are texts and some are chats; make them of one kind")
    if system is not None:
        made = [_with_system(p, system) for p in made]
    if "" in made:
        raise DataError(f"row {made.index('')}: the prompt is empty; leave the row out")
    return [{**row, PROMPT: p} for row, p in zip(rows, made, strict=True)]


def template_fields(template: str) -> list[str]:
    """The columns that a template names.

    Raises:
        DataError: The braces do not match, or a field is no plain column name.
    """
    return list(dict.fromkeys(field for _, field in _pieces(template) if field is not None))


def _pieces(template: str) -> list[tuple[str, str | None]]:
    """The template as texts, each with the column that follows it, if one does."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as exc:
        raise DataError(
            f"data.template {template!r}: {exc}; write {{{{ and }}}} for literal braces"
        ) from exc
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if not field or spec or conversion or any(c in field for c in ".["):
            raise DataError(
                f"data.template {template!r}: expected {{column}}, got {{{field}}}; write {{{{ and "
                f"}}}} for literal braces"
            )
    return [(text, field) for text, field, _, _ in parts]


def _filled(template: str, row: Row, number: int) -> str:
    text = ""
    for before, field in _pieces(template):
        text += before
        if field is None:
            continue
        value = row.get(field)
        if value is None:
            raise DataError(f"data.template: row {number} has no value in column {field!r}")
        nested = isinstance(value, dict | list)
        text += json.dumps(value, ensure_ascii=False) if nested else str(value)
    return text


def to_columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Turns rows into columns that Arrow keeps as they are.

    Nested values are stored as JSON text, except in `prompt`: Arrow would give every row the keys
    of all others. A reward whose input is a dict or list gets them decoded. Lists of texts, of
    truth values, of integers or of decimals stay lists, where all rows hold the same. A column of
    integers and decimals becomes decimals.

    Raises:
        DataError: A column mixes texts, numbers, truth values and nested values, or holds an
            integer beyond 64 bits; the text names the rows.
    """
    table: dict[str, list[Any]] = {}
    for column in columns_of(rows):
        values = [row.get(column) for row in rows]
        if column == PROMPT:
            _check_contents(values)
        else:
            _one_kind(column, values)
            if any(isinstance(v, dict | list) for v in values) and not _flat_lists(values):
                values = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
            _check_integers(column, values)
        table[column] = values
    return table


def _flat_lists(values: Sequence[Any]) -> bool:
    """True if the values are lists of one kind of scalar, which Arrow keeps."""
    if any(isinstance(v, dict) for v in values):
        return False
    kinds = {type(item) for v in values if v is not None for item in v}
    return len(kinds) == 1 and kinds <= {str, bool, int, float}


def _one_kind(column: str, values: Sequence[Any]) -> None:
    seen: dict[str, int] = {}
    for i, value in enumerate(values):
        if value is not None:
            seen.setdefault(_kind(value), i)
    if len(seen) > 1:
        (first, i), (second, j) = list(seen.items())[:2]
        raise DataError(
            f"column {column!r} mixes kinds: row {i} holds {_shown(repr(values[i]))} ({first}), "
            f"row {j} holds {_shown(repr(values[j]))} ({second}); make them one kind"
        )


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "nested"
    return "number" if type(value) in (int, float) else type(value).__name__


def _check_integers(column: str, values: Sequence[Any]) -> None:
    """Refuses integers that Arrow cannot hold: in a column with decimals, beyond 53 bits."""
    bits = 53 if any(type(v) is float for v in values) else 63
    for i, value in enumerate(values):
        for item in value if isinstance(value, list) else (value,):
            if type(item) is int and not -(2**bits) <= item < 2**bits:
                raise DataError(
                    f"column {column!r}, row {i}: expected an integer of at most {bits + 1} bits "
                    f"with its sign, got {_shown(str(item))}; write it as a text"
                )


def _check_contents(prompts: Sequence[Any]) -> None:
    """Refuses chats whose contents are texts here and lists of blocks there."""
    seen: dict[str, int] = {}
    for i, prompt in enumerate(prompts):
        for message in prompt if isinstance(prompt, list) else ():
            content = message.get("content")
            if content is not None:
                seen.setdefault("text" if isinstance(content, str) else "blocks", i)
    if len(seen) > 1:
        raise DataError(
            f"the prompts' contents are texts (row {seen['text']}) and lists of blocks "
            f"(row {seen['blocks']}); make them of one kind"
        )


def _require(column: str, columns: Sequence[str], where: str) -> None:
    if column not in columns:
        raise DataError(
            f"{where}: the data has no column {column!r}.{near(column, columns)} "
            f"Columns are {listed(columns)}."
        )


def _is_chat(prompt: Any, number: int) -> bool:
    if isinstance(prompt, str):
        return False
    if isinstance(prompt, list) and prompt and all(map(_is_message, prompt)):
        return True
    raise DataError(
        f"row {number}: a prompt must be a text or a list of messages with role and content, got "
        f"{_shown(repr(prompt))}"
    )


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and "content" in message
        and isinstance(message["content"], str | list | None)
    )


def _with_system(prompt: Any, system: str) -> list[dict[str, Any]]:
    chat = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if chat[0]["role"] == "system":
        return chat
    return [{"role": "system", "content": system}, *chat]


def _shown(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
