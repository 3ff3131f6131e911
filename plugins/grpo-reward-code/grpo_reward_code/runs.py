"""The reward `code/runs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_code.compiles import scored
from grpo_reward_code.sandbox.program import Program
from grpo_reward_code.settings import Settings


@reward(range=(0.0, 1.0), scope="batch", isolation="thread", timeout_s=300.0, on_timeout="missing")
class Runs:
    """1.0 if the completion holds a Python program that ends with exit status 0, else 0.0.

    The program is found and run as in `code/tests_pass`; what it prints does not matter. A limit
    that it hits scores 0.0, with a reason that begins with "limit:".

    How a lazy model could cheat: `pass` runs. Use it with a small weight beside
    `code/tests_pass`, or as its gate.

    Args:
        language: Of the programs; only "python".
        extract: "auto" takes a code fence, or the text if it has none; "fence", "whole".
        pick: Which fence counts where there are several: "last", "first", or "only".
        after_tag: Name of the tag that closes the reasoning; "" counts all of the text.
        other_language: What code in another language gets: "zero", or "skip" for no value.
        before: Code that is put before every program, such as imports.
        max_bytes: Of a program; a longer one scores 0.0.
        limits: What a program may use.
        layer: Of isolation: "auto", "ns", "lock", or "unsafe" for none.
        preload: Modules that are imported once, such as numpy.
        slots: Programs at once; None: this trainer's share of the cores.
        deadline_s: Seconds for a batch; rows that are not begun then have no value.

    Raises:
        ValueError: An option is not one of these, or no isolation holds on this machine.
    """

    def __init__(
        self,
        *,
        language: Literal["python"] = "python",
        extract: Literal["auto", "fence", "whole"] = "auto",
        pick: Literal["last", "first", "only"] = "last",
        after_tag: str = "think",
        other_language: Literal["zero", "skip"] = "zero",
        before: str = "",
        max_bytes: int = 1_000_000,
        limits: Mapping[str, float] | None = None,
        layer: Literal["auto", "ns", "lock", "unsafe"] = "auto",
        preload: Sequence[str] = (),
        slots: int | None = None,
        deadline_s: float = 240.0,
    ) -> None:
        self._settings = Settings(
            language=language,
            extract=extract,
            pick=pick,
            after_tag=after_tag,
            other_language=other_language,
            before=before,
            max_bytes=max_bytes,
            limits=limits,
            layer=layer,
            preload=preload,
            slots=slots,
            deadline_s=deadline_s,
        )

    def close(self) -> None:
        """Ends the processes; the next call starts them again."""
        self._settings.close()

    def info(self) -> dict[str, Any]:
        """What the manifest keeps: the isolation in force."""
        return self._settings.info()

    def __call__(
        self, completions: list[Completion], stdin: list[str | None] | None = None
    ) -> list[Score | Skip | Fail]:
        """Scores completions at once; `stdin` is what the program reads."""
        texts = stdin or [None] * len(completions)

        def program(source: str, i: int) -> Program:
            text: object = "" if texts[i] is None else texts[i]
            if not isinstance(text, str):
                raise ValueError(f"stdin: expected a text, got {type(text).__name__}")
            return Program(source, text.encode("utf-8", "surrogatepass"))

        return scored(self._settings, completions, program, good="exit status 0")
