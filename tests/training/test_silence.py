"""A training that can learn nothing says so, once, with the cause, the reward and three rows."""

from __future__ import annotations

import pytest
from short_runs import column, ours, said, theirs, trained

from grpo_core import Completion, Fail, Skip, reward
from grpo_core.training.scored import Warnings

HOSTS = pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])
NEVER_ENDS = {"suppress_tokens": [2]}  # the end of a text
HEADING = "nothing can be learnt from this batch of 8 completions: "


@pytest.fixture
def small(small):
    """Three steps in which not every completion is cut off."""
    return {**small, "max_steps": 3, "max_completion_length": 64, "learning_rate": 1e-6}


@reward(isolation="inline", range=(0.0, 100.0))
def digits(completion: Completion) -> float:
    """Number of digits."""
    return float(sum(c.isdigit() for c in completion.text))


@reward(isolation="inline")
def skips(completion: Completion) -> Skip:
    """Never applies."""
    return Skip("no gold here")


@reward(isolation="inline")
def fails(completion: Completion) -> Fail:
    """Never works."""
    return Fail("judge is down")


@reward(isolation="inline")
def constant(completion: Completion) -> float:
    """0.5."""
    return 0.5


@reward(isolation="inline")
def is_answer(completion: Completion, answer: str) -> float:
    """Whether the text is the answer."""
    return float(completion.text.strip() == answer)


@reward(isolation="inline")
def halves(completion: Completion) -> float:
    """Differs from text to text."""
    return len(completion.text) % 2 / 2


def text_of_silence(caplog):
    """The one warning of silence."""
    [text] = [text for text in said(caplog) if text.startswith("nothing can be learnt")]
    return text


def check(trainer, caplog, first, *, name):
    """One warning in all steps, with this first line, the reward and three rows."""
    assert column(trainer, "grpo/no_signal") == [1.0] * len(column(trainer, "grpo/no_signal"))
    lines = text_of_silence(caplog).splitlines()
    assert lines[0] == HEADING + first
    assert any(f"reward {name!r}" in line for line in lines[:2])
    rows = [line for line in lines if line.startswith("  row ")]
    assert [line.split(":")[0] for line in rows] == ["  row 0", "  row 1", "  row 2"]
    return rows


@HOSTS
def test_all_skipped(texts, small, caplog, host):
    trainer = trained(host({"gold": skips}, texts, small))

    rows = check(
        trainer, caplog, "reward 'gold' skipped all of the 8 rows: no gold here", name="gold"
    )
    assert rows[0].startswith("  row 0: skipped (no gold here), '")
    assert len(said(caplog)) == 1
    # TRL's own number says that all is well.
    assert column(trainer, "frac_reward_zero_std") == [0.0] * 3


@HOSTS
def test_all_failed(texts, small, caplog, host):
    trainer = trained(host({"judge": fails}, texts, small, limits={"max_failed": 1.0}))

    rows = check(
        trainer, caplog, "reward 'judge' failed on all of the 8 rows: judge is down", name="judge"
    )
    assert rows[0].startswith("  row 0: failed (judge is down), '")
    assert len(said(caplog)) == 2  # that it fails, and that nothing is learnt


def test_cause_is_said_once_though_its_reason_differs_from_batch_to_batch(texts, small, caplog):
    @reward(isolation="inline")
    def parses(completion: Completion) -> float:
        """Raises with the text in the message."""
        return float(f"no number: {completion.text}")

    trained(ours({"parses": parses}, texts, small, limits={"max_failed": 1.0}))

    assert "raised ValueError: could not convert" in text_of_silence(caplog)


@HOSTS
def test_constant(texts, small, caplog, host):
    trainer = trained(host({"half": constant}, texts, small))

    check(
        trainer,
        caplog,
        "reward 'half' gave 0.5 on all rows: are the completions in the form that it expects?",
        name="half",
    )


@HOSTS
def test_wrong_column(texts, small, caplog, host):
    """The gold answer stands in `answer`; the reward reads a column of another kind."""
    dataset = texts.add_column("solution", ["see the book"] * 8)
    rewards = {"right": {"use": is_answer, "inputs": {"answer": "solution"}}}
    trainer = trained(host(rewards, dataset, small))

    check(
        trainer,
        caplog,
        "reward 'right' gave 0 on all rows: does it read the right column? It reads 'solution'",
        name="right",
    )


@HOSTS
def test_everything_truncated(texts, small, caplog, host):
    small |= {"max_completion_length": 2, "generation_kwargs": NEVER_ENDS}
    trainer = trained(host({"half": constant}, texts, small))

    check(trainer, caplog, "every completion was cut off; raise max_completion_length", name="half")


@HOSTS
def test_truncated_completions_left_out_of_the_loss(texts, small, caplog, host):
    small |= {"max_completion_length": 4, "generation_kwargs": NEVER_ENDS}
    small["mask_truncated_completions"] = True
    trainer = trained(host({"digits": digits}, texts, small))

    check(
        trainer, caplog, "every completion was cut off; raise max_completion_length", name="digits"
    )
    assert max(column(trainer, "reward_std")) > 0.0
    assert max(column(trainer, "grad_norm")) == 0.0


@HOSTS
def test_weights_zero_through_a_schedule(texts, small, caplog, host):
    weight = {"start": 0.0, "end": 1.0, "steps": 1, "begin": 2}
    trainer = trained(host({"digits": {"use": digits, "weight": weight}}, texts, small))

    check(trainer, caplog, "every weight in force is 0", name="digits")


@HOSTS
def test_gate_that_never_opens(texts, small, caplog, host):
    rewards = {
        "length": {"use": halves, "requires": {"half": 0.75}},
        "half": {"use": constant, "shadow": True},
    }
    trainer = trained(host(rewards, texts, small))

    rows = check(
        trainer,
        caplog,
        "reward 'length' has a gate that never opens: 'half' gave at most 0.5, required is 0.75",
        name="length",
    )
    assert "gate closed by 'half' 0.5" in rows[0]


def test_evaluation_that_has_no_difference_is_not_called_silence(texts, small, caplog):
    trainer = ours({"half": constant}, texts, small, eval_dataset=texts.select([0]))
    trainer.args.per_device_eval_batch_size = 4

    trainer.evaluate()

    assert said(caplog) == []


def test_run_that_has_taught_is_warned_of_after_three_batches_in_a_row():
    warnings = Warnings()

    assert [warnings._is_stuck(silent) for silent in (False, True, True, False, True)] == [
        False
    ] * 5
    assert [warnings._is_stuck(True) for _ in range(3)] == [False, True, True]
    assert Warnings()._is_stuck(True)
