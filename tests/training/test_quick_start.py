"""The quick start that people know, as an unguarded script that is run twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from importlib import resources

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = str(resources.files("grpo_core.demo") / "model")
model = AutoModelForCausalLM.from_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
dataset = Dataset.from_dict(
    {"prompt": [f"{i}+{i}=?" for i in range(10, 18)], "expected_answer": [str(2 * i) for i in range(10, 18)]}
)

from grpo_core import GRPOConfig, GRPOTrainer
def format_reward(completions, prompts):
    import re
    return [1.0 if re.search(r"<think>.*?</think>", c, re.DOTALL) and re.search(r"<answer>.*?</answer>", c, re.DOTALL) else -0.5 for c in completions]
def correctness_reward(completions, prompts):
    import re
    rewards = []
    for c, p in zip(completions, prompts):
        expected = p.get("expected_answer", "")
        m = re.search(r"<answer>(.*?)</answer>", c)
        rewards.append(2.0 if m and m.group(1).strip() == expected else 0.0)
    return rewards
config = GRPOConfig(output_dir="./grpo-output", num_train_epochs=3, per_device_train_batch_size=4, gradient_accumulation_steps=4,
                    learning_rate=1e-6, num_generations=4, max_completion_length=512, logging_steps=10)
trainer = GRPOTrainer(model=model, config=config, tokenizer=tokenizer, train_dataset=dataset, reward_funcs=[format_reward, correctness_reward])
trainer.train()
"""  # noqa: E501 - the script stands here as people write it


@pytest.mark.slow
def test_quick_start_script_runs_unguarded_and_again(tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(SCRIPT)

    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "quick.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "defaults that differ from TRL's: kl_coef=0.1, temperature=0.7" in done.stderr

    runs = sorted(p.name for p in (tmp_path / "grpo-output").glob("run-*"))
    assert runs == ["run-001", "run-002"]
    lines = (tmp_path / "grpo-output/run-002/metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["step"] == 6
    assert -0.5 <= last["rewards/format_reward/mean"] <= 1.0
    assert 0.0 <= last["rewards/correctness_reward/mean"] <= 2.0
    assert last["grpo/correctness_reward/coverage"] == 1.0
