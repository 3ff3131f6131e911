"""Trainings on two processes: the same as on one, and they stop together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import rank_runs
from rank_runs import pair  # noqa: F401

from grpo_core import CompositeReward, group_relative_advantages
from grpo_core.recorded.read import read_record

CONFIG = """
[model]
name = "{model}"

[data]
path = "train.jsonl"

[rewards.tags]
use = "format/tags"

[train]
max_steps = 3
per_device_train_batch_size = 4
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 4
logging_steps = 1
save_strategy = "no"
learning_rate = 1e-2
kl_coef = 0.0
temperature = 1.0
"""

pytestmark = pytest.mark.slow


def write_config(folder, model):
    rows = [{"prompt": f"{i}+1="} for i in range(8)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "run.toml").write_text(CONFIG.format(model=model))


def recorded(folder, mode="train"):
    return list(read_record(Path(folder) / "out/run-001", mode))


def test_two_processes_score_as_one_does(pair, tmp_path, monkeypatch):  # noqa: F811
    two = pair("groups")
    assert two.join() == [0, 0], two.printed(0) + two.printed(1)
    told = [two.told(0), two.told(1)]

    batches = recorded(tmp_path)
    assert [len(b.completions) for b in batches] == [12, 12, 12]
    # Each group was seen once, whole, by one of them: the first and third of a step by rank 0.
    seen = [Path(tmp_path / f"groups-{r}.txt").read_text().split() for r in (0, 1)]
    prompts = [c.prompt for b in [*batches, *recorded(tmp_path, "eval")] for c in b.completions]
    assert Counter(seen[0] + seen[1]) == {
        f"{p}{int(p.split('+')[0]) + 1}": n // 4 for p, n in Counter(prompts).items()
    }
    assert seen[0][:2] + seen[1][:1] == [
        f"{batches[0].completions[i].prompt}{batches[0].completions[i].columns['answer']}"
        for i in (0, 8, 4)
    ]
    # One process on the same completions.
    monkeypatch.chdir(tmp_path)
    composite = CompositeReward(rank_runs.REWARDS)
    for i, batch in enumerate(batches):
        table = composite.score(batch.completions, group_size=4, mode="train")
        combined = composite.combined(table, 4, mode="train")
        np.testing.assert_array_equal(batch.table.values, table.values)
        np.testing.assert_array_equal(batch.effective, combined.effective)
        np.testing.assert_array_equal(batch.totals, combined.totals)
        statuses = [[o.status for o in column] for column in batch.table.outcomes]
        assert statuses == [[o.status for o in column] for column in table.outcomes]
        # What each was handed to train on is its share of what the record has.
        advantages = group_relative_advantages(combined.effective, composite.weights, 4)
        np.testing.assert_allclose(batch.advantages, advantages, atol=1e-6)
        theirs = [x for of_rank in told for x in of_rank["advantages"][i]]
        np.testing.assert_allclose(theirs, advantages, atol=1e-5)
        # The log has the whole batch.
        log = told[0]["logs"][i]
        present = table.values[:, 0][~np.isnan(table.values[:, 0])]
        assert log["grpo/letter/raw_mean"] == pytest.approx(present.mean(), abs=1e-4)
        assert log["grpo/letter/failed"] == pytest.approx(table.share(0, "failed"), abs=1e-6)
    assert sum(np.isnan(b.table.values[:, 0]).sum() for b in batches) > 0  # fill had work
    assert told[0]["weights"] == told[1]["weights"]
    # What a function logs of rows that the other process holds comes back to them.
    assert told[0]["seen"] == told[0]["completions"]


def test_budget_counts_the_cells_of_all(pair, tmp_path):  # noqa: F811
    two = pair("budget")
    assert two.join() == [0, 0], two.printed(0)
    first, second = two.told(0), two.told(1)

    assert first == second
    assert first["error"] == "RewardError"
    assert first["step"] == 2  # half failed in steps 1 and 2, all in step 3
    assert "failed on 12 of 12" in first["text"]
    assert first["text"].endswith("training stopped after step 2; checkpoint: out/checkpoint-2")
    assert (tmp_path / "out/checkpoint-2/rng_state_1.pth").is_file()
    assert "rank 0" in first["text"]


def test_a_failure_on_one_process_stops_both_with_the_same_words(pair):  # noqa: F811
    two = pair("raising")
    assert two.join() == [0, 0], two.printed(0)

    assert two.told(0) == two.told(1)
    assert two.told(0)["error"] == "RewardError"
    assert 'its on_error is "raise"' in two.told(0)["text"]
    assert "rows 6 to 11: no gold" in two.told(0)["text"]


def test_an_exception_on_one_process_stops_both_with_a_checkpoint(pair):  # noqa: F811
    two = pair("fault")
    assert two.join() == [0, 0], two.printed(0)

    assert two.told(0) == two.told(1)
    assert two.told(0) == {
        "error": "RankError",
        "text": "rank 1: ValueError: half a character\n"
        "training stopped after step 1; checkpoint: out/checkpoint-1",
    }


def test_checkpoint_is_whole_with_the_parts_of_all(pair, tmp_path):  # noqa: F811
    two = pair("half")
    assert two.join() == [0, 0], two.printed(0)

    assert two.told(0) == two.told(1)
    assert two.told(0)["error"] == "RunDirError"
    wrong = "rank 1: out/checkpoint-2 cannot be written: No space left on device"
    assert two.told(0)["text"] == (
        f"{wrong}\ntraining stopped after step 2; no checkpoint could be saved ({wrong}); "
        "the last whole one is out/checkpoint-1"
    )
    assert sorted(p.name for p in (tmp_path / "out").glob("checkpoint-*")) == ["checkpoint-1"]


def test_one_is_waited_for_longer_outside_of_the_scores(pair):  # noqa: F811
    two = pair("talk")
    assert two.join(ranks=(0,))[0] == 0, two.printed(0)

    assert two.told(0) == {
        "did": "saved",
        "error": "rank 1 did not come to the record within 1 s; if a reward needs longer, raise "
        "batch_timeout_s. Its own output says more",
        "in_all": False,
    }


@pytest.mark.parametrize(
    ("scenario", "code", "said"),
    [
        ("ends", 3, "rank 1 has ended."),
        ("hangs", None, "rank 1 did not come to the exchange of scores within 3 s; if a reward"),
    ],
)
def test_the_others_name_a_process_that_is_gone(pair, scenario, code, said):  # noqa: F811
    two = pair(scenario)
    assert two.join(ranks=(0,)) == [0, code], two.printed(0)
    told = two.told(0)

    assert told["error"] == "RankError"
    assert told["text"].startswith(said)
    assert told["text"].endswith(
        "training stopped after step 1; no checkpoint could be saved; "
        "the last whole one is out/checkpoint-1"
    )


def test_script_of_trl_trains_on_two_processes(pair, tmp_path):  # noqa: F811
    two = pair("script")
    assert two.join() == [0, 0], two.printed(0) + two.printed(1)

    assert two.told(0) == two.told(1)
    files = sorted(p.name for p in (tmp_path / "out/run-001/completions").iterdir())
    assert files == [f"step-00000{s}-r{r}.parquet" for s in (1, 2) for r in (0, 1)]
    # The first four of twelve, all of which process 0 holds.
    assert [(len(b.completions), b.size) for b in recorded(tmp_path)] == [(4, 12), (4, 12)]


def test_torchrun_trains_a_config(tmp_path, model_folder):
    write_config(tmp_path, model_folder)
    launcher = ("-m", "torch.distributed.run", "--nproc_per_node", "2", "-m", "grpo_core.cli")
    ran = subprocess.run(
        [sys.executable, *launcher, "train", "run.toml"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert [line.split(" | ")[0] for line in ran.stdout.splitlines() if " | " in line] == [
        "step 1/3",
        "step 2/3",
        "step 3/3",
    ]
    assert ran.stdout.endswith("model: runs/run-001/model\nrun:   runs/run-001\n")
    run = tmp_path / "runs/run-001"
    assert (run / "model/model.safetensors").is_file()
    assert [len(b.completions) for b in read_record(run, "train")] == [8, 8, 8]


def test_wrong_config_is_told_once(pair, tmp_path, model_folder):  # noqa: F811
    write_config(tmp_path, model_folder)
    config = (tmp_path / "run.toml").read_text()
    (tmp_path / "run.toml").write_text(config.replace("format/tags", "format/tagz"))
    two = pair("train")

    assert two.join() == [2, 2], two.printed(0) + two.printed(1)
    assert "rewards.tags.use" in two.printed(0)
    said = "rank 1: error: 1 problem in run.toml: rewards.tags.use: no reward 'format/tagz'"
    assert two.printed(1).startswith(said), two.printed(1)
    assert two.printed(1).count("\n") == 1


def test_what_the_libraries_refuse_leaves_no_directory(pair, tmp_path, model_folder):  # noqa: F811
    write_config(tmp_path, model_folder)
    with (tmp_path / "run.toml").open("a") as file:
        file.write('optim = "lomo"\n')
    two = pair("train")

    assert two.join() == [2, 2], two.printed(0) + two.printed(1)
    assert "the trainer refuses what run.toml asks for: ImportError" in two.printed(0)
    assert two.printed(1).count("\n") == 1, two.printed(1)
    assert list((tmp_path / "runs").iterdir()) == []


def test_interrupt_of_one_process_stops_both_with_a_checkpoint(pair, tmp_path, model_folder):  # noqa: F811
    write_config(tmp_path, model_folder)
    two = pair("interrupted")

    assert two.join() == [130, 130], two.printed(0) + two.printed(1)
    checkpoint = "runs/run-001/checkpoints/checkpoint-1"
    assert f"interrupted after step 1; run: runs/run-001; checkpoint: {checkpoint}\n" in (
        two.printed(0)
    )
    assert (tmp_path / checkpoint / "rng_state_1.pth").is_file()
    # What the last whole step has logged is there, though the signal came within it.
    metrics = (tmp_path / "runs/run-001/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in metrics] == [1]
    assert "Traceback" not in two.printed(0) + two.printed(1)
    assert "step 1" not in two.printed(1)  # the first speaks for all


def test_resumed_on_two_processes_is_the_same(pair):  # noqa: F811
    two = pair("resumed")
    assert two.join(seconds=400) == [0, 0], two.printed(0) + two.printed(1)

    same = {"learnt": True, "2": True, "4": True, "6": True, "7": True}
    assert [two.told(0), two.told(1)] == [same, same]
