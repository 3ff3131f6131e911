"""Make the wordy model of examples/mix_demo.toml: `python scripts/make_wordy.py wordy`.

The model of `grpo demo` writes all its right answers in one length, so that brevity has nothing to
choose from. This goes on with its warm start, on completions whose work stands there once, twice
or three times:

    <think>8+7=15 3+4+1=8 8+7=15 3+4+1=8</think><answer>85</answer>

A part of them has another shape or a wrong answer, as in the demo. About a minute on one CPU core.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import torch
from make_demo import (
    END,
    RIGHT_SHAPE,
    SEED,
    WRONG_SHAPES,
    Problem,
    prompt_ids,
    split_problems,
)
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

STEPS = 150
BATCH_SIZE = 64
LEARNING_RATE = 1e-3
MOST_TIMES = 3
SHARE_WRONG_SHAPE = 0.3
SHARE_WRONG_ANSWER = 0.2
DEMO = Path(__file__).parents[1] / "grpo_core" / "demo" / "model"


def write_completion(problem: Problem, rng: random.Random) -> str:
    """A completion whose work stands there up to three times."""
    think, answer = problem.work()
    if rng.random() < SHARE_WRONG_ANSWER:
        answer = rng.choice((problem.left, problem.right))
    wrong = rng.random() < SHARE_WRONG_SHAPE
    shape = rng.choice(WRONG_SHAPES) if wrong else RIGHT_SHAPE
    times = " ".join([think] * rng.randint(1, MOST_TIMES))
    return shape.format(think=times, answer=answer, question=problem.question.removesuffix("?"))


def train(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, rng: random.Random) -> None:
    """Train the model in place; the loss skips the prompt, and no problem of the demo is seen."""
    problems = split_problems(random.Random(SEED)).warm
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    model.train()
    for step in range(1, STEPS + 1):
        rows = []
        for problem in rng.choices(problems, k=BATCH_SIZE):
            prompt = prompt_ids(tokenizer, problem)
            completion = tokenizer.encode(write_completion(problem, rng) + END)
            rows.append((prompt, completion))
        width = max(len(p) + len(c) for p, c in rows)
        pad = int(tokenizer.pad_token_id)
        inputs = torch.tensor([p + c + [pad] * (width - len(p) - len(c)) for p, c in rows])
        labels = torch.tensor(
            [[-100] * len(p) + c + [-100] * (width - len(p) - len(c)) for p, c in rows]
        )
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1.0 - 0.95 * step / STEPS)
        loss = model(input_ids=inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}/{STEPS}  loss {loss.item():.4f}", flush=True)


def main() -> None:
    """Write the model's folder, which must not be there yet."""
    parser = argparse.ArgumentParser(description="Make the wordy model of examples/mix_demo.toml.")
    parser.add_argument("out", type=Path, help="the new folder")
    out: Path = parser.parse_args().out
    if out.exists():
        print(f"error: {out} exists; name another folder or remove it", file=sys.stderr)
        raise SystemExit(2)
    torch.set_num_threads(1)  # sums split over threads are added in another order
    torch.manual_seed(SEED)
    started = time.perf_counter()
    model = LlamaForCausalLM.from_pretrained(DEMO)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(DEMO)
    train(model, tokenizer, random.Random(SEED))
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    print(f"wrote {out} in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
