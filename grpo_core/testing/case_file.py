"""Examples of a contract kept in a file, one JSON object a line."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grpo_core.completion import Completion
from grpo_core.errors import DataError
from grpo_core.options import check_options
from grpo_core.reward import RewardInfo
from grpo_core.testing.cases import Case, Kind, shown

# What a file calls the kinds.
_KINDS: Mapping[str, Kind] = {"gold": "good", "near_miss": "bad", "attack": "attack"}
# What a row may say of its completion, beside text and prompt.
_FIELDS = ("raw_text", "token_ids", "truncated", "prefill")
_KEYS = ("kind", "completion", "inputs", "prompt", "id", "why", "reward", "options", *_FIELDS)
_NEEDED = "'kind' (gold, near_miss or attack) and 'completion' (the text, or a list of messages)"
# What a key's value is, and how JSON writes it; null is as good as no key.
_TYPES: Mapping[str, tuple[type, str]] = {
    "inputs": (dict, "an object by name"),
    "options": (dict, "an object by name"),
    "reward": (str, "text"),
    "why": (str, "text"),
    "raw_text": (str, "text"),
    "prefill": (str, "text"),
    "truncated": (bool, "true or false"),
    "token_ids": (list, "a list of whole numbers"),
}


def read_cases(path: Path, info: RewardInfo, options: Mapping[str, Any]) -> list[tuple[Kind, Case]]:
    """Reads the rows of a file that are for a reward.

    Args:
        path: A JSONL file.
        info: The reward's declaration; rows that name another reward are left out.
        options: The contract's options; rows that have others are left out. A default that is
            spelt out is no other option.

    Raises:
        DataError: The file cannot be read, a row is none, or no row is for the reward; the text
            names the line.
    """
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as exc:
        raise DataError(f"cases: {path} cannot be read: {exc}") from exc
    wanted, _ = _effective(info, options)
    left_out: Counter[str] = Counter()
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path.name}:{number}"
        row = _row(line, where)
        if row.get("reward", info.name) != info.name:
            left_out["another reward"] += 1
            continue
        if "options" in row:
            given, wrong = _effective(info, row["options"])
            if wrong:
                raise DataError(f"{where}: {wrong}")
            if given != wanted:
                left_out["other options"] += 1
                continue
        found.append((_KINDS[row["kind"].replace("-", "_")], _case(row, where)))
    if not found:
        rows = " and ".join(f"{n} for {what}" for what, n in left_out.items()) or "it has no rows"
        raise DataError(
            f"cases: {path.name} has no row for {info.name!r} with the contract's options: {rows}"
        )
    return found


def _effective(info: RewardInfo, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The options with the defaults, and what is wrong with them or ""."""
    converted, problems = check_options(info, given)
    defaults = {o.name: o.default for o in info.options if not o.required}
    return {**defaults, **converted}, "; ".join(map(str, problems))


def _case(row: Mapping[str, Any], where: str) -> Case:
    more = {key: row[key] for key in _FIELDS if key in row}
    try:
        completion = Completion.from_data(row["completion"], row.get("prompt", ""), **more)
    except TypeError as exc:
        raise DataError(f"{where}: {exc}") from exc
    name = f"{where} ({row['id']})" if "id" in row else where
    return Case(completion, row.get("inputs", {}), name=name, why=row.get("why", ""))


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise DataError(f"{where}: expected UTF-8, got {exc.reason} at byte {exc.start}") from exc
    try:
        row = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{where}: expected an object in JSON, got {shown(text)}: {exc}") from exc
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected an object, got {shown(text)}")
    for key in row:
        # Other keys are the author's own; one that is nearly ours is a slip of the pen.
        close = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.8)
        if key not in _KEYS and close:
            raise DataError(f"{where}: unknown key {key!r}. Did you mean {close[0]!r}?")
    for key in ("kind", "completion"):
        if key not in row:
            raise DataError(f"{where}: {key!r} is missing; a row needs {_NEEDED}")
    if str(row["kind"]).replace("-", "_") not in _KINDS:
        raise DataError(
            f"{where}: kind: expected gold, near_miss or attack, got {shown(row['kind'])}"
        )
    row = {k: v for k, v in row.items() if k not in _TYPES or v is not None}
    for key, (kind, called) in _TYPES.items():
        if key in row and not _is(row[key], kind):
            raise DataError(f"{where}: {key}: expected {called}, got {shown(row[key])}")
    return row


def _is(value: object, kind: type) -> bool:
    if isinstance(value, list):
        return kind is list and all(type(number) is int for number in value)
    return isinstance(value, kind)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, unless a key is there twice: JSON would keep the last and drop the other."""
    for key, n in Counter(key for key, _ in pairs).items():
        if n > 1:
            raise ValueError(f"the key {key!r} is there {n} times")
    return dict(pairs)
