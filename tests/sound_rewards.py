"""Three rewards that keep the contract: one of each scope."""

from __future__ import annotations

from grpo_core import Completion, Fail, Score, reward


@reward
def answer_equals(completion: Completion, answer: str, *, strip: bool = True) -> Score:
    """1.0 if the text is the answer, else 0.0."""
    text = completion.text.strip() if strip else completion.text
    return Score(float(text == answer), metrics={"n_chars": len(text)})


@reward(range=(-1.0, 0.0), scope="group", isolation="inline")
class Shortest:
    """0.0 for the shortest text of the group down to -1.0 for the longest."""

    def __init__(self, *, step: int = 1) -> None:
        if step < 1:
            raise ValueError(f"step must be at least 1, got {step}")
        self._step = step

    def __call__(self, completions: list[Completion]) -> list[float]:
        lengths = [len(c.text) // self._step for c in completions]
        low, high = min(lengths), max(lengths)
        return [(low - n) / (high - low) if high > low else 0.0 for n in lengths]


@reward(scope="batch", needs=("truncated",))
async def ends_by_itself(
    completions: list[Completion], mark: list[str | None] | None = None
) -> list[float | Fail]:
    """1.0 if the text was not cut off and ends in its mark, else 0.0; any mark will do if None."""
    marks = [None] * len(completions) if mark is None else mark
    return [
        float(not c.truncated and c.text.endswith(m or (".", "?", "!")))
        for c, m in zip(completions, marks, strict=True)
    ]
