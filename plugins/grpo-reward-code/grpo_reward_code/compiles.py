"""The reward `code/compiles`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_code.batches import run_all
from grpo_reward_code.reasons import plain
from grpo_reward_code.sandbox.program import Program, Ran
from grpo_reward_code.settings import Settings, failed
from grpo_reward_code.verdicts import why_it_ended

# In the box too: a hostile source can take the compiler down.
_COMPILE = """\
import warnings
warnings.simplefilter("ignore")
with open(0, "rb", closefd=False) as source:
    source = source.read()
compile(source, "program.py", "exec", dont_inherit=True)
"""


@reward(range=(0.0, 1.0), scope="batch", isolation="thread", timeout_s=300.0, on_timeout="missing")
class Compiles:
    """1.0 if the completion holds a Python program that compiles, else 0.0.

    The program is found as in `code/tests_pass`, and compiled in the sandbox; it is not run.

    How a lazy model could cheat: `pass` compiles. Use it with a small weight beside
    `code/tests_pass`, or as its gate.

    Args:
        language: Of the programs; only "python".
        extract: "auto" takes a code fence, or the text if it has none; "fence", "whole".
        pick: Which fence counts where there are several: "last", "first", or "only".
        after_tag: Name of the tag that closes the reasoning; "" counts all of the text.
        other_language: What code in another language gets: "zero", or "skip" for no value.
        max_bytes: Of a program; a longer one scores 0.0.
        limits: What the compiler may use.
        layer: Of isolation: "auto", "ns", "lock", or "unsafe" for none.
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
        max_bytes: int = 1_000_000,
        limits: Mapping[str, float] | None = None,
        layer: Literal["auto", "ns", "lock", "unsafe"] = "auto",
        slots: int | None = None,
        deadline_s: float = 240.0,
    ) -> None:
        self._settings = Settings(
            language=language,
            extract=extract,
            pick=pick,
            after_tag=after_tag,
            other_language=other_language,
            before="",
            max_bytes=max_bytes,
            limits=limits,
            layer=layer,
            preload=(),
            slots=slots,
            deadline_s=deadline_s,
        )

    def close(self) -> None:
        """Ends the processes; the next call starts them again."""
        self._settings.close()

    def info(self) -> dict[str, Any]:
        """What the manifest keeps: the isolation in force."""
        return self._settings.info()

    def __call__(self, completions: list[Completion]) -> list[Score | Skip | Fail]:
        """Scores completions at once."""
        return scored(
            self._settings,
            completions,
            lambda source, _: Program(
                _COMPILE, source.encode("utf-8", "surrogatepass"), "compiles.py"
            ),
            good="it compiles",
        )


def scored(
    settings: Settings,
    completions: Sequence[Completion],
    program: Callable[[str, int], Program],
    good: str,
) -> list[Score | Skip | Fail]:
    """1.0 for each completion whose program ends with exit status 0, else 0.0.

    Args:
        settings: How programs are found and run.
        completions: One for each score.
        program: Makes what is run of the source and the number of the completion.
        good: The reason of a 1.0.
    """
    out: list[Any] = [_program(settings, completion) for completion in completions]
    rows = [i for i, each in enumerate(out) if isinstance(each, str)]

    boxes = settings.boxes()

    def run(i: int) -> Ran:
        return boxes.run(program(out[i], i), settings.limits)

    work = [partial(run, i) for i in rows]
    ended = run_all(work, settings.slots, settings.deadline_s, boxes.interrupt)
    for i, ran in zip(rows, ended, strict=True):
        if isinstance(ran, BaseException):
            out[i] = failed(ran, settings.deadline_s)
            continue
        why = why_it_ended(ran)
        metrics = {"limit_hits": float(bool(ran.limit)), **settings.metrics()}
        out[i] = Score(float(not why), plain(why or good), metrics)
    return out


def _program(settings: Settings, completion: Completion) -> str | Score | Skip | Fail:
    try:
        return settings.program(completion)
    except Exception as exc:  # of this row; the others have a value
        return failed(exc, settings.deadline_s)
