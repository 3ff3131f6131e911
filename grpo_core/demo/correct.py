"""The demo's own reward, kept in a file: `use = "correct.py:correct"`."""

from grpo_core import Completion, reward


@reward(range=(0.0, 1.0), isolation="inline")
def correct(completion: Completion, answer: str) -> float:
    """1.0 if the text inside the last <answer> block is the gold answer, else 0.0.

    A block counts once it is closed. White space at its ends is ignored and digits are compared
    as text: `019` is not `19`. Deterministic, never missing.

    How a lazy model could cheat: several blocks do not help, since only the last one is read, but
    an answer without any reasoning earns the point; `format/tags` asks for the reasoning.
    """
    before, closing, _ = completion.text.rpartition("</answer>")
    _, opening, inside = before.rpartition("<answer>")
    if not (opening and closing):
        return 0.0
    return float(inside.strip() == answer.strip())
