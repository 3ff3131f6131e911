"""The columns of the record: a `RecordedBatch` as an Arrow table, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from grpo_core.completion import Completion, Message
from grpo_core.outcome import Outcome, Status
from grpo_core.record import to_json
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.table import FloatArray, ScoreTable

# Key of the file's metadata that holds what is the same for all rows, as JSON.
ABOUT = b"grpo"
_VERSION = 1

_WORD = pa.dictionary(pa.int32(), pa.string())  # few different texts


def to_table(batch: RecordedBatch, *, raw_text: bool) -> Any:
    """The batch as an Arrow table.

    Args:
        batch: The batch.
        raw_text: Keep the text with its special tokens, too.
    """
    made, n = batch.completions, len(batch.completions)
    rows = batch.start + np.arange(n)
    columns: dict[str, Any] = {
        "step": pa.array(np.full(n, batch.step, np.int32)),
        "mode": _words([batch.mode] * n),
        "group": pa.array((rows // batch.group_size).astype(np.int32)),
        "index_in_group": pa.array((rows % batch.group_size).astype(np.int32)),
        "prompt": _texts([c.prompt for c in made]),
        "completion": _texts([c.text for c in made]),
        "reply": _texts([_reply(c.reply) for c in made]),
        "prefill": _words([c.prefill for c in made]),
        "truncated": pa.array([c.truncated for c in made], pa.bool_()),
        "token_ids": pa.array([c.token_ids for c in made], pa.list_(pa.int32())),
        "columns": _texts([_json(c.columns) for c in made]),
    }
    if raw_text:
        columns["raw_text"] = _texts([c.raw_text for c in made])
    place = {k: i for i, k in enumerate(batch.counted)}
    for k, name in enumerate(batch.table.names):
        outcomes = batch.table.outcomes[k]
        columns[f"{name}/value"] = _numbers(batch.table.values[:, k])
        columns[f"{name}/status"] = _words([o.status for o in outcomes])
        columns[f"{name}/reason"] = _texts([o.reason for o in outcomes])
        columns[f"{name}/metrics"] = _texts(
            [_json(o.metrics) if o.metrics else None for o in outcomes]
        )
        columns[f"{name}/seconds"] = pa.array(batch.table.seconds[:, k], pa.float32())
        if k in place:
            columns[f"{name}/effective"] = _numbers(batch.effective[:, place[k]])
            columns[f"{name}/weight"] = pa.array(np.full(n, batch.weights[place[k]]))
    columns["total"] = _numbers(batch.totals)
    advantages = batch.advantages
    columns["advantage"] = pa.nulls(n, pa.float64()) if advantages is None else pa.array(advantages)
    about = {
        "version": _VERSION,
        **{key: getattr(batch, key) for key in _SHARED},
        "rewards": to_json(batch.rewards),
    }
    return with_about(pa.table(columns), about)


# What is the same for all rows of a file, beside the rewards.
_SHARED = (
    *("step", "mode", "part", "rank", "world", "group_size"),
    *("scale", "aggregate", "max_steps", "size"),
)


def about_of(schema: Any) -> dict[str, Any]:
    """What is the same for all rows of a file.

    Raises:
        ValueError: It is no record, or one of a later version.
    """
    about = json.loads((schema.metadata or {}).get(ABOUT, b"null"))
    if not isinstance(about, dict) or about.get("version") != _VERSION:
        raise ValueError("it is no record of completions that this version can read")
    return {"world": 1, **about}  # a file from before there were several has no world


def with_about(table: Any, about: Mapping[str, Any]) -> Any:
    """The table with what is the same for all its rows."""
    return table.replace_schema_metadata({ABOUT: json.dumps(about)})


def from_table(table: Any) -> RecordedBatch:
    """The batch that `to_table` made the table of.

    Raises:
        ValueError: It is none, or one of a later version.
    """
    about = about_of(table.schema)
    cells = {
        name: column.combine_chunks()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    names = tuple(about["rewards"])
    counted = tuple(k for k, name in enumerate(names) if f"{name}/effective" in cells)
    values = np.empty((table.num_rows, len(names)))
    seconds = np.empty(values.shape)
    outcomes = []
    for k, name in enumerate(names):
        values[:, k] = _floats(cells[f"{name}/value"])
        seconds[:, k] = _floats(cells[f"{name}/seconds"])
        outcomes.append(_outcomes(cells, name))
    effective = np.empty((table.num_rows, len(counted)))
    weights = np.full(len(counted), np.nan)  # stays where a process kept no row; rank 0 keeps some
    for i, k in enumerate(counted):
        effective[:, i] = _floats(cells[f"{names[k]}/effective"])
        if table.num_rows:
            weights[i] = cells[f"{names[k]}/weight"][0].as_py()
    advantages = cells["advantage"]
    return RecordedBatch(
        **{key: about[key] for key in _SHARED},
        rewards=about["rewards"],
        counted=counted,
        completions=_completions(cells),
        table=ScoreTable(names, values, tuple(outcomes), seconds),
        effective=effective,
        weights=weights,
        totals=_floats(cells["total"]),
        advantages=None if advantages.null_count else _floats(advantages),
    )


def _completions(cells: Mapping[str, Any]) -> list[Completion]:
    n = len(cells["completion"])
    texts, replies = cells["completion"].to_pylist(), cells["reply"].to_pylist()
    prefills, truncated = cells["prefill"].to_pylist(), cells["truncated"].to_pylist()
    token_ids, columns = cells["token_ids"].to_pylist(), cells["columns"].to_pylist()
    raw = cells["raw_text"].to_pylist() if "raw_text" in cells else [None] * n
    made = []
    for i in range(n):
        row = json.loads(columns[i])
        made.append(
            Completion.from_data(
                texts[i] if replies[i] is None else json.loads(replies[i]),
                row.get("prompt"),
                text=texts[i],
                raw_text=raw[i],
                token_ids=token_ids[i],
                truncated=truncated[i],
                prefill=prefills[i],
                columns=row,
            )
        )
    return made


def _outcomes(cells: Mapping[str, Any], name: str) -> list[Outcome]:
    values = cells[f"{name}/value"].to_pylist()
    statuses: list[Status] = cells[f"{name}/status"].to_pylist()
    reasons = cells[f"{name}/reason"].to_pylist()
    metrics = cells[f"{name}/metrics"].to_pylist()
    return [
        Outcome(value, status, reason, {} if more is None else json.loads(more))
        for value, status, reason, more in zip(values, statuses, reasons, metrics, strict=True)
    ]


def _floats(cells: Any) -> FloatArray:
    """The numbers, with NaN for null."""
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numbers(values: FloatArray) -> Any:
    """The numbers, with null for NaN."""
    return pa.array(values, pa.float64(), from_pandas=True)


def _words(texts: Sequence[str]) -> Any:
    return _texts(texts).dictionary_encode().cast(_WORD)


def _texts(texts: Sequence[str | None]) -> Any:
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half of a surrogate pair, as a reason may quote one
        whole = [t if t is None else t.encode("utf-8", "replace").decode("utf-8") for t in texts]
        return pa.array(whole, pa.string())


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(to_json(value), ensure_ascii=False)


def _reply(reply: Sequence[Message] | None) -> str | None:
    if reply is None:
        return None
    messages = []
    for m in reply:
        message: dict[str, Any] = {"role": m.role, "content": m.content, **m.extra}
        if m.reasoning:
            message["reasoning_content"] = m.reasoning
        messages.append(message)
    return json.dumps(to_json(messages), ensure_ascii=False)
