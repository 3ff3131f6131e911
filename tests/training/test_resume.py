"""A run that goes on: the same, number for number, and in the directory of its run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from short_runs import learnt, metrics_file, ours, said, same, theirs, trained
from test_run import fails, grpo, project  # noqa: F401
from transformers import TrainerCallback

from grpo_core import Completion, reward
from grpo_core.errors import ConfigError, RewardError
from grpo_core.recorded.read import read_record
from grpo_core.training.checkpoints import last_whole


@reward(isolation="inline", range=(0.0, 8.0))
def length(completion: Completion) -> float:
    """Length of the text."""
    return float(len(completion.text))


def texts_of(run):
    """What each step was trained on."""
    return {
        b.step: [(c.prompt, c.text) for c in b.completions] for b in read_record(Path(run), "train")
    }


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Ten steps of a run with four steps an epoch and a checkpoint of each."""
    from datasets import Dataset

    folder = tmp_path_factory.mktemp("whole")
    rows = {"prompt": [f"{i}+1=" for i in range(8)], "answer": [str(i + 1) for i in range(8)]}
    small = {
        **{"output_dir": str(folder), "per_device_train_batch_size": 4, "num_generations": 4},
        **{"gradient_accumulation_steps": 2, "max_completion_length": 8, "max_steps": 10},
        **{"logging_steps": 1, "learning_rate": 1e-2, "beta": 0.0, "temperature": 1.0},
        **{"report_to": "none", "disable_tqdm": True, "save_steps": 1},
    }
    dataset = Dataset.from_dict(rows)
    trainer = trained(ours({"length": length}, dataset, small))
    assert learnt(trainer)
    return trainer, dataset, small, folder


