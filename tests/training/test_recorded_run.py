"""What a real training leaves in its record, against what the trainer computed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from safetensors import SafetensorError
from short_runs import metrics_file, ours, plain, theirs, trained

from grpo_core import Completion, CompositeReward, Fail, Score, Skip, reward, to_trl
from grpo_core.errors import ConfigError, RewardError, RunDirError
from grpo_core.recorded.read import read_record

COMBINATIONS = [
    ("group", "sum_then_normalize"),
    ("batch", "sum_then_normalize"),
    ("none", "sum_then_normalize"),
    ("group", "normalize_then_sum"),
]


@reward(isolation="inline", range=(0.0, 127.0))
def first_letter(completion: Completion) -> Score | Skip | Fail:
    """Number of the first letter; some are skipped, some fail."""
    n = ord(completion.text[0]) if completion.text else 0
    if n % 7 == 0:
        return Skip("a seventh")
    return Fail("a fifth") if n % 5 == 0 else Score(n / 3, f"letter {n}", {"n": n})


@reward(isolation="inline")
def even(completion: Completion) -> float:
    """1.0 if the length is even."""
    return float(len(completion.text) % 2 == 0)


@reward(isolation="inline")
def spaces(completion: Completion, answer: str) -> float:
    """Share of letters behind the answer's first."""
    return sum(c > answer[0] for c in completion.text) / max(len(completion.text), 1)


REWARDS = {
    "letter": {"use": first_letter, "weight": 0.25},
    "even": {"use": even, "shadow": True},
    "spaces": {"use": spaces, "requires": {"even": 0.5}, "weight": 1.5},
    "rising": {"use": spaces, "weight": {"start": 0.0, "end": 1.0, "steps": 3}},
}
# A number in place of the schedule, where to_trl takes none.
FIXED = {**REWARDS, "rising": {"use": spaces, "missing": "zero"}}


def advantages_of(trainer):
    """Keeps the advantages that the trainer computes, a list for each generation."""
    kept, inner = [], trainer._generate_and_score_completions

    def outer(inputs):
        made = inner(inputs)
        kept.append(made["advantages"].double().numpy())
        return made

    trainer._generate_and_score_completions = outer
    return kept


@pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])
@pytest.mark.parametrize(("scale", "aggregate"), COMBINATIONS)
def test_recorded_advantages_are_those_of_the_trainer(texts, small, scale, aggregate, host):
    small |= {"scale_rewards": scale, "multi_objective_aggregation": aggregate, "max_steps": 3}
    small["learning_rate"] = 0.0
    rewards = FIXED if host is theirs and aggregate == "normalize_then_sum" else REWARDS
    recorded = {"record": "all"} if host is theirs else {}
    trainer = host(rewards, texts, small, **recorded)
    kept = advantages_of(trainer)

    trainer.train()

    batches = list(read_record(Path(small["output_dir"]) / "run-001"))
    assert [b.step for b in batches] == [1, 2, 3]
    for batch, trained_on in zip(batches, kept, strict=True):
        assert np.abs(batch.advantages - trained_on).max() < 1e-5
        assert (batch.scale, batch.aggregate) == (scale, aggregate)
    assert np.abs(np.concatenate(kept)).max() > 0.1


@pytest.fixture
def run(small):
    return Path(small["output_dir"]) / "run-001"


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def letters(completions, **kwargs):
    return [float(len(text)) for text in completions]


