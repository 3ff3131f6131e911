"""Make the demo's model folder and task files: `python scripts/make_demo.py [--out FOLDER]`.

The task is to add two numbers of two digits and to answer as

    <think>8+7=15 3+4+1=8</think><answer>85</answer>

which is column addition: ones, then tens with the carry. The model is a byte-level Llama with about
250,000 parameters. A supervised warm start shows it the right shape half of the time and the right
answer somewhat more often, so that it knows how to add but earns about 0.9 of the 2 points it
could, and GRPO has something to do. The warm start sees no problem of `train.jsonl` or
`heldout.jsonl`, neither as it stands nor with its terms swapped.

Takes about three minutes on one CPU core. The same machine and library versions give the same
bytes; another CPU type may round the last bits of the weights differently.
"""

import argparse
import json
import random
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SEED = 0
TERMS = range(10, 100)
N_TRAIN = 512
N_HELDOUT = 128

STEPS = 800
WARMUP_STEPS = 20
BATCH_SIZE = 128
PEAK_LEARNING_RATE = 4e-3
SHARE_WRONG_SHAPE = 0.5
SHARE_WRONG_ANSWER = 0.4
MAX_COMPLETION_TOKENS = 56  # the longest right completion has 50 bytes and the end token

PAD, BOS, END = "<|pad|>", "<|begin|>", "<|end|>"
ROLES = ("system", "user", "assistant")
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + eos_token }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

RIGHT_SHAPE = "<think>{think}</think><answer>{answer}</answer>"
RIGHT_PATTERN = "<think>[^<]+</think><answer>[^<]+</answer>"
# Half of them hold a readable answer block, so that the two rewards do not rise as one.
WRONG_SHAPES = (
    "<think>{think}</think>{answer}",
    "<think>{think}</think><answer>{answer}",
    "<think>{think}<answer>{answer}</answer>",
    "<answer>{answer}</answer><think>{think}</think>",
    "<answer>{answer}</answer>",
    "{question}{answer}",
)


class Problem(NamedTuple):
    """A sum of two terms."""

    left: int
    right: int

    @property
    def total(self) -> int:
        """The gold answer."""
        return self.left + self.right

    @property
    def question(self) -> str:
        """What the user asks, such as `38+47=?`."""
        return f"{self.left}+{self.right}=?"

    def work(self, *, drop_carry: bool = False) -> tuple[str, int]:
        """Column addition such as `8+7=15 3+4+1=8`, and what it comes to."""
        tens_left, ones_left = divmod(self.left, 10)
        tens_right, ones_right = divmod(self.right, 10)
        ones = ones_left + ones_right
        carry = 0 if drop_carry else ones // 10
        tens = tens_left + tens_right + carry
        think = f"{ones_left}+{ones_right}={ones} {tens_left}+{tens_right}{'+1' * carry}={tens}"
        return think, 10 * tens + ones % 10

    def messages(self) -> list[dict[str, str]]:
        """The prompt as a chat of one user message."""
        return [{"role": "user", "content": self.question}]


class Split(NamedTuple):
    """Disjoint lists of problems."""

    warm: list[Problem]
    train: list[Problem]
    heldout: list[Problem]


def split_problems(rng: random.Random) -> Split:
    """Every sum of two numbers in TERMS, shuffled and divided.

    Mirrored sums (`13+28` and `28+13`) go to the same side, so that neither gives the other away.
    """
    pairs = [Problem(a, b) for a in TERMS for b in TERMS if a <= b]
    rng.shuffle(pairs)
    kept, warm = pairs[: N_TRAIN + N_HELDOUT], pairs[N_TRAIN + N_HELDOUT :]
    turned = [Problem(p.right, p.left) if rng.random() < 0.5 else p for p in kept]
    both_ways = warm + [Problem(p.right, p.left) for p in warm if p.left != p.right]
    return Split(both_ways, turned[:N_TRAIN], turned[N_TRAIN:])


