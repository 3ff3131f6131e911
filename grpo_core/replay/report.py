"""What a replay found, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LETTERS = 70


def as_text(shown: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a report.

    Args:
        shown: What `compared` returned, with `run`, `mode`, `scored_again` and `notes`.
    """
    n = shown["completions"]
    yield (
        f"{shown['run']}: {_n(n, 'completion')} in {_n(shown['groups'], 'group')} of "
        f"{_n(shown['steps'], 'step')}, {shown['mode']}"
    )
    for name, why in shown["scored_again"].items():
        yield f"{name} was scored again: {why}"
    if not shown["scored_again"]:
        yield "no reward was called: the recorded values are combined again"
    yield from (f"note: {note}" for note in shown["notes"])
    yield from _table(shown)
    yield _advantages(shown["advantage"], n)
    if shown["rows"]:
        yield "changed most:"
        for row in shown["rows"]:
            yield from _row(row)


def _table(shown: Mapping[str, Any]) -> Iterator[str]:
    titles = ["reward", "mean then", "now", "cells changed", "failed then", "now"]
    rows = [[*titles, "decides then", "now"]]
    for name, r in shown["rewards"].items():
        rows.append(
            [
                name,
                _number(r["mean_then"]),
                _number(r["mean_now"]),
                f"{r['changed']:,}",
                f"{r['failed_then']:,}",
                f"{r['failed_now']:,}",
                _share(r["decides_then"]),
                _share(r["decides_now"]),
            ]
        )
    total = shown["total"]
    means = [_number(total["mean_then"]), _number(total["mean_now"])]
    rows.append(["total", *means, f"{total['changed']:,}", "", "", "", ""])
    yield from _aligned(rows)


def _advantages(advantage: Mapping[str, Any], n: int) -> str:
    counts = (advantage["changed"], advantage["flipped"], advantage["lost"], advantage["gained"])
    changed, flipped, lost, gained = (f"{count:,} ({_share(count / n)})" for count in counts)
    return (
        f"advantage: {changed} changed; {flipped} have the other sign, {lost} have none any more, "
        f"{gained} have one now"
    )


def _row(row: Mapping[str, Any]) -> Iterator[str]:
    part = f" generation {row['part']}" if row["part"] > 1 else ""
    yield (
        f"  step {row['step']}{part}, group {row['group']}, completion {row['index_in_group']}: "
        f"advantage {row['advantage_then']:+.3f} -> {row['advantage_now']:+.3f}, total "
        f"{_number(row['total_then'])} -> {_number(row['total_now'])}"
    )
    yield f"    {_cut(row['prompt'])} -> {_cut(row['completion'])}"
    for name in dict.fromkeys([*row["then"], *row["now"]]):
        before, after = row["then"].get(name), row["now"].get(name)
        if before is None or after is None or before["value"] != after["value"]:
            reason = f"  ({_cut(after['reason'])})" if after and after["reason"] else ""
            yield f"    {name} {_cell(before)} -> {_cell(after)}{reason}"


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "-"
    return cell["status"] if cell["value"] is None else _number(cell["value"])


def _cut(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _LETTERS else shown[: _LETTERS - 1] + "…"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _n(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        yield "  ".join(cells).rstrip()