def test_record_has_a_row_for_each_completion_with_every_cell(texts, small, run):
    trained(ours(REWARDS, texts, small))

    assert files(run / "completions") == ["step-000001-r0.parquet", "step-000002-r0.parquet"]
    table = parquet.read_table(run / "completions" / "step-000002-r0.parquet")
    rows = table.to_pylist()
    assert len(rows) == 8
    assert [(r["group"], r["index_in_group"]) for r in rows] == [
        (g, i) for g in (0, 1) for i in range(4)
    ]
    assert {r["step"] for r in rows} == {2}
    for row in rows:
        n = ord(row["completion"][0])
        given = json.loads(row["columns"])
        assert given == {"prompt": row["prompt"], "answer": given["answer"]}
        assert row["prompt"] == f"{int(given['answer']) - 1}+1="
        status = "skipped" if n % 7 == 0 else "failed" if n % 5 == 0 else "scored"
        reason = {"skipped": "a seventh", "failed": "a fifth", "scored": f"letter {n}"}[status]
        assert (row["letter/status"], row["letter/reason"]) == (status, reason)
        assert row["letter/value"] == (n / 3 if status == "scored" else None)
        assert row["letter/metrics"] == (f'{{"n": {float(n)}}}' if status == "scored" else None)
        assert row["letter/seconds"] > 0
        assert row["letter/weight"] == 0.25
        assert row["rising/weight"] == pytest.approx(1 / 3)  # step 2 of 3 begins at 1
        assert row["even/value"] == float(len(row["completion"]) % 2 == 0)
        assert row["truncated"] == (len(row["token_ids"]) == 8 and row["token_ids"][-1] != 2)
    assert "even/effective" not in rows[0]  # a shadow
    assert "raw_text" not in rows[0]


def test_record_of_chats_can_be_scored_again(chats, small, run):
    seen = []

    @reward(isolation="inline")
    def look(completion: Completion, answer: str) -> float:
        """Keeps what it sees."""
        seen.append(completion)
        return 0.5 + 0.1 * len(seen)

    small["max_steps"] = 1
    trained(ours({"look": {"use": look, "weight": 0.1}}, chats, small, record="all"))

    [batch] = read_record(run)
    for was, now in zip(seen, batch.completions, strict=True):
        for name in ("text", "prompt", "prompt_messages", "reply", "token_ids", "truncated"):
            assert getattr(now, name) == getattr(was, name)


@pytest.mark.parametrize(("keep", "rows"), [(1, 4), (4, 4), (5, 8), (100, 8), ("all", 8)])
def test_bounded_record_keeps_whole_groups(texts, small, run, keep, rows):
    small["max_steps"] = 1
    trained(ours({"letters": letters}, texts, small, record=keep))

    [batch] = read_record(run)
    assert len(batch.completions) == rows
    assert batch.size == 8


def test_record_that_is_off_leaves_no_folder(texts, small, run):
    trained(ours({"letters": letters}, texts, small, record="off"))

    assert files(run) == ["manifest.json", "metrics.jsonl"]


@pytest.mark.parametrize("record", [0, -1, "some", 1.5, True, None])
def test_record_of_another_kind_is_refused(texts, small, record):
    with pytest.raises(ConfigError, match='record: expected "all", "off" or how many'):
        ours({"letters": letters}, texts, small, record=record)


def test_script_of_trl_has_no_run_directory_unless_asked(texts, small):
    trained(theirs({"letters": letters}, texts, small))

    assert not list(Path(small["output_dir"]).glob("run-*"))


def test_script_of_trl_that_asks_gets_a_run_directory(texts, small, run):
    trained(theirs({"letters": letters}, texts, small, record="all"))

    assert files(run) == ["completions", "manifest.json", "metrics.jsonl"]
    assert [row["step"] for row in metrics_file(small)] == [1, 2, 2]
    manifest = json.loads((run / "manifest.json").read_text())
    assert list(manifest["rewards"]) == ["letters"]


def test_generations_of_one_step_have_a_file_each(texts, small, run):
    small |= {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2}
    small |= {"steps_per_generation": 1, "max_steps": 1}
    trained(ours({"letters": letters}, texts, small))

    assert files(run / "completions") == ["step-000001-g2-r0.parquet", "step-000001-r0.parquet"]
    assert [(b.step, b.part, len(b.completions)) for b in read_record(run)] == [
        (1, 1, 4),
        (1, 2, 4),
    ]


def test_evaluations_are_recorded_too(texts, small, run):
    small |= {"eval_strategy": "steps", "eval_steps": 1, "max_steps": 1, "num_generations_eval": 2}
    small["per_device_eval_batch_size"] = 4
    held_out = texts.select(range(3))
    trainer = trained(ours({"letters": letters}, texts, small, eval_dataset=held_out))

    names = files(run / "completions")
    assert names == [
        "eval-000001-g2-r0.parquet",
        "eval-000001-r0.parquet",
        "step-000001-r0.parquet",
    ]
    batches = list(read_record(run, "eval"))
    assert [len(b.completions) for b in batches] == [4, 2]
    assert [b.group_size for b in batches] == [2, 2]
    assert [b.mode for b in read_record(run, "train")] == ["train"]
    trainer.evaluate()
    assert "eval-000001-g4-r0.parquet" in files(run / "completions")


