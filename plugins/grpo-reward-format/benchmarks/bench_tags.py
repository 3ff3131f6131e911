"""CPU time of `format/tags` on hostile texts: python bench_tags.py [--size 1000000] [--full].

Prints the milliseconds per text: under the default options, and the worst of all combinations
of options (of a third of them without --full).
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

from grpo_reward_format import Tags

from grpo_core import Completion

_RIGHT = "<think>a</think><answer>4</answer>"
_CHOICES: dict[str, list[Any]] = {
    "mode": ["soft", "strict"],
    "outside_text": ["forbid", "allow_after", "allow"],
    "layout": ["any", "lines"],
    "prompt_prefix": ["", "<think>\n"],
    "prefix_policy": ["exact", "lenient"],
    "empty_body": ["reject", "allow"],
    "tail": ["optional", "require"],
    "ignore_code_fences": [False, True],
    "strip_suffixes": [[], ["<|im_end|>", "</s>", "<|end|>"]],
}


def hostile(size: int) -> dict[str, str]:
    """Texts of about `size` bytes, by name."""

    def fill(unit: str) -> str:
        return unit * (size // len(unit.encode()))

    fence = fill("```\n")
    few_fences = "```\n" * 9_000 + "~~~\n" + fill("x")
    return {
        "ordinary, 2 kB": "<think>\n" + "a b c " * 330 + "\n</think>\n<answer>\n4\n</answer>",
        "blanks": fill(" "),
        "unclosed tag, blanks": "<think>" + fill(" "),
        "right, blanks before": fill(" ") + _RIGHT,
        "right, blanks after": _RIGHT + fill(" "),
        "right, blank body": "<think>" + fill(" ") + "</think><answer>4</answer>",
        "right, big body": "<think>" + fill("word ") + "</think><answer>4</answer>",
        "zero-width body": "<think>" + fill("\ufe0f") + "</think><answer>4</answer>",
        "nested, zero-width": "<think><answer>" + fill("\ufe0f") + "</answer></think>",
        "crossed, tags inside": "<think><answer>" + fill("<other>") + "</think></answer>",
        "nested openers": fill("<think>"),
        "unclosed pairs": fill("<think><answer>"),
        "tag pairs": fill("<think></think><answer></answer>"),
        "crossed pairs": "<think></think>" + fill("<answer></think>"),
        "think holds answers": "<think>" + fill("<answer></answer>") + "</think>",
        "closers first": fill("</think><think>"),
        "fences": fence,
        "right, then fences": _RIGHT + "\n" + fence,
        "fences in a body": "<think>\n" + fence + "</think>\n<answer>4</answer>",
        "most fences allowed": "<think>\n" + few_fences + "\n```\n</think><answer>4</answer>",
        "fences, info strings": "<think>\n```\n" + fill("```js\n")[:59_000] + fill("y"),
        "fences, mixed marks": "<think>\n" + "```\n~~~\n~~~\n```\n" * 2_400 + fill("y"),
        "indented lines": "```\n" + fill("\n   ") + _RIGHT,
        "one long fence": fill("`") + "\n" + _RIGHT,
        "newlines": fill("\n"),
        "CRLF": fill("\r\n"),
        "'<'": fill("<"),
        "'</'": fill("</"),
        "'<think'": fill("<think"),
        "suffixes": _RIGHT + fill("</s>"),
        "suffixes, blanks": _RIGHT + fill("</s>\n<|im_end|> "),
        "prefixes": fill("<think>\n"),
        "prefix, blanks": fill(" ") + "<think>\n" + _RIGHT,
    }


def cpu_ms(reward: Tags, text: str, repeats: int = 1) -> float:
    """Least CPU milliseconds of `repeats` calls."""
    completion = Completion(text)
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        reward(completion)
        best = min(best, time.process_time() - start)
    return best * 1000


def combinations() -> list[dict[str, Any]]:
    """All combinations of options that a text can satisfy."""
    rows = itertools.product(*_CHOICES.values())
    options = [dict(zip(_CHOICES, row, strict=True)) for row in rows]
    return [o for o in options if (o["tail"], o["outside_text"]) != ("require", "forbid")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000, help="bytes of a hostile text")
    parser.add_argument("--full", action="store_true", help="all combinations of options")
    args = parser.parse_args()
    options = combinations()
    rewards = [(o, Tags(**o)) for o in (options if args.full else options[::3])]
    default = Tags()
    print(
        f"{len(rewards)} combinations of options\n{'text':24s}{'default':>9s}{'worst':>9s}  under"
    )
    for name, text in hostile(args.size).items():
        worst_ms, worst = max(((cpu_ms(r, text), o) for o, r in rewards), key=lambda pair: pair[0])
        worst_ms = min(worst_ms, cpu_ms(Tags(**worst), text, 5))
        changed = ", ".join(f"{k}={v!r}" for k, v in worst.items() if v != _CHOICES[k][0])
        print(f"{name:24s}{cpu_ms(default, text, 3):9.2f}{worst_ms:9.2f}  {changed}")


if __name__ == "__main__":
    main()
