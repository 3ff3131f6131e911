"""What `grpo check` says of broken configs and data files; `grpo train` refuses the same."""

from __future__ import annotations

from typing import Any

import pytest
from check_project import ROWS, check, jsonl, settings
from typer.testing import CliRunner

from grpo_core.cli import app

# What is broken: settings, the data's rows or text (None: as they are), and the phrase printed.
BROKEN: dict[str, tuple[list[str], Any, str]] = {
    "unknown section": (["modle.name=x"], None, "modle: unknown key. Did you mean 'model'?"),
    "unknown key": (["data.pth=x"], None, "data.pth: unknown key. Did you mean 'path'?"),
    "wrong type": (["data.limit=many"], None, "data.limit: Input should be a valid integer"),
    "unknown reward": (
        ["rewards.correct.use=rewards.py:is_answr"],
        None,
        "Did you mean 'is_answer'",
    ),
    "option outside": (
        ["rewards.correct.strip=true"],
        None,
        "A reward's own options sit in options = { strip = … }",
    ),
    "unknown option": (
        ["rewards.correct.use=rewards.py:FractionEquals", "rewards.correct.options.place=1"],
        None,
        "has no such option. Did you mean 'places'?",
    ),
    "refused option": (
        ["rewards.correct.use=rewards.py:FractionEquals", "rewards.correct.options.places=-1"],
        None,
        "refuses them: places must be at least 0",
    ),
    "absent column": (
        ["rewards.correct.inputs.answer=answr"],
        None,
        "reads column 'answr', which the data does not have. Did you mean 'answer'?",
    ),
    "texts for an int": (
        ["rewards.correct.use=rewards.py:is_number"],
        None,
        "'is_number' reads column 'answer': expected int, got '1' (Input should be a valid "
        "integer) in train.jsonl, line 1 and in 7 more of the first 8 rows",
    ),
    "one number among texts": (
        ["rewards.correct.use=rewards.py:is_among"],
        [{**row, "choices": ["a"] if i != 5 else [{"x": 1}]} for i, row in enumerate(ROWS)],
        "'is_among' reads column 'choices': expected list[str], got {'x': 1} (Input should be a "
        "valid string) at [0] in train.jsonl, line 6;",
    ),
    "no JSON": (
        ["rewards.correct.use=rewards.py:is_among"],
        [{**row, "choices": "a, b"} for row in ROWS],
        "holds no JSON of the declared type list[str]",
    ),
    "golds none of which can be read": (
        ["rewards.correct.use=rewards.py:FractionEquals"],
        [{"prompt": "?", "answer": text} for text in ("four", "six")] * 4,
        "rewards.correct.inputs: 'fraction_equals' cannot use its inputs: the gold 'four' is no "
        "number in train.jsonl, line 1",
    ),
    "constant that cannot be read": (
        [
            "rewards.correct.use=rewards.py:FractionEquals",
            'rewards.correct.inputs={answer={file="gold.txt"}}',
        ],
        None,
        "cannot use its inputs: the gold 'four' is no number in gold.txt",
    ),
    "check of inputs that breaks": (
        ["rewards.correct.use=rewards.py:Careless"],
        None,
        "check_inputs raised AttributeError",
    ),
    "batch of broken groups": (
        ["train.num_generations=3"],
        None,
        "3 does not divide the 8 completions of a batch (per_device_train_batch_size 8 x 1 x 1 "
        "process). Valid with this batch: num_generations = 2, 4, 8",
    ),
    "too few rows": ([], ROWS[:1], "so not one step would be trained"),
    "no data file": (["data.path=trian.jsonl"], None, "trian.jsonl. Did you mean 'train.jsonl'"),
    "broken line": ([], '{"prompt": "a"}\nnope\n', "train.jsonl, line 2: expected a JSON object"),
    "no prompt": ([], [{"question": "a", "answer": "1"}], "the data has no column 'prompt'"),
    "weights of zero": (["rewards.correct.weight=0"], None, "every weight is 0"),
    "no model": (["model.name=./modell"], None, "paths are relative to the config. Did you mean"),
    "folder without model": (["model.name=."], None, "holds no model: there is no config.json"),
    "run exists": (["run.dir=model"], None, "model exists already and a run never overwrites"),
    "only broken in [eval]": (
        ["eval.path=other.jsonl"],
        None,
        "in the rows of [eval]: 'is_answer' reads column 'answer': expected str, got 5",
    ),
}


@pytest.mark.parametrize(("pairs", "data", "phrase"), BROKEN.values(), ids=BROKEN.keys())
def test_check_broken_config_or_data_exits_2_with_the_reason(bare, pairs, data, phrase):
    (bare / "gold.txt").write_text("four")
    (bare / "other.jsonl").write_text('{"prompt": "a", "answer": 5}\n')
    if data is not None:
        (bare / "train.jsonl").write_text(data if isinstance(data, str) else jsonl(data))

    result = check(*settings(*pairs))

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    assert result.stdout.endswith("run.toml: not ready\n")
    assert not (bare / "runs").exists()


