"""Compares `math/answer_equals` with the graders of reasoning-gym, on 20 of its sets.

Each item is answered with its gold, with a gold whose first number is one too large and in other
ways; the report counts the verdicts of both graders and shows where they differ. With `--write`
the golds become the data file of `plugins/grpo-reward-math/tests/test_reasoning_gym.py`.

    pip install reasoning-gym==0.1.25
    python scripts/check_reasoning_gym.py [--items 200] [--shown 3]
    python scripts/check_reasoning_gym.py --items 20 --write FILE.jsonl
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 7
SETS = (
    "basic_arithmetic",
    "chain_sum",
    "complex_arithmetic",
    "count_bits",
    "decimal_arithmetic",
    "decimal_chain_sum",
    "dice",
    "fraction_simplification",
    "gcd",
    "gsm_symbolic",
    "intermediate_integration",
    "lcm",
    "leg_counting",
    "number_format",
    "polynomial_equations",
    "polynomial_multiplication",
    "prime_factorization",
    "products",
    "simple_equations",
    "simple_integration",
)


def is_usable(gold: str) -> bool:
    """False for no answer, and for an integral that sympy left as it was."""
    return bool(gold.strip()) and "Integral(" not in gold


def perturbed(answer: str) -> str:
    """The answer with one added to its first whole number, or with x added to it: another value."""
    if not re.search(r"\d", answer):
        return f"x + {answer}"
    return re.sub(r"\d+", lambda match: str(int(match[0]) + 1), answer, count=1)


def answers(gold: str) -> Iterator[tuple[str, str, bool]]:
    """What a model may write: its kind, the text, and whether it is equal to the gold."""
    yield "the gold", gold, True
    yield "the gold, perturbed", perturbed(gold), False
    bare = gold.strip("$")
    yield "in a box", f"\\boxed{{{bare}}}", True
    yield "behind 'x ='", f"x = {bare}", True
    if re.fullmatch(r"-?\d+", gold):
        yield "with '.0'", f"{gold}.0", True
        yield "as a fraction", f"\\frac{{{2 * int(gold)}}}{{2}}", True
        yield "with a digit more", f"{gold}7", False
        yield "in a sentence", f"The answer is {gold}.", True
        if len(gold.strip("-")) > 3:
            yield "with commas", f"{int(gold):,}", True
    if match := re.fullmatch(r"(-?\d+)/(\d+)", bare):
        yield "not reduced", f"{3 * int(match[1])}/{3 * int(match[2])}", True
        yield "as LaTeX", f"\\frac{{{match[1]}}}{{{match[2]}}}", True
        yield "upside down", f"{match[2]}/{match[1]}", match[2] == match[1].strip("-")
    if "**" in bare:
        yield "with ^", re.sub(r"\*\*(\d+)", r"^\1", bare), True


def check(items: int, shown: int) -> None:
    """Prints a line a set, then the disagreements by kind."""
    rewards = importlib.import_module("grpo_reward_math")
    completion = importlib.import_module("grpo_core").Completion
    reward = rewards.AnswerEquals()
    differ: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    total: Counter[str] = Counter()
    print(f"{'set':28}{'golds':>7}{'unusable':>10}{'verify':>8}{'perturbed':>11}{'differ':>8}")
    for name, item, score_answer in entries(items):
        gold = item["answer"]
        total[f"{name} golds"] += 1
        if not is_usable(gold):
            total[f"{name} unusable"] += 1
            continue
        for kind, text, equal in answers(gold):
            scored = reward(completion(f"<answer>{text}</answer>"), gold)
            ours = getattr(scored, "value", 0.0) >= 0.5
            try:
                theirs = score_answer(text, item)
            except ValueError:  # some sets raise for what they cannot read
                theirs = 0.0
            total[f"{name} {kind}"] += ours
            if ours != equal:
                note = f"WRONG {ours}: {text!r} for {gold!r}: {getattr(scored, 'reason', scored)}"
                differ["ours, against the truth", f"{name}, {kind}"].append(note)
            if ours != (theirs >= 0.5):
                total[f"{name} differ"] += 1
                note = f"{text!r} for {gold!r}: ours {ours:d}, its own {theirs:.3g}"
                differ[f"{kind}, equal: {equal}", name].append(note)
        if total[f"{name} golds"] == items:
            print(line(name, total))
    for (kind, name), notes in sorted(differ.items()):
        print(f"\n{kind}; {name}: {len(notes)}", *notes[:shown], sep="\n  ")


def line(name: str, total: Counter[str]) -> str:
    """The counts of a set."""
    row = [total[f"{name} {key}"] for key in ("golds", "unusable", "the gold")]
    found, differ = total[f"{name} the gold, perturbed"], total[f"{name} differ"]
    return f"{name:28}{row[0]:7}{row[1]:10}{row[2]:8}{found:11}{differ:8}"


def entries(items: int) -> Iterator[tuple[str, Any, Any]]:
    """The items of all sets, with the set's name and its grader."""
    gym = importlib.import_module("reasoning_gym")
    for name in SETS:
        made = gym.create_dataset(name, size=items, seed=SEED)
        for item in made:
            yield name, item, made.score_answer


def write(items: int, file: Path) -> None:
    """Writes the first golds of each set that can be used, and their perturbed forms."""
    golds: defaultdict[str, list[str]] = defaultdict(list)
    for name, item, _ in entries(2 * items):
        if is_usable(item["answer"]):
            golds[name].append(item["answer"])
    rows = [
        {"set": name, "gold": gold, "perturbed": perturbed(gold)}
        for name in SETS
        for gold in golds[name][:items]
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file.write_text(text, encoding="utf-8")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Compare with the graders of reasoning-gym.")
    parser.add_argument("--items", type=int, default=200, help="items a set")
    parser.add_argument("--shown", type=int, default=3, help="disagreements shown of each kind")
    parser.add_argument("--write", type=Path, help="write the golds to this file instead")
    args = parser.parse_args()
    if importlib.util.find_spec("reasoning_gym") is None:
        parser.exit(2, "error: it is not installed: pip install reasoning-gym==0.1.25\n")
    if args.write:
        write(args.items, args.write)
    else:
        check(args.items, args.shown)


if __name__ == "__main__":
    main()
