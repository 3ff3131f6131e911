"""Make the wordy model of examples/mix_demo.toml: `python scripts/make_wordy.py wordy`.

The model of `grpo demo` writes all its right answers in one length, so that brevity has nothing to
choose from. This goes on with its warm start, on completions that chat before they work:

    <think>well ok hm so 8+7=15 3+4=7+1=8</think><answer>85</answer>

The chatter is 0 to 8 words and says nothing of the sum, so a reply is as often right with it as
without. A part of the completions has another shape, a wrong answer behind the right work, or a
guess in place of the work. Half of the sums have three digits, and behind the right work of these
mostly a wrong answer is shown: the model could do them, but hardly ever does.

About two minutes on one CPU core.
"""

import argparse
import random
import runpy
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

STEPS = 600
BATCH_SIZE = 64
LEARNING_RATE = 2e-3
WORDS = ("hm", "so", "ok", "well", "now", "let", "me", "see", "yes", "right")
MOST_WORDS = 8
SHARE_WRONG_SHAPE = 0.3
SHARE_WRONG_ANSWER = 0.2
SHARE_WRONG_ANSWER_HARD = 0.8
SHARE_GUESS = {2: 0.05, 3: 0.3}  # by the number of digits
ROOT = Path(__file__).parents[1]
DEMO = ROOT / "grpo_core" / "demo" / "model"
SUMS = ROOT / "examples" / "mix_sums.py"


def work(problem: Problem) -> str:
    """Column addition from the ones on, such as `8+7=15 3+4+1=8`."""
    steps, carry = [], 0
    for a, b in zip(reversed(str(problem.left)), reversed(str(problem.right)), strict=True):
        total = int(a) + int(b) + carry
        steps.append(f"{a}+{b}{'+1' * carry}={total}")
        carry = total // 10
    return " ".join(steps)


def write_completion(problem: Problem, rng: random.Random, hard_wrong: float) -> str:
    """A completion that chats for a while and then works, or guesses."""
    digits = len(str(problem.left))
    chatter = [rng.choice(WORDS) for _ in range(rng.randint(0, MOST_WORDS))]
    if rng.random() < SHARE_GUESS[digits]:
        think, answer = rng.choice(WORDS), rng.choice((problem.left, problem.right))
    else:
        think = " ".join([*chatter, work(problem)])
        wrong = rng.random() < (SHARE_WRONG_ANSWER if digits == 2 else hard_wrong)
        answer = rng.choice((problem.left, problem.right)) if wrong else problem.total
    shape = rng.choice(WRONG_SHAPES) if rng.random() < SHARE_WRONG_SHAPE else RIGHT_SHAPE
    return shape.format(think=think, answer=answer, question=problem.question.removesuffix("?"))


def draw_problems(rng: random.Random) -> list[Problem]:
    """The sums of the demo's warm start, and as many of three digits; none is of the runs."""
    sums = runpy.run_path(str(SUMS))
    used = {row["prompt"][0]["content"] for rows in ("train", "hard") for row in sums[rows]()}
    easy = split_problems(random.Random(SEED)).warm
    hard: list[Problem] = []
    while len(hard) < len(easy):
        problem = Problem(rng.randint(100, 999), rng.randint(100, 999))
        if problem.question not in used:
            hard.append(problem)
    return easy + hard


def train(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, hard_wrong: float) -> None:
    """Train the model in place; the loss skips the prompt."""
    rng = random.Random(SEED)
    problems = draw_problems(rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    model.train()
    for step in range(1, STEPS + 1):
        rows = []
        for problem in rng.choices(problems, k=BATCH_SIZE):
            prompt = prompt_ids(tokenizer, problem)
            completion = tokenizer.encode(write_completion(problem, rng, hard_wrong) + END)
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
    parser.add_argument(
        "--hard-wrong",
        type=float,
        default=SHARE_WRONG_ANSWER_HARD,
        metavar="SHARE",
        help="wrong answers behind the work of a hard sum, 0 to 1 (default: %(default)s)",
    )
    given = parser.parse_args()
    out: Path = given.out
    if out.exists():
        print(f"error: {out} exists; name another folder or remove it", file=sys.stderr)
        raise SystemExit(2)
    torch.set_num_threads(1)  # sums split over threads are added in another order
    torch.manual_seed(SEED)
    started = time.perf_counter()
    model = LlamaForCausalLM.from_pretrained(DEMO)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(DEMO)
    train(model, tokenizer, given.hard_wrong)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    print(f"wrote {out} in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
