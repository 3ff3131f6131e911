"""Every pattern of the plugin takes time that is linear in the text, whatever the text repeats."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from pathlib import Path

import grpo_reward_math
import pytest
from grpo_reward_math.corrections import Corrections
from grpo_reward_math.extracting import _tag_pattern
from grpo_reward_math.phrases import own_phrases

SIZE = 60_000
UNITS = (
    " ", "\t", "\n", " \n", "\u00a0", "a", "a ", "A", "A ", "A,", "A/", "or ", "and ", "no", "not ",
    "1", "1 ", "1,", "1, ", "1.", "1-", "1,111", "-", "+", "=", "x = ", ".", "..", "…", ",", ", ",
    ";", ":", "(", ")", "()", "[", "{", "}", "{}", "\\{", "\\", "\\\\", "\\ ", "\\,", "\\quad ",
    "\\text", "\\text{", "\\text{a}", "\\boxed", "\\boxed{", "boxed {", "$", "$$", "*", "**", "_",
    "__", "`", "```\n", "#", "####", "#### ", "#### 5 ", "<", "<answer>", "</answer>", "'", "’s ",
    '"', "!", "?", "/", "^", "^{", "%", "|", "é", "½", "the ", "the answer is ", "the answer, ",
    "the final answer is: ", "answer", "answer:", "Answer\n", "answer (", "ans ", "final ", "is ",
    "is: ", "is not ", "it is ", "should ", "correct ", "maybe ", "perhaps be ", "but ", "wait ",
    "mistake ", "if ", "because ", ", which ", "for the ", "more than ", "option ", "5 cm ", "cm ",
    "m", "10^", "0", "0_", "F", "F_", "1e", "\\overline{3}", "\\dots ", "\\frac", "square ",
)  # fmt: skip


def modules() -> list[str]:
    found = pkgutil.iter_modules(grpo_reward_math.__path__, "grpo_reward_math.")
    return sorted(module.name for module in found)


def patterns() -> dict[str, re.Pattern[str]]:
    found = {
        f"{name.rpartition('.')[2]}.{variable}": value
        for name in modules()
        for variable, value in vars(importlib.import_module(name)).items()
        if isinstance(value, re.Pattern)
    }
    own = own_phrases(["I choose", "so"])
    assert own is not None
    return {
        "_tag_pattern": _tag_pattern(("answer", "a")),
        "own_phrases": own,
        "Corrections": Corrections(["zut", "a"])._cue,
        **found,
    }


SOURCE = "".join(
    path.read_text(encoding="utf-8") for path in Path(grpo_reward_math.__path__[0]).glob("*.py")
)
PATTERNS = patterns()
AROUND = (("", ""), ("5", "\x00"), ("A) ", "\x00a\n"), ("(the answer is 5, or ", "."))


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_is_linear(name: str) -> None:
    variable = re.escape(name.rpartition(".")[2])
    is_sought = re.search(rf"\b{variable}\.(?:search|find|sub|split)", SOURCE)
    slow = [
        f"{how} on {before!r} + {unit!r} * n + {after!r}"
        for unit in UNITS
        for before, after in AROUND
        for how in ("fullmatch", "search" if is_sought or "." not in name else "match")
        if not is_linear(PATTERNS[name], how, unit, before, after)
    ]

    assert not slow


def is_linear(pattern: re.Pattern[str], how: str, unit: str, before: str, after: str) -> bool:
    def seconds(size: int) -> float:
        text = before + unit * (size // len(unit)) + after
        start = time.process_time()
        if how == "search":
            for _ in pattern.finditer(text):
                pass
        else:
            getattr(pattern, how)(text)
        return time.process_time() - start

    # A quadratic one takes size² / 2 steps of a nanosecond or more: 12 ms, then 200 ms.
    if seconds(SIZE // 12) < 0.003 or seconds(SIZE // 3) < 0.05:
        return True
    small, large = (min(seconds(size) for _ in range(3)) for size in (SIZE // 4, SIZE))
    return large < 8 * small


def test_all_patterns_are_compiled_where_this_test_finds_them() -> None:
    inline = [
        f"{path.name}:{call.lineno}"
        for path in sorted(Path(grpo_reward_math.__path__[0]).glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "re"
        and call.func.attr not in ("compile", "escape")
    ]

    assert not inline