def test_advantages_are_null_beside_further_reward_functions_and_said_once(
    texts, small, run, caplog
):
    import trl

    args = trl.GRPOConfig(**small)
    made = to_trl(CompositeReward({"letters": letters}), args, record="all")
    others = [*made.reward_funcs, lambda completions, **kwargs: [1.0] * len(completions)]
    trained(plain(others, texts, args, callbacks=made.callbacks))

    assert [b.advantages for b in read_record(run)] == [None, None]
    [said] = [r.getMessage() for r in caplog.records if "beside these rewards" in r.getMessage()]
    assert said.startswith("the trainer has 1 reward functions beside these rewards")


def test_batch_that_stops_the_run_is_recorded(texts, small, run):
    @reward(isolation="inline")
    def judge(completion: Completion) -> Fail:
        """Fails."""
        return Fail("no judge")

    with pytest.raises(RewardError):
        ours({"judge": judge, "letters": letters}, texts, small).train()

    [batch] = read_record(run)
    assert {o.reason for o in batch.table.outcomes[0]} == {"no judge"}


def full_disk(monkeypatch, after):
    """Lets the disk be full for the record, from a file on."""
    count, inner = [], parquet.write_table

    def write(table, file, **kwargs):
        count.append(file)
        if len(count) > after:
            file.write(b"half a file")
            raise OSError(28, "No space left on device")
        inner(table, file, **kwargs)

    monkeypatch.setattr(parquet, "write_table", write)


def test_full_disk_stops_the_run_with_a_new_checkpoint_where_there_is_room(
    texts, small, run, monkeypatch
):
    full_disk(monkeypatch, after=1)
    trainer = ours({"letters": letters}, texts, small)

    with pytest.raises(RunDirError) as caught:
        trainer.train()

    path = run / "completions" / "step-000002-r0.parquet"
    checkpoint = Path(small["output_dir"]) / "checkpoint-1"
    assert str(caught.value) == (
        f"{path} cannot be written: No space left on device\n"
        f"training stopped after step 1; checkpoint: {checkpoint}"
    )
    assert files(run / "completions") == ["step-000001-r0.parquet"]
    assert (checkpoint / "trainer_state.json").is_file()


FULL = {
    "system": OSError(28, "No space left on device"),
    "safetensors": SafetensorError("I/O error: No space left on device (os error 28)"),
    "torch": RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"),
}


@pytest.mark.parametrize("library", FULL)
def test_full_disk_names_the_last_whole_checkpoint(texts, small, run, monkeypatch, library):
    """Where a checkpoint is what cannot be written, whatever the libraries make of it."""
    inner, count = torch.save, []

    def save(what, path, *args, **kwargs):
        if str(path).endswith("optimizer.pt"):
            count.append(path)
            if len(count) > 1:
                raise FULL[library]
        inner(what, path, *args, **kwargs)

    monkeypatch.setattr(torch, "save", save)
    monkeypatch.setattr("grpo_core.training.checkpoints._free", lambda folder: 0)
    small |= {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}

    with pytest.raises(RunDirError) as caught:
        ours({"letters": letters}, texts, small).train()

    out = Path(small["output_dir"])
    wrong = f"{out / 'checkpoint-2'} cannot be written: No space left on device"
    assert str(caught.value) == (
        f"{wrong}\ntraining stopped after step 2; no checkpoint could be saved ({wrong}); the last "
        f"whole one is {out / 'checkpoint-1'}"
    )
    assert files(out) == ["README.md", "checkpoint-1", "run-001"]


def test_other_error_of_a_checkpoint_keeps_its_text(texts, small, monkeypatch):
    def save(what, path, *args, **kwargs):
        raise RuntimeError("no such device")

    monkeypatch.setattr(torch, "save", save)
    small |= {"save_strategy": "steps", "save_steps": 1}

    with pytest.raises(RunDirError, match="checkpoint-1 cannot be written: no such device\n"):
        ours({"letters": letters}, texts, small).train()
