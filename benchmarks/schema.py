"""`schema/json` with and without jsonschema-rs: `python -m benchmarks schema`.

512 completions of an order of 2.2 kB and of a recursive tree of 5 kB against one schema, valid ones
and invalid ones in partial mode, and texts of 1 MB that are valid, broken or only brackets. CPU
time, the least of several runs. The first call, which compiles the schema, is not counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grpo_reward_schema import Json, rust

from benchmarks.report import Line
from grpo_core import Completion

N = 512
REPEATS = 5
BIG_BOUND = 0.3

ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 1, "maxLength": 80},
        "city": {"type": "string", "minLength": 1},
        "zip": {"type": "string", "pattern": "^[0-9]{5}(-[0-9]{4})?$"},
        "country": {"enum": ["DE", "FR", "US", "GB"]},
    },
    "required": ["street", "city", "zip", "country"],
    "additionalProperties": False,
}
ITEM = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 120},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 1000},
        "price": {"type": "number", "exclusiveMinimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["sku", "quantity", "price"],
    "additionalProperties": False,
}
PAYMENT = {
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "kind": {"const": "card"},
                "last4": {"type": "string", "pattern": "^[0-9]{4}$"},
            },
            "required": ["kind", "last4"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "transfer"}, "iban": {"type": "string"}},
            "required": ["kind", "iban"],
            "additionalProperties": False,
        },
    ]
}
ORDER_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"address": ADDRESS, "item": ITEM, "payment": PAYMENT},
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^ord_[a-z0-9]{8}$"},
        "created": {"type": "string"},
        "shipping": {"$ref": "#/$defs/address"},
        "billing": {"$ref": "#/$defs/address"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
        "payment": {"$ref": "#/$defs/payment"},
        "total": {"type": "number", "minimum": 0},
    },
    "required": ["id", "shipping", "items", "payment", "total"],
    "additionalProperties": False,
}
TREE_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "value", "children"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


def order(i: int) -> dict[str, Any]:
    """An order of 2.2 kB that is valid."""
    place = {"street": f"{i} Long Road", "city": "Springfield", "zip": "12345", "country": "US"}
    items = [
        {
            "sku": f"ABC-{1000 + k}",
            "title": f"Part number {k} of the order, {'blue' * (k % 3)} and sturdy",
            "quantity": 1 + k,
            "price": 9.5 + k,
            "tags": ["new", "sale", f"lot{k}"],
        }
        for k in range(13)
    ]
    return {
        "id": f"ord_{i:08d}",
        "created": "2026-01-31T12:00:00Z",
        "shipping": place,
        "billing": place,
        "items": items,
        "payment": {"kind": "card", "last4": "4242"},
        "total": 1234.5,
    }


def tree(depth: int, i: int = 0) -> dict[str, Any]:
    """A binary tree; of depth 5 it has 5 kB."""
    children = [tree(depth - 1, i), tree(depth - 1, i + 1)] if depth else []
    name = f"node {i} of the tree, {depth} levels above its leaves"
    return {"name": name, "value": i, "children": children}


def broken(value: dict[str, Any]) -> dict[str, Any]:
    """The order with two faults, one of them deep."""
    value["items"][-1]["quantity"] = "7"
    del value["payment"]["last4"]
    return value


def broken_tree(value: dict[str, Any]) -> dict[str, Any]:
    """The tree with a fault in its last leaf."""
    inner = value
    while inner["children"]:
        inner = inner["children"][-1]
    inner["value"] = "7"
    return value


def run() -> list[Line]:
    """Times both backends, and the texts of 1 MB."""
    lines = []
    for name, fast in (("jsonschema-rs", True), ("jsonschema", False)):
        if fast and rust.engine is None:
            continue
        with backend(fast):
            lines += batches(name, fast)
            lines += big_texts(name)
    return lines


def batches(name: str, fast: bool) -> list[Line]:
    """512 completions against one schema."""
    orders = [json.dumps(order(i)) for i in range(N)]
    wrong = [json.dumps(broken(order(i))) for i in range(N)]
    trees = [json.dumps(tree(5, i)) for i in range(N)]
    wrong_trees = [json.dumps(broken_tree(tree(5, i))) for i in range(N)]
    size = f"{len(orders[0]) / 1000:.1f} kB"
    large = f"{len(trees[0]) / 1000:.1f} kB"
    return [
        timed(f"{name}: {N} valid orders of {size}", ORDER_SCHEMA, orders, 0.1 if fast else 2.5),
        timed(f"{name}: {N} invalid orders, partial", ORDER_SCHEMA, wrong, 0.6 if fast else 4.0),
        timed(f"{name}: {N} valid trees of {large}", TREE_SCHEMA, trees, 0.1 if fast else 8.0),
        timed(f"{name}: {N} invalid trees, partial", TREE_SCHEMA, wrong_trees, None),
    ]


def big_texts(name: str) -> list[Line]:
    """One completion of 1 MB."""
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
    item = '{"a": "some text", "b": [1, 2.5, null]}, '
    valid = "[" + item * (999_000 // len(item)) + "{}]"
    texts = {
        "valid": valid,
        "valid, but for the first item": '[{"a": 1}, ' + valid[1:],
        "broken at its end": valid[:-1],
        "in a fence, with prose": f"Here:\n```json\n{valid[:999_000]}\n```\n",
        "100,000 opening brackets": "[" * 100_000,
        "100,000 objects that are never closed": '{"a":' * 100_000,
        "brackets, opened and closed": "[]" * 499_000,
        "quotes": '{"' + '"' * 999_000,
        "backslashes": '{"a": "' + "\\" * 990_000,
        "blanks behind a bracket": ("{" + " " * 99) * 9_900,
        "fences": "```\n" * 249_000,
    }
    return [
        timed(f"{name}: 1 MB, {what}", schema, [text], BIG_BOUND) for what, text in texts.items()
    ]


def timed(what: str, schema: dict[str, Any], texts: list[str], bound: float | None) -> Line:
    """The CPU time of scoring all texts."""
    reward = Json()
    completions = [Completion(text) for text in texts]
    reward(completions[0], schema)
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        for completion in completions:
            reward(completion, schema)
        best = min(best, time.process_time() - start)
        if best > 2 * (bound or 10):
            break
    return Line(what, best, "s", bound)


@contextmanager
def backend(fast: bool) -> Iterator[None]:
    """The rewards with jsonschema-rs, or as if it were not installed."""
    engine = rust.engine
    if not fast:
        rust.engine = None
    try:
        yield
    finally:
        rust.engine = engine
