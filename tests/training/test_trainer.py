"""`GRPOTrainer`: rewards by name, run directories, the reference, and a clean stop."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import torch
import trl
from datasets import Dataset
from peft import LoraConfig
from tiny_model import make_model, make_tokenizer

from grpo_core import Completion, CompositeReward, GRPOConfig, GRPOTrainer, reward
from grpo_core.errors import ConfigError, RewardError


def zeros(completions, **kwargs):
    return [0.0] * len(completions)


def lengths(completions, **kwargs):
    return [len(c) / 10 for c in completions]


def trainer_of(rewards, dataset, small, **kwargs):
    return GRPOTrainer(
        model=kwargs.pop("model", None) or make_model(),
        reward_funcs=rewards,
        config=kwargs.pop("config", None) or GRPOConfig(**small),
        train_dataset=dataset,
        tokenizer=make_tokenizer(),
        **kwargs,
    )


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_trainer_names_and_functions_mix(texts, small, site):
    site.install("grpo-reward-fake")
    trainer = trainer_of(["fake/answer_equals", zeros, zeros], texts, small)

    assert trainer.composite.names == ("fake/answer_equals", "zeros", "zeros#2")
    assert trainer.reward_func_names == ["fake/answer_equals", "zeros", "zeros#2"]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, [1.0, 1.0]), ([0.5, 2], [0.5, 2.0]), ({"lengths": 3}, [1.0, 3.0])],
)
def test_trainer_reward_weights_by_order_or_name(texts, small, weights, expected):
    trainer = trainer_of([zeros, lengths], texts, small, reward_weights=weights)

    assert trainer.reward_weights.tolist() == expected


def test_trainer_reward_weights_from_the_config(texts, small):
    config = GRPOConfig(**small, reward_weights=[0.5, 0.25])

    trainer = trainer_of([zeros, lengths], texts, small, config=config)

    assert trainer.composite.weights.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0], "has 1 numbers for 2 rewards: zeros, lengths"),
        ({"length": 1.0}, "names 'length', which is no reward here. Did you mean 'lengths'"),
        (["1", 2.0], "expected a number for 'zeros', got '1'"),
        ([float("nan"), 1.0], "expected a finite number, got nan"),
    ],
)
def test_trainer_wrong_reward_weights_say_what_is_wrong(texts, small, weights, said):
    with pytest.raises(ConfigError) as caught:
        trainer_of([zeros, lengths], texts, small, reward_weights=weights)
    assert said in str(caught.value)


def test_trainer_dict_of_rewards_gives_instance_names(texts, small):
    trainer = trainer_of({"z": zeros, "l": {"use": lengths, "weight": 0.5}}, texts, small)

    assert trainer.composite.names == ("z", "l")
    assert trainer.composite.weights.tolist() == [1.0, 0.5]


def test_trainer_function_called_reward_is_refused_with_advice(texts, small):
    def reward(completions, **kwargs):
        return [0.0] * len(completions)

    with pytest.raises(ConfigError, match="a reward cannot be called 'reward'"):
        trainer_of([reward], texts, small)


def test_trainer_unknown_name_is_never_downloaded(texts, small):
    with pytest.raises(ConfigError, match="no reward 'org/reward-model'"):
        trainer_of("org/reward-model", texts, small)


def test_trainer_missing_column_names_the_columns(texts, small):
    @reward
    def needs(completion: Completion, answr: str) -> float:
        """0."""
        return 0.0

    with pytest.raises(ConfigError, match=r"'answr', which the data does not have\. Did you mean"):
        trainer_of([needs], texts, small)


def test_trainer_without_prompt_column_says_to_rename_one(texts, small):
    with pytest.raises(ConfigError, match="no column 'prompt'"):
        trainer_of([zeros], texts.rename_column("prompt", "question"), small)


def test_trainer_columns_that_the_evaluation_lacks_are_named(texts, small):
    @reward
    def needs(completion: Completion, answer: str) -> float:
        """0."""
        return 0.0

    rest = texts.remove_columns("answer")

    with pytest.raises(ConfigError, match="reads column 'answer', which the data does not have"):
        trainer_of([needs], texts, small, eval_dataset={"a": texts, "b": rest})
    with pytest.raises(ConfigError, match="eval_dataset: it has no column 'prompt'"):
        trainer_of([zeros], texts, small, eval_dataset=texts.remove_columns("prompt"))


def test_trainer_too_few_rows_is_an_error_not_zero_steps(texts, small):
    with pytest.raises(ConfigError, match=r"takes 2 prompts .* the data has 1 row,"):
        trainer_of([zeros], texts.select([0]), small)


def test_trainer_both_names_of_one_argument_is_an_error(texts, small):
    with pytest.raises(ConfigError, match="config and args are the same argument"):
        trainer_of([zeros], texts, small, args=GRPOConfig(**small))


def test_trainer_takes_a_plain_trl_config(texts, small):
    config = trl.GRPOConfig(**small)
    trainer = GRPOTrainer(
        make_model(), [zeros], args=config, train_dataset=texts, processing_class=make_tokenizer()
    )

    trainer.train()

    assert trainer.state.global_step == 2


def test_trainer_reserved_columns_reach_the_rewards_under_their_names(texts, small):
    seen = []
    dataset = texts.rename_column("answer", "completion").add_column("completions", ["x"] * 8)

    @reward
    def look(completion: Completion, gold: str, other: str) -> float:
        """Keeps its inputs."""
        seen.append((completion.prompt, gold, other))
        return 0.0

    inputs = {"gold": "completion", "other": "completions"}
    trainer_of({"look": {"use": look, "inputs": inputs}}, dataset, small).train()

    assert len(seen) == 16
    assert {(f"{i}+1=", str(i + 1), "x") for i in range(8)} >= set(seen)


def test_trainer_run_directories_are_numbered(texts, small):
    for _ in range(2):
        trainer_of([zeros], texts, small).train()

    out = Path(small["output_dir"])
    assert sorted(p.name for p in out.glob("run-*")) == ["run-001", "run-002"]
    logged = lines(out / "run-002" / "metrics.jsonl")
    assert [row["step"] for row in logged] == [1, 2, 2]
    assert logged[0]["reward"] == 0.0
    assert logged[0]["grpo/zeros/raw_mean"] == 0.0


def test_trainer_manifest_names_rewards_versions_seeds_and_data(texts, small, site):
    site.install("grpo-reward-fake", version="1.5")
    trainer_of(["fake/answer_equals", zeros], texts, small).train()

    manifest = json.loads((Path(small["output_dir"]) / "run-001/manifest.json").read_text())
    fake = manifest["rewards"]["fake/answer_equals"]
    assert (fake["distribution"], fake["version"]) == ("grpo-reward-fake", "1.5")
    assert len(fake["source_sha256"]) == 64
    assert manifest["rewards"]["zeros"]["distribution"] is None
    assert manifest["libraries"]["trl"] == trl.__version__
    assert manifest["seeds"]["seed"] == 42
    assert manifest["data"]["rows"] == 8


def test_trainer_says_which_defaults_differ_from_trl(texts, small, caplog):
    del small["temperature"], small["beta"]
    with caplog.at_level(logging.WARNING, "grpo_core"):
        trainer_of([zeros], texts, small)

    said = [r.message for r in caplog.records if "defaults that differ" in r.message]
    assert said == ["defaults that differ from TRL's: kl_coef=0.1, temperature=0.7"]


def test_trainer_fault_stops_with_checkpoint_of_the_last_whole_step(texts, small):
    @reward
    def later(completion: Completion) -> float:
        """Raises in the second batch."""
        later.n += 1
        if later.n > 8:
            raise ValueError("the judge is tired")
        return 0.5

    later.n = 0
    trainer = trainer_of({"later": later}, texts, small)

    with pytest.raises(RewardError) as caught:
        trainer.train()

    text = str(caught.value)
    assert "'later' (function in" in text
    assert "failed on 8 of 8 completions" in text
    assert "rows 0 to 7: raised ValueError: the judge is tired (" in text
    checkpoint = Path(small["output_dir"]) / "checkpoint-1"
    assert f"training stopped after step 1; checkpoint: {checkpoint}" in text
    assert (checkpoint / "model.safetensors").is_file()
    assert (checkpoint / "optimizer.pt").is_file()
    assert json.loads((checkpoint / "trainer_state.json").read_text())["global_step"] == 1


def test_trainer_sys_exit_in_a_reward_is_a_fault(texts, small):
    def leave(completions, **kwargs):
        raise SystemExit(0)

    with pytest.raises(RewardError, match="raised SystemExit: 0"):
        trainer_of([leave], texts, small).train()


def test_trainer_changed_model_in_memory_is_its_own_reference(texts, small, model_folder):
    model = make_model().from_pretrained(model_folder)
    with torch.no_grad():
        model.lm_head.weight.add_(0.25)
    small["beta"] = 0.1
    trainer = trainer_of([lengths], texts, small, model=model)

    reference = Path(small["output_dir"]) / "run-001" / "reference"
    assert (reference / "model.safetensors").is_file()
    assert torch.equal(trainer.ref_model.lm_head.weight, model.lm_head.weight)
    assert model.config._name_or_path == str(model_folder)
    trainer.train()
    # The first step starts at the reference: its KL is 0, as with a model that was loaded.
    assert lines(reference.parent / "metrics.jsonl")[0]["kl"] == pytest.approx(0.0, abs=1e-6)


def test_trainer_model_without_folder_is_its_own_reference(texts, small):
    small["beta"] = 0.1
    model = make_model()
    trainer = trainer_of([lengths], texts, small, model=model)

    assert torch.equal(trainer.ref_model.lm_head.weight, model.lm_head.weight)
    assert model.config._name_or_path == ""


def test_trainer_unchanged_model_needs_no_copy(texts, small, model_folder):
    small["beta"] = 0.1
    trainer = trainer_of([lengths], texts, small, model=make_model().from_pretrained(model_folder))

    assert trainer.ref_model is not None
    assert not (Path(small["output_dir"]) / "run-001").exists()


def test_trainer_lora_needs_no_reference_and_trains_the_adapter(texts, small):
    small["beta"] = 0.1
    trainer = trainer_of(
        [lengths], texts, small, peft_config=LoraConfig(r=2, target_modules=["q_proj"])
    )
    trainer.train()

    assert trainer.ref_model is None
    trained = [n for n, p in trainer.model.named_parameters() if p.requires_grad]
    assert trained
    assert all("lora" in name for name in trained)


def test_trainer_gradient_checkpointing_trains(texts, small):
    small["gradient_checkpointing"] = True
    trainer = trainer_of([lengths], texts, small)
    trainer.train()

    assert trainer.state.global_step == 2


def test_trainer_takes_a_composite(texts, small):
    composite = CompositeReward({"l": {"use": lengths, "weight": 0.5}})
    trainer = trainer_of(composite, texts, small)

    assert trainer.composite is composite
    with pytest.raises(ConfigError, match="give the weights in CompositeReward"):
        trainer_of(composite, texts, small, reward_weights=[1.0])


def test_trainer_fault_never_leaves_another_runs_checkpoint(texts, small):
    checkpoints = []
    for seed in (1, 2):

        def broken(completions, **kwargs):
            raise ValueError("no")

        trainer = trainer_of([broken], texts, {**small, "seed": seed})
        with pytest.raises(RewardError) as caught:
            trainer.train()
        checkpoints.append(str(caught.value).rsplit("checkpoint: ", 1)[1])

    out = Path(small["output_dir"])
    assert checkpoints == [str(out / "checkpoint-0"), str(out / "run-002" / "checkpoint-0")]
    assert (out / "run-002/checkpoint-0/model.safetensors").is_file()
    assert trainer.args.output_dir == str(out)


def test_trainer_changed_model_without_tokenizer_loads_its_own(texts, small, model_folder):
    model = make_model().from_pretrained(model_folder)
    with torch.no_grad():
        model.lm_head.weight.add_(0.25)
    small["beta"] = 0.1

    trainer = GRPOTrainer(model, [lengths], GRPOConfig(**small), texts)

    assert trainer.processing_class.pad_token == "<pad>"


def test_trainer_model_without_folder_and_tokenizer_says_to_give_one(texts, small):
    small["beta"] = 0.1

    with pytest.raises(ConfigError, match="comes with no tokenizer that can be loaded"):
        GRPOTrainer(make_model(), [lengths], GRPOConfig(**small), texts)
    assert not (Path(small["output_dir"]) / "run-001").exists()


@pytest.mark.parametrize(
    ("config", "dataset", "said"),
    [
        ({"learning_rate": 1}, "texts", "config must be a GRPOConfig, got dict"),
        (None, None, "train_dataset is missing"),
        (None, [{"prompt": "x"}], "must be a datasets.Dataset, got list"),
    ],
)
def test_trainer_arguments_of_another_kind(request, small, config, dataset, said):
    dataset = request.getfixturevalue(dataset) if isinstance(dataset, str) else dataset
    with pytest.raises(ConfigError, match=said):
        trainer_of([zeros], dataset, small, config=config)


@pytest.mark.parametrize(
    "prompt", ["", " \n", [], None, [{"role": "user"}], [{"role": "user", "content": None}]]
)
def test_trainer_prompt_that_cannot_be_used_names_the_row(small, prompt):
    good = [{"role": "user", "content": "1+1="}] if isinstance(prompt, list) else "1+1="
    dataset = Dataset.from_dict({"prompt": [good, good, good, prompt]})

    with pytest.raises(ConfigError, match="train_dataset, row 3"):
        trainer_of([zeros], dataset, small)


def test_trainer_column_of_pictures_beside_texts_names_the_column(texts, small):
    with pytest.raises(ConfigError, match=r"column 'images'.*rename the column"):
        trainer_of([zeros], texts.add_column("images", ["a"] * 8), small)


def test_trainer_leaves_the_callers_config_for_another_trainer(texts, small):
    config = GRPOConfig(**small)

    trainer_of([zeros, lengths], texts, small, config=config)
    second = trainer_of([zeros], texts, small, config=config)

    assert config.reward_weights is None
    assert second.reward_weights.tolist() == [1.0]


def test_trainer_eval_prompt_that_cannot_be_used_names_the_row(chats, small):
    bad = Dataset.from_dict({"prompt": [[{"role": "user", "content": None}]], "answer": ["1"]})

    with pytest.raises(ConfigError, match="eval_dataset, row 0: the chat template cannot"):
        trainer_of([zeros], chats, small, eval_dataset=bad)
