"""The numbers of a new config: valid for any number of rows."""

from __future__ import annotations

import pytest

from grpo_core.batch import batch_problems, rows_problems
from grpo_core.new_run.training import plan_training
from grpo_core.source import held_out


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 49, 50, 64, 1000, 7473, 10**6])
def test_batches_and_held_out_rows_fit_the_data(n):
    made = plan_training(n, None)

    train = {
        "num_generations": made.generations,
        "per_device_train_batch_size": made.per_device,
        "gradient_accumulation_steps": made.accumulation,
    }
    held = 0 if made.fraction is None else len(held_out(n, made.fraction, 0))
    assert held == made.n_held
    assert (held > 0) is (n >= 50)
    assert held <= 70
    assert batch_problems(train) == []
    assert rows_problems(train, n - held, "data") == []


def test_long_runs_end_after_200_steps():
    assert plan_training(256, None).max_steps is None  # 61 steps an epoch: 183 in three
    assert plan_training(7473, None).max_steps == 200


@pytest.mark.parametrize(("positions", "reply"), [(None, 256), (8192, 256), (100, 50), (1, 1)])
def test_reply_leaves_half_of_the_positions_to_the_prompt(positions, reply):
    assert plan_training(8, positions).reply == reply
