"""Trainings on two processes; each is forked behind the imports, which take most of its start."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch
import torch.distributed as dist
import transformers
from datasets import Dataset
from tiny_model import make_model, make_tokenizer

import grpo_core.cli
from grpo_core import (
    Completion,
    CompositeReward,
    Fail,
    GRPOConfig,
    GRPOTrainer,
    Score,
    Skip,
    reward,
)
from grpo_core.errors import GrpoError, RankError
from grpo_core.training import seam as seams
from grpo_core.training.completions import CompletionBuilder
from grpo_core.training.ranks import Ranks

WORLD = 2
# Three groups of four, of which the second lies on both processes.
SPLIT = {"per_device_train_batch_size": 6, "num_generations": 4}


class Pair:
    """Two processes that train together."""

    def __init__(self, folder: Path, scenario: str) -> None:
        """Starts them; each goes through the scenario of that name."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        context: Any = get_context("forkserver")
        context.set_forkserver_preload(["rank_runs"])
        self.folder = folder
        self.processes = [
            context.Process(target=_run, args=(rank, port, folder, scenario))
            for rank in range(WORLD)
        ]
        for process in self.processes:
            process.start()

    def join(self, ranks: tuple[int, ...] = (0, 1), seconds: float = 240) -> list[int | None]:
        """Waits for them, and ends those that are left; gives their exit codes."""
        end = time.monotonic() + seconds
        for rank in ranks:
            self.processes[rank].join(max(end - time.monotonic(), 0))
        codes = [process.exitcode for process in self.processes]
        for process in self.processes:
            process.kill()
            process.join()
        return codes

    def printed(self, rank: int) -> str:
        """What a process has printed."""
        path = self.folder / f"printed-{rank}.txt"
        return path.read_text() if path.exists() else ""

    def told(self, rank: int) -> Any:
        """What a process has left for the test."""
        path = self.folder / f"told-{rank}.json"
        assert path.exists(), self.printed(rank)
        return json.loads(path.read_text())


