"""The options that the rewards for code share: where the program is, how it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from math import inf
from typing import Any, Literal, get_args

from grpo_core import Completion, Fail, Score, Skip
from grpo_reward_code.batches import OutOfTime
from grpo_reward_code.extracting import Extract, NoProgram, OtherLanguage, Pick, program_of
from grpo_reward_code.reasons import plain
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, NoIsolation
from grpo_reward_code.shared import Lease

Language = Literal["python"]
Layer = Literal["auto", "ns", "lock", "unsafe"]

# As a number for the metrics: the more, the stronger.
LAYER_NUMBERS = {"unsafe": 0.0, "lock": 1.0, "ns": 2.0}

# An answer may be longer than its program by this.
_MOST_PROSE = 1_000_000

# Limits that are counts.
_WHOLE = ("memory_mb", "output_bytes", "file_bytes", "threads")


class Settings:
    """Options in common, checked.

    Raises:
        ValueError: An option is none of what it can be, or no isolation holds here.
    """

    def __init__(
        self,
        *,
        language: Language,
        extract: Extract,
        pick: Pick,
        after_tag: str,
        other_language: OtherLanguage,
        before: str,
        max_bytes: int,
        limits: Mapping[str, float] | None,
        layer: Layer,
        preload: Sequence[str],
        slots: int | None,
        deadline_s: float,
    ) -> None:
        check_choice("language", language, get_args(Language))
        check_choice("extract", extract, get_args(Extract))
        check_choice("pick", pick, get_args(Pick))
        check_choice("other_language", other_language, get_args(OtherLanguage))
        check_choice("layer", layer, get_args(Layer))
        for name, value in (("max_bytes", max_bytes), ("slots", slots), ("deadline_s", deadline_s)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value!r}")
        if isinstance(preload, str):
            raise ValueError(f"preload must be a list of modules, got {preload!r}")
        self._extract: Extract = extract
        self._pick: Pick = pick
        self._after_tag = after_tag
        self._skips = other_language == "skip"
        self._before = before.rstrip("\n") + "\n" if before else ""
        self._max_bytes = max_bytes
        self.limits = _limits(limits or {})
        self.slots = slots
        self.deadline_s = deadline_s
        try:
            self._lease = Lease(slots, layer, preload)
        except NoIsolation as exc:
            raise ValueError(str(exc)) from exc

    def boxes(self) -> Boxes:
        """Where programs are run."""
        return self._lease.boxes()

    def close(self) -> None:
        """Gives the boxes back; the next call takes them again."""
        self._lease.close()

    def info(self) -> dict[str, Any]:
        """What the manifest keeps: the isolation in force."""
        return {"sandbox_layer": self.boxes().layer}

    def metrics(self) -> dict[str, float]:
        """What every score carries."""
        return {"sandbox_layer": LAYER_NUMBERS[self.boxes().layer]}

    def program(self, completion: Completion) -> str | Score | Skip:
        """The program in a completion, or what the completion gets without one."""
        most = self._max_bytes + _MOST_PROSE
        if len(completion.text) > most:  # not even looked through
            return self._too_long(f"limit: the completion has more than {most} characters")
        try:
            code = program_of(
                completion.text,
                extract=self._extract,
                pick=self._pick,
                after_tag=self._after_tag,
            )
        except NoProgram as exc:
            if exc.is_other_language and self._skips:
                return Skip(plain(exc.reason))
            return Score(0.0, plain(exc.reason), {"limit_hits": 0.0, **self.metrics()})
        if len(code) > self._max_bytes or len(code.encode("utf-8", "replace")) > self._max_bytes:
            return self._too_long(f"limit: the program has more than {self._max_bytes} bytes")
        return self._before + code

    def _too_long(self, why: str) -> Score:
        return Score(0.0, why, {"limit_hits": 1.0, **self.metrics()})

    def gold(self, text: str) -> str:
        """A gold program, which may stand in a fence and need not.

        Raises:
            NoProgram: There is none.
        """
        return self._before + program_of(text, extract="auto", after_tag="")


def _limits(given: Mapping[str, float]) -> Limits:
    """Limits of a table of them.

    Raises:
        ValueError: One is unknown, or no number above 0.
    """
    known = [field.name for field in fields(Limits)]
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"limits: expected {', '.join(known)}, got {name!r}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
            raise ValueError(f"limits.{name}: expected a number above 0, got {value!r}")
    whole = {name: int(value) for name, value in given.items() if name in _WHOLE}
    return replace(Limits(), **{**given, **whole})  # type: ignore[arg-type]


def failed(exc: BaseException, deadline_s: float) -> Fail:
    """What a row gets for which no verdict could be had."""
    if isinstance(exc, BoxFailed):
        return Fail(plain(f"the sandbox failed: {exc}"))
    if isinstance(exc, OutOfTime):
        return Fail(f"the batch took longer than deadline_s = {deadline_s:g}")
    return Fail(plain(f"{type(exc).__name__}: {exc}"))


def check_choice(name: str, value: object, known: tuple[object, ...]) -> None:
    """Raises ValueError for a value that is none of the known ones."""
    if value not in known:
        words = " or ".join(map(repr, known))
        raise ValueError(f"{name} must be {words}, got {value!r}")
