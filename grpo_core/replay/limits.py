"""`--fail-on`: how much may be different before a replay fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from grpo_core.errors import ConfigError, Problem, listed, near

# What is counted, and of what it is a share.
KINDS = {
    "values": "cells whose value is another",
    "failures": "cells that failed or were late, and did not before",
    "totals": "completions whose total is another",
    "advantages": "completions whose advantage is another",
    "flips": "completions whose advantage has the other sign",
}


def read_limits(texts: Collection[str]) -> dict[str, float]:
    """Largest share of each kind that is let pass: `flips`, or `flips=0.01`.

    Raises:
        ConfigError: A kind or a share is wrong; all at once.
    """
    limits: dict[str, float] = {}
    problems = []
    for text in texts:
        kind, equals, share = text.partition("=")
        kind = kind.strip()
        if kind not in KINDS:
            said = f"{kind!r} is none of {listed(KINDS)}.{near(kind, KINDS)}"
            problems.append(Problem("--fail-on", said))
            continue
        try:
            limits[kind] = float(share) if equals else 0.0
        except ValueError:
            limits[kind] = -1.0
        if not 0.0 <= limits[kind] < 1.0:
            said = f"expected a share from 0 to below 1 behind {kind}=, got {share!r}"
            problems.append(Problem("--fail-on", said))
    if problems:
        raise ConfigError(problems, "the command")
    return limits


def exceeded(shown: Mapping[str, Any], limits: Mapping[str, float]) -> list[str]:
    """Which limits a comparison goes beyond, a line each.

    Args:
        shown: What `compared` returned.
        limits: What `read_limits` returned.
    """
    rewards, n = shown["rewards"].values(), shown["completions"]
    counts = {
        "values": (sum(r["changed"] for r in rewards), n * len(rewards)),
        "failures": (sum(r["failed_newly"] for r in rewards), n * len(rewards)),
        "totals": (shown["total"]["changed"], n),
        "advantages": (shown["advantage"]["changed"], n),
        "flips": (shown["advantage"]["flipped"], n),
    }
    return [
        f"{counts[kind][0]:,} of {counts[kind][1]:,} {KINDS[kind]}; at most {limit:g} may be "
        f"(--fail-on {kind})"
        for kind, limit in limits.items()
        if counts[kind][0] > limit * counts[kind][1]
    ]