def _run(rank: int, port: int, folder: Path, scenario: str) -> None:
    os.environ |= {
        **{"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1"},
        **{"WORLD_SIZE": str(WORLD), "LOCAL_WORLD_SIZE": str(WORLD), "MASTER_PORT": str(port)},
    }
    torch.set_num_threads(1)
    os.chdir(folder)
    out = os.open(f"printed-{rank}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    try:
        told = SCENARIOS[scenario](folder, rank)
    except GrpoError as exc:
        told = {"error": type(exc).__name__, "text": str(exc)}
    except Exception:
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(9)
    Path(f"told-{rank}.json").write_text(json.dumps(told))


# Rewards ---------------------------------------------------------------------------------------


@reward(isolation="inline", range=(0.0, 127.0))
def letter(completion: Completion) -> Score | Skip | Fail:
    """Number of the first letter; some are skipped, some fail."""
    n = ord(completion.text[0]) if completion.text else 0
    if n % 7 == 0:
        return Skip("a seventh")
    return Fail("a fifth") if n % 5 == 0 else Score(float(n), f"letter {n}", {"n": n})


@reward(isolation="inline")
def even(completion: Completion) -> float:
    """1.0 if the length is even."""
    return float(len(completion.text) % 2 == 0)


@reward(scope="group", isolation="inline", range=(0.0, 127.0))
def above_mean(
    completions: list[Completion], answer: list[str], letter: list[float | None]
) -> list[float]:
    """How far the letter is above the group's lowest; writes down which groups it saw."""
    assert len({c.prompt for c in completions}) == 1, "not one group"
    assert [c.index_in_group for c in completions] == [0, 1, 2, 3], "not whole"
    with Path(f"groups-{os.environ.get('RANK', '0')}.txt").open("a") as file:
        file.write(f"{completions[0].prompt}{answer[0]}\n")
    low = min((n for n in letter if n is not None), default=0.0)
    return [0.0 if n is None else n - low for n in letter]


def untagged(completions: list[str], log_extra: Any = None, **kwargs: Any) -> list[float]:
    """A function as TRL takes it; logs a column."""
    if log_extra is not None:
        log_extra("seen", list(completions))
    return [len(text) / 8 for text in completions]


REWARDS: dict[str, Any] = {
    "letter": {"use": letter, "weight": 0.01},
    "even": {"use": even, "shadow": True},
    "above": {
        "use": above_mean,
        "weight": 0.02,
        "inputs": {"letter": {"reward": "letter"}},
        "requires": {"even": 0.5},
    },
    "untagged": untagged,
}


# Trainings -------------------------------------------------------------------------------------


def dataset(n: int = 12) -> Dataset:
    return Dataset.from_dict(
        {"prompt": [f"{i}+1=" for i in range(n)], "answer": [str(i + 1) for i in range(n)]}
    )


def settings(**changed: Any) -> dict[str, Any]:
    return {
        **{"output_dir": "out", "gradient_accumulation_steps": 1, "max_completion_length": 8},
        **{"max_steps": 3, "logging_steps": 1, "learning_rate": 1e-2, "beta": 0.0},
        **{"temperature": 1.0, "bf16": False, "gradient_checkpointing": False},
        **{"report_to": "none", "disable_tqdm": True, "save_strategy": "no"},
        **{"dataloader_pin_memory": False, "ddp_find_unused_parameters": False},
        **SPLIT,
        **changed,
    }


def trainer(rewards: Any, *, limits: Any = None, **changed: Any) -> GRPOTrainer:
    composite = CompositeReward(rewards, **(limits or {}))
    return GRPOTrainer(
        make_model(),
        composite,
        GRPOConfig(**settings(**changed)),
        dataset(),
        tokenizer=make_tokenizer(),
    )


def groups(folder: Path, rank: int) -> Any:
    """All kinds of rewards, groups split, with an evaluation."""
    made = GRPOTrainer(
        make_model(),
        CompositeReward(REWARDS),
        GRPOConfig(**settings(eval_strategy="steps", eval_steps=3, per_device_eval_batch_size=6)),
        dataset(),
        eval_dataset=dataset(3),
        tokenizer=make_tokenizer(),
    )
    kept, inner = [], made._generate_and_score_completions

    def keeping(inputs: Any) -> Any:
        output = inner(inputs)
        kept.append(output["advantages"].tolist())
        return output

    made._generate_and_score_completions = keeping
    made.train()
    return {
        "advantages": kept,
        "weights": [float(p.sum()) for p in made.model.parameters()],
        "logs": [log for log in made.state.log_history if "loss" in log],
        "seen": list(made._logs["extra"]["seen"]),
        "completions": list(made._logs["completion"]),
    }


def budget(folder: Path, rank: int) -> Any:
    """All of rank 1's cells fail, half of all; then all do."""
    calls: list[int] = []

    @reward(isolation="inline")
    def broken(completion: Completion) -> float | Fail:
        calls.append(1)
        if rank == 1 or len(calls) > 12:  # six of a step
            return Fail(f"rank {rank}")
        return float(len(completion.text) % 2)

    made = trainer({"broken": broken}, limits={"max_failed": 0.5}, max_steps=5)
    try:
        made.train()
    except GrpoError as exc:
        return {"error": type(exc).__name__, "text": str(exc), "step": made.state.global_step}


def raising(folder: Path, rank: int) -> Any:
    """A cell of rank 1 fails of a reward that may not."""

    @reward(isolation="inline")
    def strict(completion: Completion) -> float | Fail:
        return Fail("no gold") if rank == 1 else float(len(completion.text) % 2)

    trainer({"strict": {"use": strict, "on_error": "raise"}}).train()


def fault(folder: Path, rank: int) -> Any:
    """Rank 1 fails before a reward is called, in the second step."""
    inner = CompletionBuilder.build
    calls: list[int] = []

    def build(*arguments: Any) -> Any:
        calls.append(1)
        if rank == 1 and len(calls) == 2:
            raise ValueError("half a character")
        return inner(*arguments)

    CompletionBuilder.build = build
    trainer(REWARDS, save_strategy="steps", save_steps=1).train()


def _with_a_second_step(rank: int, what: Callable[[], None]) -> Any:
    calls: list[int] = []

    @reward(isolation="inline")
    def odd(completion: Completion) -> float:
        calls.append(1)
        if rank == 1 and len(calls) == 9:  # within the second step
            what()
        return float(len(completion.text) % 2)

    seams.GRACE_S = 2.0
    start = time.monotonic()
    try:
        trainer(
            {"odd": odd}, limits={"batch_timeout_s": 1.0}, save_strategy="steps", save_steps=1
        ).train()
    except GrpoError as exc:
        took = time.monotonic() - start
        return {"error": type(exc).__name__, "text": str(exc), "seconds": took}


def ends(folder: Path, rank: int) -> Any:
    """Rank 1 is gone in the second step."""
    return _with_a_second_step(rank, lambda: os._exit(3))


def hangs(folder: Path, rank: int) -> Any:
    """Rank 1 does not come back in the second step."""
    return _with_a_second_step(rank, lambda: time.sleep(1000))


def half(folder: Path, rank: int) -> Any:
    """Rank 1 cannot write its part of the second checkpoint."""
    inner = transformers.Trainer._save_rng_state

    def save(self: Any, output_dir: str) -> None:
        if rank == 1 and output_dir.endswith("-2"):
            raise OSError(errno.ENOSPC, "No space left on device")
        inner(self, output_dir)

    transformers.Trainer._save_rng_state = save
    trainer(REWARDS, save_strategy="steps", save_steps=1).train()


def talk(folder: Path, rank: int) -> Any:
    """The processes wait for each other, without a training."""
    dist.init_process_group("gloo")
    ranks = Ranks(1.0, patience_s=60.0)
    late = 2.0 if rank == 0 else 0.0
    told = {"did": ranks.first_does("saved model", lambda: time.sleep(late) or "saved")}
    time.sleep(late)
    ranks.wait("saved model")
    try:
        with ranks.alike():
            if rank == 1:
                time.sleep(4.0)
            ranks.exchange("record", None)
    except RankError as exc:
        told |= {"error": str(exc), "in_all": ranks.in_all(exc)}
    return told


def script(folder: Path, rank: int) -> Any:
    """TRL's own trainer, with a record of the first four completions of each generation."""
    made = short_runs.theirs(REWARDS, dataset(), settings(use_cpu=True, max_steps=2), record=4)
    made.train()
    return [log["grpo/above/raw_mean"] for log in made.state.log_history if "loss" in log]


def train(folder: Path, rank: int) -> Any:
    """`grpo train run.toml`, which leaves by its exit code."""
    sys.argv = ["grpo", "train", "run.toml"]
    grpo_core.cli.main()


def interrupted(folder: Path, rank: int) -> Any:
    """Ctrl-C reaches rank 1 alone, while it generates in the second step."""
    inner = seams.Seam.column
    calls: list[int] = []

    def column(*arguments: Any, **further: Any) -> Any:
        calls.append(1)
        if rank == 1 and len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)  # as the launcher passes it on
        return inner(*arguments, **further)

    seams.Seam.column = column
    return train(folder, rank)


def resumed(folder: Path, rank: int) -> Any:
    """Two epochs of four steps, then again from the middle of each and the end of the first."""
    changed = {"max_steps": 8, "save_strategy": "steps", "save_steps": 1}
    whole = trainer({"even": even, "letter": letter}, **changed)
    whole.train()
    told = {"learnt": short_runs.learnt(whole)}
    for step in (2, 4, 6, 7):
        again = trainer({"even": even, "letter": letter}, **changed)
        again.train(resume_from_checkpoint=f"out/checkpoint-{step}")
        told[str(step)] = short_runs.same(whole, again)
    return told


SCENARIOS: dict[str, Callable[[Path, int], Any]] = {
    f.__name__: f
    for f in (
        *(groups, budget, raising, fault, half, ends, hangs, talk),
        *(script, train, interrupted, resumed),
    )
}


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts two processes on a scenario."""
    here = Path(__file__).parent
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(here), str(here.parent)]))
    started: list[Pair] = []

    def start(scenario: str) -> Pair:
        started.append(Pair(tmp_path, scenario))
        return started[-1]

    yield start
    for each in started:
        each.join(seconds=0)
