"""A run that goes on: the same, number for number, and in the directory of its run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from short_runs import learnt, metrics_file, ours, said, same, theirs, trained
from test_run import fails, grpo, project  # noqa: F401

from grpo_core import Completion, reward
from grpo_core.errors import ConfigError
from grpo_core.recorded.read import read_record


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


# The command


def train(*arguments):
    return grpo("train", "run.toml", "--set", "train.save_steps=1", *arguments)


def test_train_resume_goes_on_in_the_directory(project):  # noqa: F811
    run = project / "runs/first"
    whole_run = train("--set", "run.dir=runs/whole", "--set", "train.max_steps=4")
    assert whole_run.exit_code == 0, whole_run.output
    train()

    result = train("--set", "train.max_steps=4", "--resume")

    assert result.exit_code == 0, result.output
    assert "going on with runs/first after step 2\n" in result.output
    assert texts_of(run) == texts_of(project / "runs/whole")
    for name in ("model/model.safetensors", "checkpoints/checkpoint-3/model.safetensors"):
        assert (run / name).read_bytes() == (project / "runs/whole" / name).read_bytes()
    assert [p for p in files(run) if "partial" in p] == []


def test_train_resume_of_the_config_in_the_directory(project):  # noqa: F811
    train()
    (project / "elsewhere").mkdir()

    result = grpo("train", "runs/first/config.toml", "--set", "train.max_steps=3", "--resume")

    assert result.exit_code == 0, result.output
    assert "going on with runs/first after step 2\n" in result.output
    assert sorted(texts_of(project / "runs/first")) == [1, 2, 3]


def test_train_resume_without_a_run_begins_one(project):  # noqa: F811
    result = train("--resume")

    assert result.exit_code == 0, result.output
    assert "there is no run to go on with; a new one begins\n" in result.output
    assert (project / "runs/first/model").is_dir()


def test_train_resume_takes_the_last_numbered_run(project):  # noqa: F811
    file = project / "run.toml"
    file.write_text(file.read_text().replace('[run]\ndir = "runs/first"\n', ""))
    train()
    train()

    result = train("--resume", "--set", "train.max_steps=3")

    assert "going on with runs/run-002 after step 2\n" in result.output


def test_train_resume_without_a_checkpoint_begins_anew(project):  # noqa: F811
    train("--set", 'train.save_strategy="no"')
    before = texts_of(project / "runs/first")

    result = train("--resume")

    assert "going on with runs/first from the start, since there is no checkpoint" in result.output
    assert texts_of(project / "runs/first") == before
    assert len(list((project / "runs/first/completions/superseded").iterdir())) == 2


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["rewards.format.weight=0.7"], "  - rewards.format.weight was 0.5 and is 0.7\n"),
        (
            ['rewards.format.options={ mode = "strict" }'],
            '  - rewards.format.options.mode was "soft" and is "strict"\n',
        ),
        (["data.limit=6"], "  - data.rows was 8 and is 6\n"),
        (['rewards.more.use="rewards.py:untagged"'], "  - rewards.more is new (rewards.py:untagg"),
    ],
)
def test_train_resume_of_another_run_shows_the_difference_and_stops(
    project,  # noqa: F811
    capsys,
    monkeypatch,
    settings,
    line,
):
    train()
    before = files(project / "runs")
    given = [part for text in settings for part in ("--set", text)]

    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--resume", *given)

    assert code == 2
    assert "going on with runs/first, which is another run now:\n" in error
    assert line in error
    assert "--allow-changed goes on all the same" in error
    assert files(project / "runs") == before


def test_train_resume_shows_changed_code_and_data(project, capsys, monkeypatch):  # noqa: F811
    train()
    with (project / "rewards.py").open("a") as file:
        file.write("# another\n")
    with (project / "train.jsonl").open("a") as file:
        file.write('{"prompt": "9+1=", "answer": "10"}\n')

    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--resume")

    assert code == 2
    assert "  - rewards.correct: its code was changed (rewards.py:is_answer)\n" in error
    assert "  - data.rows was 8 and is 9\n  - data: its content is not what it was\n" in error


def test_train_resume_that_allows_changes_keeps_them_in_the_manifest(project):  # noqa: F811
    train()

    result = train(
        *("--resume", "--allow-changed", "--set", "rewards.format.weight=0.7"),
        *("--set", "train.max_steps=3"),
    )

    assert result.exit_code == 0, result.output
    manifest = json.loads((project / "runs/first/manifest.json").read_text())
    [entry] = manifest["resumed"]
    assert entry["changed"] == ["rewards.format.weight was 0.5 and is 0.7"]
    assert entry["step"] == 2
    assert manifest["rewards"]["format"]["weight"] == 0.7
    weights = [b.weights.tolist() for b in read_record(project / "runs/first")]
    assert weights == [[0.5, 1.0], [0.5, 1.0], [0.7, 1.0]]


def test_train_resume_removes_what_is_half_there(project):  # noqa: F811
    train()
    run = project / "runs/first"
    half = run / "checkpoints/checkpoint-3"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    (run / "completions/.step-000003-r0.parquet.partial").write_bytes(b"half")
    (run / "model.partial").mkdir()
    (run / "manifest.json.partial").write_text("half")
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "rew')

    result = train("--resume", "--set", "train.max_steps=3")

    assert result.exit_code == 0, result.output
    assert f"removed {half.relative_to(project)}: the process ended before" in result.output
    assert [p for p in files(run) if "partial" in p] == []
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in lines if "loss" in row] == [1, 2, 3]


def test_train_resume_of_something_else_is_refused(project, capsys, monkeypatch):  # noqa: F811
    (project / "runs/first").mkdir(parents=True)
    (project / "runs/first/notes.txt").write_text("mine")

    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--resume")

    assert code == 2
    assert "run.dir: runs/first is there and no run of grpo train" in error


def test_train_allow_changed_alone_is_refused(project, capsys, monkeypatch):  # noqa: F811
    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--allow-changed")

    assert (code, error) == (2, "error: --allow-changed goes with --resume\n")


def test_two_processes_cannot_train_in_one_directory(project, capsys, monkeypatch):  # noqa: F811
    from grpo_core.record import RunDir

    train()
    with RunDir.opened(project / "runs/first").locked():
        code, error = fails(
            capsys, monkeypatch, "train", "run.toml", "--resume", "--set", "train.save_steps=1"
        )

    assert code == 2
    assert "another process is training in runs/first; end it first" in error


def test_script_that_resumes_with_another_reward_is_stopped(texts, small):
    small |= {"save_strategy": "steps", "save_steps": 1, "max_steps": 1}
    trained(ours({"length": {"use": length, "weight": 0.5}}, texts, small))
    again = ours({"length": length}, texts, small)

    with pytest.raises(ConfigError, match=r"rewards.length.weight was 0.5 and is 1.0"):
        again.train(resume_from_checkpoint=str(Path(small["output_dir"]) / "checkpoint-1"))


def test_train_resume_evaluates_as_a_run_without_a_stop(project):  # noqa: F811
    held_out = ("--set", "eval.fraction=0.25", "--set", "eval.every=2")
    train(*held_out, "--set", "run.dir=runs/whole", "--set", "train.max_steps=4")
    train(*held_out)

    train(*held_out, "--set", "train.max_steps=4", "--resume")

    evaluated = [
        [(b.step, b.part, [c.text for c in b.completions]) for b in read_record(run, "eval")]
        for run in (project / "runs/first", project / "runs/whole")
    ]
    assert evaluated[0] == evaluated[1]
    assert {step for step, _, _ in evaluated[0]} == {0, 2, 4}
