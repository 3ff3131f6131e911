"""The reward model of docs/how-to/wrap-a-reward-model.md, as printed, with a tiny model."""

from pathlib import Path

import pytest

from grpo_core import load_reward

transformers = pytest.importorskip("transformers", reason="the extra 'train' is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "wrap-a-reward-model.md"


def tiny_reward_model(folder: Path) -> Path:
    """A classifier with one mark, with random weights, and its tokenizer."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "two", "four", "five"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        num_labels=1,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_printed_reward_model_rates_a_batch_in_a_thread(tmp_path):
    block = PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "judge.py").write_text(block, encoding="utf-8")
    model = tmp_path / "model"
    model.mkdir()

    judged = load_reward(
        "judge.py:Judged", options={"model": str(tiny_reward_model(model))}, folder=tmp_path
    )
    outcomes = judged.batch(["four", "five five", ""], prompt=["two two"] * 3)

    assert (judged.policy.isolation, judged.policy.timeout_s) == ("thread", 120.0)
    assert judged.policy.on_timeout is None
    assert [o.status for o in outcomes] == ["scored"] * 3
    assert len({o.value for o in outcomes}) == 3
