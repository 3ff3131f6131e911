"""`grpo train --resume`: where it goes on, what stops it, and what it clears away."""

from __future__ import annotations

import json
import shutil

import pytest
from short_runs import said
from test_resume import files, texts_of
from test_run import fails, grpo, project  # noqa: F401

from grpo_core.record import RunDir
from grpo_core.recorded.read import read_record


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
        (["train.temperature=0.5"], "  - train.temperature was 0.7 and is 0.5\n"),
        (['train.scale_rewards="none"'], '  - train.scale_rewards was "group" and is "none"\n'),
        (["model.lora={r=2}"], "  - model.lora was not set and is {"),
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


def test_train_resume_says_which_other_settings_differ(project, caplog):  # noqa: F811
    train()

    result = train("--resume")
    assert [text for text in said(caplog) if text.startswith("going on")] == []

    result = train("--resume", "--set", "train.max_steps=3", "--set", "train.weight_decay=0.1")

    assert result.exit_code == 0, result.output
    assert [text for text in said(caplog) if text.startswith("going on")] == [
        "going on with runs/first: train.max_steps was 2 and is 3",
        "going on with runs/first: train.weight_decay was 0.0 and is 0.1, but the optimizer goes "
        "on with that of the checkpoint",
    ]


def test_learning_rate_of_a_run_that_goes_on_is_the_one_asked_for(project):  # noqa: F811
    """The checkpoint's schedule is linear over four steps: half of 1e-6 is left behind step 2."""
    train("--set", "train.max_steps=4", "--set", "train.learning_rate=1e-6")
    run = project / "runs/first"
    for step in (3, 4):
        shutil.rmtree(run / f"checkpoints/checkpoint-{step}")

    for rate in ("1e-7", "1e-7", "1e-5"):
        result = train(
            *("--set", "train.max_steps=4", "--resume", "--set", f"train.learning_rate={rate}")
        )
        assert result.exit_code == 0, result.output
        lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
        rates = [row["learning_rate"] for row in lines if "loss" in row]
        assert rates[:2] == pytest.approx([1e-6, 7.5e-7])
        assert rates[2:] == pytest.approx([float(rate) / 2, float(rate) / 4])
        for step in (3, 4):
            shutil.rmtree(run / f"checkpoints/checkpoint-{step}")


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
    assert entry["changed"] == [
        "rewards.format.weight was 0.5 and is 0.7",
        "train.max_steps was 2 and is 3",
    ]
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
    train()
    with RunDir.opened(project / "runs/first").locked():
        code, error = fails(
            capsys, monkeypatch, "train", "run.toml", "--resume", "--set", "train.save_steps=1"
        )

    assert code == 2
    assert "another process is training in runs/first; end it first" in error


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
