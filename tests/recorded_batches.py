"""A batch of a made-up generation, with every kind of cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from grpo_core import Completion, Outcome
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.table import ScoreTable

NAN = float("nan")


def batch_of(step: int = 1, **changes: Any) -> RecordedBatch:
    """Two groups of two; rewards a, a shadow s, and b."""
    a = [
        Outcome(1.0, "scored", "all of it", {"n": 2.0}),
        Outcome(None, "skipped", "no gold"),
        Outcome(None, "failed", "half \udc80"),
        Outcome(0.0, "timed_out", "later than 1 s"),
    ]
    s = [Outcome(0.25)] * 4
    b = [Outcome(0.5), Outcome(0.1), Outcome(0.5), Outcome(0.5)]
    seconds = [[0.5, 0.25, 0.125, 1.0], [0.0] * 4, [0.0] * 4]
    chat = [{"role": "system", "content": "Add."}, {"role": "user", "content": "1+1="}]
    reply = [{"role": "assistant", "content": "2", "reasoning_content": "easy"}]
    completions = [
        Completion.from_data("x", "p", token_ids=[5, 2], truncated=False, columns={"prompt": "p"}),
        Completion.from_data("", "p", token_ids=[], truncated=False, columns={"prompt": "p"}),
        Completion.from_data(
            reply,
            chat,
            raw_text="2</s>",
            prefill="<think>\n",
            truncated=True,
            columns={"prompt": chat, "gold": {"n": [1, None]}, "ä": NAN},
        ),
        Completion.from_data("½", None, columns={"prompt": None}),
    ]
    given: dict[str, Any] = {
        "step": step,
        "mode": "train",
        "part": 1,
        "rank": 0,
        "group_size": 2,
        "scale": "group",
        "aggregate": "sum_then_normalize",
        "max_steps": 10,
        "rewards": {"a": {"use": "x/a"}, "s": {"use": "x/s"}, "b": {"use": "x/b"}},
        "counted": (0, 2),
        "completions": completions,
        "table": ScoreTable.from_columns(("a", "s", "b"), (a, s, b), seconds, 4),
        "effective": np.array([[1.0, 0.5], [1.0, 0.1], [0.0, 0.5], [0.0, 0.5]]),
        "weights": np.array([1.0, -0.3]),
        "totals": np.array([0.85, 0.97, NAN, -0.15]),
        "advantages": np.array([-0.7, 0.7, 0.0, 0.1]),
        "size": 4,
    }
    return RecordedBatch(**given | changes)