def build_tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, so that any text comes back exactly, and six special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = [PAD, BOS, END, *(f"<|{role}|>" for role in ROLES)]
    vocab = {token: i for i, token in enumerate([*special, *alphabet])}
    core = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # transformers' own gap
        tokenizer_object=core,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=END,
        additional_special_tokens=special[3:],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A fresh Llama with about 250,000 parameters in float32."""
    special = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        dtype="float32",
        **special,
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(**special)  # type: ignore[no-untyped-call]  # ditto
    return model


def write_completion(problem: Problem, rng: random.Random) -> str:
    """A completion whose shape and whose answer are each right about half of the time.

    A wrong answer forgets the carry, or repeats one of the two numbers.
    """
    think, answer = problem.work()
    if rng.random() < SHARE_WRONG_ANSWER:
        slip = rng.choice(("carry", "left", "right"))
        if slip == "carry":
            think, answer = problem.work(drop_carry=True)
        else:
            answer = problem.left if slip == "left" else problem.right
    wrong = rng.random() < SHARE_WRONG_SHAPE
    shape = rng.choice(WRONG_SHAPES) if wrong else RIGHT_SHAPE
    return shape.format(think=think, answer=answer, question=problem.question.removesuffix("?"))


def prompt_ids(tokenizer: PreTrainedTokenizerFast, problem: Problem) -> list[int]:
    """The tokens of the chat up to where the assistant begins."""
    text = tokenizer.apply_chat_template(
        problem.messages(), add_generation_prompt=True, tokenize=False
    )
    ids: list[int] = tokenizer.encode(str(text))
    return ids


def warm_start(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    problems: Sequence[Problem],
    rng: random.Random,
) -> None:
    """Train the model in place on completions that are right in part; the loss skips the prompt."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=PEAK_LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP_STEPS) * (1.0 - 0.95 * step / STEPS)
    )
    model.train()
    for step in range(1, STEPS + 1):
        inputs, labels = [], []
        for problem in rng.choices(problems, k=BATCH_SIZE):
            prompt = prompt_ids(tokenizer, problem)
            completion = tokenizer.encode(write_completion(problem, rng) + END)
            inputs.append(torch.tensor(prompt + completion))
            labels.append(torch.tensor([-100] * len(prompt) + completion))
        loss = model(
            input_ids=_pad_right(inputs, int(tokenizer.pad_token_id)),
            labels=_pad_right(labels, -100),
        ).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(f"warm start {step}/{STEPS}  loss {loss.item():.4f}", flush=True)


def _pad_right(rows: list[torch.Tensor], value: int) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=value)


@torch.no_grad()
def sample(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    problems: Sequence[Problem],
    *,
    do_sample: bool,
) -> list[str]:
    """One completion per problem, in order: sampled at temperature 1, or greedy."""
    model.train(False)
    # Each question is two digits, plus, two digits: all prompts have one length, none is padded.
    prompts = torch.tensor([prompt_ids(tokenizer, problem) for problem in problems])
    sampling = {"do_sample": True, "top_k": 0} if do_sample else {"do_sample": False}
    ids = model.generate(
        input_ids=prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=MAX_COMPLETION_TOKENS,
        **sampling,
    )
    texts = tokenizer.batch_decode(ids[:, prompts.shape[1] :], skip_special_tokens=True)
    return [str(text) for text in texts]


def describe(problems: Sequence[Problem], texts: Sequence[str]) -> str:
    """Shares of the completions with exactly the right shape, and with the right answer in it."""
    shaped = sum(re.fullmatch(RIGHT_PATTERN, text) is not None for text in texts)
    right = sum(f"<answer>{p.total}</answer>" in t for p, t in zip(problems, texts, strict=True))
    return f"shape {shaped / len(texts):.3f}, answer {right / len(texts):.3f}"


def write_rows(path: Path, problems: Sequence[Problem]) -> None:
    """One JSON object a line: the prompt as a chat, the gold answer as text."""
    rows = [{"prompt": p.messages(), "answer": str(p.total)} for p in problems]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Write `model/`, `train.jsonl` and `heldout.jsonl` into the folder, replacing them."""
    parser = argparse.ArgumentParser(description="Make the demo's model folder and task files.")
    default = Path(__file__).parents[1] / "grpo_core" / "demo"
    parser.add_argument("--out", type=Path, default=default, help="folder (default: %(default)s)")
    out: Path = parser.parse_args().out

    torch.set_num_threads(1)  # sums split over threads are added in another order
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    started = time.perf_counter()

    problems = split_problems(rng)
    tokenizer = build_tokenizer()
    model = build_model(tokenizer)
    print(f"{model.num_parameters():,} parameters, {len(problems.warm)} problems to warm up on")
    warm_start(model, tokenizer, problems.warm, rng)

    shutil.rmtree(out / "model", ignore_errors=True)
    model.save_pretrained(out / "model")
    tokenizer.save_pretrained(out / "model")
    for path in (out / "model").iterdir():
        path.chmod(0o644)  # safetensors writes files that only their owner may read
    write_rows(out / "train.jsonl", problems.train)
    write_rows(out / "heldout.jsonl", problems.heldout)

    for name, do_sample in (("greedy", False), ("sampled", True)):
        texts = sample(model, tokenizer, problems.heldout, do_sample=do_sample)
        print(f"held out, {name}: {describe(problems.heldout, texts)}")
        print("\n".join(texts[:3]))
    print(f"{out} written in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