@pytest.mark.parametrize(
    ("n_rows", "bad", "phrase"),
    [
        (8, (6,), "the gold 'x' is no number in train.jsonl, line 7\n"),
        (
            8,
            (1, 3, 4, 5),
            "the gold 'x' is no number in train.jsonl, line 2; it refuses 4 of the first 8 rows: "
            "train.jsonl, line 2, 4-6\n",
        ),
        (
            1208,  # each has to be found, not the first alone
            (1199, 1203),
            "it refuses 2 of the first 1208 rows: train.jsonl, line 1200, 1204\n",
        ),
    ],
)
def test_golds_that_cannot_be_read_are_named_with_their_rows_and_the_run_can_begin(
    bare, n_rows, bad, phrase
):
    rows = [{"prompt": "?", "answer": "x" if i in bad else "1"} for i in range(n_rows)]
    (bare / "train.jsonl").write_text(jsonl(rows))
    use = settings("rewards.correct.use=rewards.py:FractionEquals")

    result = check(*use)

    assert result.exit_code == 0, result.output
    assert "1 warning:" in result.stdout
    assert phrase in result.stdout
    assert result.stdout.endswith("run.toml: ready to train\n")
    assert check("--strict", *use).exit_code == 2


def test_each_reason_for_which_a_gold_cannot_be_read_is_shown_with_its_first_row(bare):
    golds = ["1", "x", "y", "x", "2"]
    (bare / "train.jsonl").write_text(jsonl([{"prompt": "?", "answer": g} for g in golds]))

    result = check(*settings("rewards.correct.use=rewards.py:FractionEquals"))

    assert (
        "the gold 'x' is no number in train.jsonl, line 2; the gold 'y' is no number in "
        "train.jsonl, line 3; it refuses 3 of the first 5 rows: train.jsonl, line 2-4\n"
    ) in result.stdout


# The same for what only the extra can tell.
BROKEN_TRAINING: dict[str, tuple[list[str], Any, str]] = {
    "unknown field": (["train.learning_rat=1"], None, "has no field 'learning_rat'. Did you mean"),
    "field of another type": (["train.max_steps=ten"], None, "expected int, got 'ten'"),
    "value of a library": (
        ["train.lr_scheduler_type=wavy"],
        None,
        "train: wavy is not a valid SchedulerType",
    ),
    "role that is no text": (
        [],
        [{"prompt": [{"role": "user", "content": ["x"]}], "answer": "1"}] * 2,
        "train.jsonl, line 1: the chat template cannot render the prompt",
    ),
    "prompts too long": (
        [],
        [*ROWS, {"prompt": "x" * 249, "answer": "1"}, {"prompt": "x" * 248, "answer": "1"}],
        "1 of the first 10 prompts are too long: the model takes 256 tokens and "
        "max_completion_length is 8, which leaves 248 for the prompt: train.jsonl, line 9 (249 "
        "tokens); leave these rows out",
    ),
    "prompts of the evaluation too long": (
        ["eval.path=long.jsonl"],
        None,
        "eval: 1 of the first 2 prompts are too long: the model takes 256 tokens and "
        "max_completion_length is 8, which leaves 248 for the prompt: long.jsonl, line 2 (300 "
        "tokens)",
    ),
    "role that is no text in the evaluation": (
        ["eval.path=odd.jsonl"],
        None,
        "odd.jsonl, line 1: the chat template cannot render the prompt",
    ),
}


@pytest.mark.parametrize(
    ("pairs", "data", "phrase"), BROKEN_TRAINING.values(), ids=BROKEN_TRAINING.keys()
)
def test_training_that_is_broken_is_refused_by_check_and_train_alike(
    with_tokenizer, pairs, data, phrase
):
    rows = [{"prompt": "1+9=", "answer": "10"}, {"prompt": "x" * 300, "answer": "?"}]
    (with_tokenizer / "long.jsonl").write_text(jsonl(rows))
    chat = [{"role": "user", "content": ["x"]}]
    (with_tokenizer / "odd.jsonl").write_text(jsonl([{"prompt": chat, "answer": "1"}]))
    if data is not None:
        (with_tokenizer / "train.jsonl").write_text(jsonl(data))

    result = check(*settings(*pairs))
    trained = CliRunner().invoke(app, ["train", "run.toml", *settings(*pairs)])

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    # The folder has no weights: nothing of this kind is learnt by loading the model.
    assert phrase in str(trained.exception)
    assert not (with_tokenizer / "runs").exists()


@pytest.mark.parametrize("broken", ["no tokens", "no file"])
def test_tokenizer_that_cannot_serve_is_refused_by_check_and_train_alike(with_tokenizer, broken):
    from tiny_model import make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.pad_token = tokenizer.eos_token = None
    tokenizer.save_pretrained(with_tokenizer / "model")
    phrase = "model.name: the tokenizer has neither a pad token nor an end-of-text token"
    if broken == "no file":
        (with_tokenizer / "model/tokenizer.json").write_text("{")
        phrase = "model cannot be loaded: "

    result = check()
    trained = CliRunner().invoke(app, ["train", "run.toml"])

    assert result.exit_code == 2, result.output
    assert phrase in result.stdout
    assert phrase in str(trained.exception)
    assert not (with_tokenizer / "runs").exists()


def test_check_several_problems_come_at_once(bare):
    result = check(*settings("data.pth=x", "train.num_generations=3", "rewards.correct.weight=0"))

    assert "3 problems:" in result.stdout


def test_train_refuses_texts_for_an_int(with_tokenizer):
    result = CliRunner().invoke(
        app, ["train", "run.toml", "--set", "rewards.correct.use=rewards.py:is_number"]
    )

    assert "expected int, got '1'" in str(result.exception)
    assert not (with_tokenizer / "runs").exists()