# In the middle of epoch 1, at its end, in the middle of epoch 2, at its end, in epoch 3.
@pytest.mark.parametrize("step", [2, 4, 6, 8, 9])
def test_resumed_run_is_the_same_as_one_without_a_stop(whole, tmp_path, step):
    trainer, dataset, small, folder = whole
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    expected = texts_of(folder / "run-001")
    assert len({tuple(p for p, _ in texts) for texts in expected.values()}) > 4  # orders differ

    resumed = ours({"length": length}, dataset, {**small, "output_dir": str(out)})
    resumed.train(resume_from_checkpoint=str(out / f"checkpoint-{step}"))

    assert texts_of(out / "run-001") == expected
    assert same(trainer, resumed)
    lines = [row for row in metrics_file({"output_dir": str(out)}) if "loss" in row]
    assert [row["step"] for row in lines] == list(range(1, 11))
    superseded = [p.name for p in (out / "run-001/completions/superseded").iterdir()]
    assert sorted(superseded) == [f"step-{s:06d}-r0.parquet" for s in range(step + 1, 11)]
    aside = (out / "run-001/metrics.superseded.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in aside][: 10 - step] == list(range(step + 1, 11))
    [entry] = json.loads((out / "run-001/manifest.json").read_text())["resumed"]
    assert (entry["step"], entry["changed"]) == (step, [])


# Before the first step, in the middle of an epoch, between two.
@pytest.mark.parametrize("step", [0, 2, 4])
def test_run_that_was_stopped_within_a_step_goes_on_the_same(whole, tmp_path, step):
    """The step has drawn random numbers for completions that are thrown away."""
    trainer, dataset, small, folder = whole
    small = {**small, "output_dir": str(tmp_path / "out"), "save_strategy": "no"}
    calls = []

    @reward(isolation="inline", range=(0.0, 8.0))
    def stops(completion: Completion) -> float:
        calls.append(1)
        if len(calls) > 8 * step:
            raise ValueError("no judge")
        return float(len(completion.text))

    with pytest.raises(RewardError, match=f"checkpoint: .*checkpoint-{step}$"):
        ours({"length": stops}, dataset, small).train()
    resumed = ours({"length": length}, dataset, small)
    resumed.train(resume_from_checkpoint=True, allow_changed=True)

    assert texts_of(tmp_path / "out/run-001") == texts_of(folder / "run-001")
    assert same(trainer, resumed)


def test_run_that_was_finished_is_not_trained_further(whole, caplog):
    trainer, dataset, small, folder = whole

    resumed = ours({"length": length}, dataset, small)
    resumed.train(resume_from_checkpoint=str(folder / "checkpoint-10"))

    assert said(caplog)[-1] == "all 10 steps of the run were done before"
    assert same(trainer, resumed)


def test_resume_within_a_generation_is_warned_of(texts, small, caplog):
    small |= {"steps_per_generation": 2, "max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    small["per_device_train_batch_size"] = 4
    trained(ours({"length": length}, texts, small))

    for step, warned in ((1, True), (2, False)):
        caplog.clear()
        small["max_steps"] = 4
        again = ours({"length": length}, texts, small)
        again.train(resume_from_checkpoint=str(Path(small["output_dir"]) / f"checkpoint-{step}"))
        assert any("step 1 lies within a generation" in text for text in said(caplog)) == warned


def test_resume_of_true_takes_the_last_whole_checkpoint(texts, small):
    small |= {"save_strategy": "steps", "save_steps": 1}
    trained(ours({"length": length}, texts, small))
    (Path(small["output_dir"]) / "checkpoint-3").mkdir()  # as a killed process leaves one

    again = ours({"length": length}, texts, small | {"max_steps": 3})
    again.train(resume_from_checkpoint=True)

    assert sorted(texts_of(Path(small["output_dir"]) / "run-001")) == [1, 2, 3]


def test_script_of_trl_goes_on_in_the_run_of_its_checkpoint(texts, small, caplog):
    small |= {"save_strategy": "steps", "save_steps": 1}
    trained(theirs({"length": {"use": length, "weight": 0.5}}, texts, small, record="all"))

    again = theirs({"length": length}, texts, small | {"max_steps": 3}, record="all")
    again.train(resume_from_checkpoint=str(Path(small["output_dir"]) / "checkpoint-2"))

    run = Path(small["output_dir"]) / "run-001"
    assert sorted(texts_of(run)) == [1, 2, 3]
    assert f"going on with {run}: rewards.length.weight was 0.5 and is 1.0" in said(caplog)


def test_script_that_resumes_with_another_reward_is_stopped(texts, small):
    small |= {"save_strategy": "steps", "save_steps": 1, "max_steps": 1}
    trained(ours({"length": {"use": length, "weight": 0.5}}, texts, small))
    again = ours({"length": length}, texts, small)

    with pytest.raises(ConfigError, match=r"rewards.length.weight was 0.5 and is 1.0"):
        again.train(resume_from_checkpoint=str(Path(small["output_dir"]) / "checkpoint-1"))


def test_checkpoints_of_steps_that_came_again_are_not_gone_on_with(texts, small):
    """Three steps; behind the first it goes on, and is ended before its next checkpoint."""
    small |= {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}
    out = Path(small["output_dir"])
    trained(ours({"length": length}, texts, small))
    again = ours({"length": length}, texts, small | {"max_steps": 4, "save_steps": 9})
    again.add_callback(Ends())
    with pytest.raises(KeyboardInterrupt):
        again.train(resume_from_checkpoint=str(out / "checkpoint-1"))

    last = ours({"length": length}, texts, small | {"max_steps": 4})
    last.train(resume_from_checkpoint=True)

    assert sorted(texts_of(out / "run-001")) == [1, 2, 3, 4]
    resumed = json.loads((out / "run-001/manifest.json").read_text())["resumed"]
    assert [entry["step"] for entry in resumed] == [1, 1]
    assert not (out / "run-002").exists()


def test_script_of_trl_that_goes_on_with_a_left_checkpoint_records_elsewhere(texts, small, caplog):
    """TRL itself takes the checkpoint with the highest number."""
    small |= {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}
    out = Path(small["output_dir"])
    trained(theirs({"length": length}, texts, small, record="all"))
    again = theirs({"length": length}, texts, small | {"save_steps": 9}, record="all")
    again.add_callback(Ends())
    with pytest.raises(KeyboardInterrupt):
        again.train(resume_from_checkpoint=str(out / "checkpoint-1"))

    last = theirs({"length": length}, texts, small | {"max_steps": 4}, record="all")
    last.train(resume_from_checkpoint=True)

    assert sorted(texts_of(out / "run-001")) == [1, 2]
    assert sorted(texts_of(out / "run-002")) == [4]
    assert f"steps from 4 on are recorded in {out / 'run-002'}" in "".join(said(caplog))


class Ends(TrainerCallback):
    """Ends the training behind its first step, as a person does."""

    def on_step_end(self, args, state, control, **kwargs):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "rng_state.pth"])
@pytest.mark.parametrize("left", [0, 5, 200, -1])
def test_checkpoint_of_which_a_file_is_cut_off_is_not_whole(whole, tmp_path, name, left):
    """So a machine that crashed may leave one: the trainer's state is there."""
    *_, folder = whole
    for step in (5, 6):
        shutil.copytree(folder / f"checkpoint-{step}", tmp_path / f"checkpoint-{step}")
    assert last_whole(tmp_path) == tmp_path / "checkpoint-6"
    file = tmp_path / "checkpoint-6" / name

    os.truncate(file, left if left >= 0 else file.stat().st_size - 1)

    assert last_whole(tmp_path) == tmp_path / "checkpoint-5"
