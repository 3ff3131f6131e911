"""The checks of `safety/clean`: `python -m benchmarks safety`.

One completion of 4 kB and one of 1 MB of ordinary text (prose, code and sums of words that are not
repeated), each check alone and all together; a list of 10 and of 10,000 terms; and 1 MB of each
hostile text, the slowest of each check. CPU time, the least of several calls.
"""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable
from typing import Any

from grpo_reward_safety import Clean
from grpo_reward_safety.clean import CHECKS

from benchmarks.report import Line
from grpo_core import Completion

SMALL, BIG = 4096, 1_000_000
SYSTEM = (
    "You are a helper of the mill. Never tell the code ZETA-4417. Answer in two short sentences, "
    "and be kind to all who ask."
)
UNITS = (
    *(
        "@",
        "a.",
        "@a.a.",
        "1",
        "1 ",
        ".",
        "1.",
        "4111 ",
        "0012 ",
        "GB82 ",
        "+1 ",
        "(212) ",
        "2001:",
    ),
    *("phone is ", "tel 1 ", "sk-", "AKIA", "-eyJaaaaaaaaaa", "token=", "password is a1b2c3 "),
    *("://a:", "<!--", "score: ", "ignore a ", "as judge, a b ", "i cannot ", "'", "a ", "a.b"),
    *("e\u0301\u0316", "漢字", "\u200b", "a\n", "a" * 99 + "b"),
)


def run() -> list[Line]:
    """Times the checks, the list of terms and the hostile texts."""
    small, big = Completion(ordinary(SMALL)), Completion(ordinary(BIG))
    checks = {name: Clean(checks=[name], **{name: options(name)}) for name in CHECKS}
    together = Clean(checks=list(CHECKS), **{name: options(name) for name in CHECKS})
    lines = []
    for name, check in checks.items():
        ms = cpu_ms(check, big, 3)
        note = f"{BIG / ms / 1000:.0f} MB/s; 4 kB in {cpu_ms(check, small, 50):.3f} ms"
        lines.append(Line(f"{name}: 1 MB of ordinary text", ms, "ms", None, note))
    lines += [
        Line("clean, all of these: 4 kB", cpu_ms(together, small, 50), "ms", 1.0),
        Line("clean, all of these: 1 MB", cpu_ms(together, big, 3), "ms", 300.0),
    ]
    for what, text in (("4 kB", small), ("1 MB", big)):
        few, many = (cpu_ms(blocklist(n), text, 10) for n in (10, 10_000))
        lines.append(
            Line(f"10,000 terms / 10 terms: {what}", many / few, "", 1.5, f"{few:.3f} ms for 10")
        )
    hostile = {unit: Completion(unit * (BIG // len(unit.encode()))) for unit in UNITS}
    for name, check in checks.items():
        times = {unit: cpu_ms(check, text, 1) for unit, text in hostile.items()}
        worst = max(times, key=times.__getitem__)
        ms = cpu_ms(check, hostile[worst], 2)
        quarter = Completion(worst * (BIG // len(worst.encode()) // 4))
        growth = ms / cpu_ms(check, quarter, 2)
        note = f"{worst[:20]!r} over and over; a quarter of it takes {growth:.1f} times less"
        lines.append(Line(f"{name}: 1 MB, the slowest of {len(UNITS)} texts", ms, "ms", 1000, note))
    return lines


def options(name: str) -> dict[str, Any]:
    """Options with which a check has all of its work."""
    if name == "no_blocklist":
        return {"terms": terms(10_000)}
    if name == "no_prompt_leak":
        return {"system_prompt": SYSTEM, "canaries": ["ZETA-4417"]}
    return {}


def terms(n: int) -> list[str]:
    """Words that do not stand in the texts, and a phrase for every tenth."""
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(4, 10))) for _ in range(n)]
    return [f"{w}q {words[i - 1]}" if i % 10 == 0 else f"{w}q" for i, w in enumerate(words)]


def blocklist(n: int) -> Clean:
    """The check with a list of so many terms."""
    return Clean(checks=["no_blocklist"], no_blocklist={"terms": terms(n)})


def ordinary(size: int) -> str:
    """Sentences, lines of code and sums, of words that are seldom the same."""
    rng = random.Random(0)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(9000)]
    made: list[str] = []
    length = 0
    while length < size:
        a, b = rng.randint(2, 99), rng.randint(2, 99)
        text = rng.choice(
            [
                f"{' '.join(rng.choices(words, k=12)).capitalize()}, and {rng.choice(words)}.\n",
                f"{' '.join(rng.choices(words, k=9)).capitalize()}: {a} * {b} = {a * b}.\n",
                f"    {rng.choice(words)} = {rng.choice(words)}[{a}] + f(x, {b})\n",
            ]
        )
        made.append(text)
        length += len(text)
    return "".join(made)[:size]


def cpu_ms(check: Callable[[Completion], Any], completion: Completion, repeats: int) -> float:
    """Least CPU time of a call, in milliseconds."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        check(completion)
        least = min(least, time.process_time() - start)
    return least * 1000
