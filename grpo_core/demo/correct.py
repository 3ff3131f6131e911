"""The demo's own reward, kept in a file: `use = "correct.py:correct"`."""

from grpo_core import Completion, reward


@reward(range=(0.0, 1.0))
def correct(completion: Completion, answer: str) -> float:
    """1.0 if the text inside the last <answer> block is the gold answer, else 0.0.

    A block counts once it is closed. White space around the text is ignored, digits are compared as
    text (`019` is not `19`). Deterministic, never missing. A model cannot hedge with several blocks,
    since only the last one is read; it can skip the reasoning, which `format/tags` is there for.
    """
    before, closing, _ = completion.text.rpartition("</answer>")
    _, opening, inside = before.rpartition("<answer>")
    if not (opening and closing):
        return 0.0
    return float(inside.strip() == answer.strip())
