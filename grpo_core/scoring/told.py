"""What went wrong with a reward, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from grpo_core.outcome import Outcome

_VERBS = (("failed", "failed"), ("timed_out", "timed out"))


def told(label: str, outcomes: Sequence[Outcome], rows: Sequence[int]) -> str:
    """What went wrong with a reward: how often, and the reasons of three rows."""
    found = {outcomes[i].status for i in rows}
    what = " or ".join(verb for status, verb in _VERBS if status in found)
    lines = [f"reward {label} {what} on {len(rows)} of {len(outcomes)} completions:"]
    if len(rows) > 1 and len({outcomes[i].reason for i in rows}) == 1:
        which = f"{rows[0]} to {rows[-1]}"
        if rows[-1] - rows[0] >= len(rows):  # there are others between them
            which = ", ".join(map(str, rows[:3])) + (", …" if len(rows) > 3 else "")
        lines.append(f"  rows {which}: {outcomes[rows[0]].reason}")
    else:
        lines += [f"  row {i}: {outcomes[i].reason}" for i in rows[:3]]
    return "\n".join(lines)
