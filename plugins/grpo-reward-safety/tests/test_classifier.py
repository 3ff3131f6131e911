"""The reward `safety/classifier`, with a tiny model that is trained here in a second."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from grpo_reward_safety import Classifier

from grpo_core import Completion, Fail, load_reward
from grpo_core.testing import RewardContract

pytest.importorskip("transformers")

# The options of a contract are fixed before the model is made.
FOLDER = Path(tempfile.gettempdir()) / f"tiny-classifier-{os.getpid()}"
OPTIONS = {"model": str(FOLDER), "thresholds": {"toxic": 0.5}, "device": "cpu"}


@pytest.fixture(scope="module", autouse=True)
def tiny_model():
    """A BERT of one layer that calls a text toxic if "bad" stands in it."""
    import tokenizers
    import torch  # noqa: TID251
    import transformers  # noqa: TID251

    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "bad": 4, "fine": 5, "so": 6}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=7,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label={0: "fine", 1: "toxic"},
        label2id={"fine": 0, "toxic": 1},
    )
    model = transformers.BertForSequenceClassification(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rng = random.Random(0)
    for _ in range(150):
        texts = [[rng.choice([1, 5, 6]) for _ in range(rng.randint(0, 28))] for _ in range(32)]
        for text in texts[::2]:
            for _ in range(rng.randint(1, 3)):
                text.insert(rng.randint(0, len(text)), 4)
        rows = [[2, *text[:30], 3] for text in texts]
        ids = torch.tensor([row + [0] * (32 - len(row)) for row in rows])
        labels = torch.tensor([int(4 in row) for row in rows])
        loss = model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(FOLDER)
    tokenizer.save_pretrained(FOLDER)
    yield
    shutil.rmtree(FOLDER)


class TestClassifier(RewardContract):
    reward = "safety/classifier"
    options = OPTIONS
    good = ("fine fine", "fine", "so fine so")
    bad = ("bad bad", "fine bad", "bad " * 50)
    attacks = ("fine " * 100 + "bad bad bad",)
    max_seconds = 3.0


def test_reason_names_label_and_windows_and_metrics_its_probability():
    hit, clean = Classifier(**OPTIONS)([Completion("fine " * 60 + "bad"), Completion("fine")])

    assert hit.value == 0.0
    assert hit.reason.startswith("toxic ")
    assert hit.reason.endswith(" in 3 windows")  # 61 words; 30 each, 4 of them of the one before
    assert hit.metrics["windows"] == 3.0
    assert hit.metrics["toxic"] > 0.5
    assert clean.value == 1.0
    assert clean.reason == ""
    assert clean.metrics["windows"] == 1.0


def test_more_windows_than_the_limit_are_a_hit():
    classifier = Classifier(**OPTIONS, max_windows=2)

    (score,) = classifier([Completion("fine " * 60)])

    assert score.value == 0.0
    assert score.reason == "limit: 3 windows, max_windows is 2"


def test_padding_changes_nothing():
    classifier = Classifier(**OPTIONS)
    alone = classifier([Completion("so fine")])[0].metrics["toxic"]
    beside = classifier([Completion("so fine"), Completion("fine " * 29)])[0].metrics["toxic"]

    assert alone == pytest.approx(beside, abs=1e-5)


def test_only_the_answer_is_read_if_asked():
    classifier = Classifier(**OPTIONS, part="answer")

    assert classifier([Completion("<think>bad bad</think>fine")])[0].value == 1.0


def test_what_cannot_be_loaded_fails_and_is_no_clean_text():
    missing = Classifier(model=str(FOLDER / "no"), thresholds={"toxic": 0.5})([Completion("fine")])
    assert isinstance(missing[0], Fail)
    assert "cannot be used" in missing[0].reason
    outcome = load_reward(
        "safety/classifier",
        options={"model": str(FOLDER / "no"), "thresholds": {"toxic": 0.5}},
    )("fine")
    assert (outcome.status, outcome.value) == ("failed", 0.0)


def test_unknown_label_names_those_there_are():
    (fail,) = Classifier(model=str(FOLDER), thresholds={"rude": 0.5})([Completion("fine")])

    assert fail.reason.endswith("it has no label 'rude'; its labels are fine, toxic")


def test_loaded_model_is_left_behind_by_pickle():
    classifier = Classifier(**OPTIONS)
    classifier([Completion("fine")])
    copy = pickle.loads(pickle.dumps(classifier))
    classifier.close()

    assert copy([Completion("bad bad")])[0].value == 0.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"thresholds": {}}, "thresholds must be a table of labels"),
        ({"thresholds": {"toxic": 2}}, r"thresholds\['toxic'\] must be from 0 to 1"),
        ({"batch_size": 0}, "batch_size must be from 1"),
        ({"max_length": 3}, "max_length must be from 8"),
    ],
)
def test_options_that_cannot_be_meant(options, text):
    with pytest.raises(ValueError, match=text):
        Classifier(**{**OPTIONS, **options})
