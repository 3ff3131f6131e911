"""`group_relative_advantages` and `weighted_total` against TRL's own GRPOTrainer.

A real trainer with a one-layer random model scores prepared rows; its reward functions return the
columns of a random table. Only `_generate_and_score_completions`, the step in which TRL turns
rewards into advantages, is called.
"""

from __future__ import annotations

import math
import platform

import numpy as np
import pytest

from grpo_core.advantages import group_relative_advantages
from grpo_core.totals import effective_values, weighted_total

datasets = pytest.importorskip("datasets")
tokenizers = pytest.importorskip("tokenizers")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
trl = pytest.importorskip("trl")

# Transformers and TRL set and read each other's renamed arguments.
pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing:FutureWarning")

N_TABLES = 12  # for each kind of values, group size and way of combining
COMBINATIONS = (
    ("group", "sum_then_normalize"),
    ("batch", "sum_then_normalize"),
    ("none", "sum_then_normalize"),
    ("group", "normalize_then_sum"),
)
KINDS = ("normal", "zero_one", "tenths", "hundreds", "constant_tenths", "constant_hundreds")
# Groups that are constant up to rounding agree only where torch adds as grpo_core.advantages says.
ROUNDING_AGREES = platform.machine().lower() in ("x86_64", "amd64")


def random_values(rng: np.random.Generator, kind: str, n_prompts: int, group_size: int, k: int):
    shape = (n_prompts * group_size, k)
    if kind.startswith("constant_"):
        per_prompt = random_values(rng, kind.removeprefix("constant_"), n_prompts, 1, k)
        return np.repeat(per_prompt, group_size, axis=0)
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "zero_one":
        return rng.integers(0, 2, shape).astype(np.float64)
    if kind == "tenths":
        return rng.integers(0, 11, shape) / 10
    return rng.uniform(0, 100, shape)


def random_table(rng: np.random.Generator, kind: str, group_size: int):
    """Values with a random share of missing cells, and weights, some of them 0 or negative."""
    k = int(rng.choice([1, 2, 3, 9]))
    values = random_values(rng, kind, int(rng.integers(1, 7)), group_size, k)
    values[rng.random(values.shape) < rng.choice([0.0, 0.1, 0.3, 0.6, 0.9])] = np.nan
    weights = rng.normal(size=k)
    weights[rng.random(k) < 0.2] = 0.0
    return values, weights


class Column:
    """A reward function that returns one column of the table of the hour."""

    def __init__(self, k: int) -> None:
        self.__name__ = f"reward_{k}"
        self.k = k
        self.values = np.zeros((0, 0))

    def __call__(self, prompts, **kwargs):
        column = self.values[:, self.k].tolist()
        return [None if math.isnan(value) else value for value in column]


class Judge:
    """What TRL makes of any table of up to nine rewards, with one trainer."""

    def __init__(self, scale: str, aggregate: str, output_dir: str) -> None:
        self.columns = [Column(k) for k in range(9)]
        self.trainer = trl.GRPOTrainer(
            model=tiny_model(),
            processing_class=tiny_tokenizer(),
            reward_funcs=list(self.columns),
            train_dataset=datasets.Dataset.from_dict({"prompt": ["a"] * 8}),
            args=trl.GRPOConfig(
                output_dir=output_dir,
                per_device_train_batch_size=4,
                num_generations=4,
                max_completion_length=1,
                scale_rewards=scale,
                multi_objective_aggregation=aggregate,
                report_to=[],
                use_cpu=True,
                bf16=False,
                seed=0,
            ),
        )

    def __call__(self, values, weights, group_size, mode="train"):
        """TRL's advantages and the mean reward it logs."""
        used = self.columns[: len(weights)]
        for column in used:
            column.values = values
        self.trainer.reward_funcs = used
        self.trainer.reward_func_names = [column.__name__ for column in used]
        self.trainer.reward_processing_classes = [None] * len(used)
        self.trainer.reward_weights = torch.tensor(weights.tolist(), dtype=torch.float32)
        self.trainer.num_generations = self.trainer.num_generations_eval = group_size
        self.trainer.model.train(mode == "train")

        scored = self.trainer._generate_and_score_completions([{"prompt": "a"}] * len(values))

        logged_reward = self.trainer._metrics[mode]["reward"][-1]
        return scored["advantages"].double().numpy(), logged_reward


def tiny_tokenizer():
    vocabulary = {"<pad>": 0, "<eos>": 1, "a": 2, "b": 3}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="<pad>")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model),
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )


def tiny_model():
    torch.manual_seed(0)
    return transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(
            vocab_size=4,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=8,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=1,
        )
    )


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads waiting for each other cost far more than the tiny model, on a busy machine."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def combination(request):
    return request.param


@pytest.fixture(scope="module")
def judge(combination, tmp_path_factory):
    return Judge(*combination, output_dir=str(tmp_path_factory.mktemp("trl")))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group_size", [2, 4, 8])
def test_advantages_random_tables_equal_trl(judge, combination, kind, group_size):
    if kind.startswith("constant_") and not ROUNDING_AGREES:
        pytest.skip("torch adds in another order on this processor")

    for seed in range(N_TABLES):
        rng = np.random.default_rng([seed, group_size])
        values, weights = random_table(rng, kind, group_size)
        expected, _ = judge(values, weights, group_size)

        advantages = group_relative_advantages(values, weights, group_size, *combination)

        np.testing.assert_allclose(advantages, expected, rtol=0, atol=1e-5, err_msg=f"seed {seed}")


@pytest.mark.skipif(not ROUNDING_AGREES, reason="torch adds in another order on this processor")
@pytest.mark.parametrize("group_size", [7, 16, 67])
def test_advantages_constant_groups_of_other_sizes_equal_trl(judge, combination, group_size):
    for seed in range(N_TABLES):
        rng = np.random.default_rng([seed, group_size])
        values = random_values(rng, "constant_hundreds", 6, group_size, k=5)
        weights = rng.normal(size=5)
        expected, _ = judge(values, weights, group_size)

        advantages = group_relative_advantages(values, weights, group_size, *combination)

        np.testing.assert_allclose(advantages, expected, rtol=0, atol=1e-5, err_msg=f"seed {seed}")


def test_advantages_one_scored_row_per_group_equal_trl(judge, combination):
    values = np.full((8, 2), np.nan)
    values[1], values[6, 0] = (0.7, 0.1), 1 / 3
    expected, _ = judge(values, np.array([0.3, 0.7]), 4)

    advantages = group_relative_advantages(values, np.array([0.3, 0.7]), 4, *combination)

    np.testing.assert_allclose(advantages, expected, rtol=0, atol=1e-5)


def test_advantages_nothing_scored_equal_trl(judge, combination):
    values = np.full((8, 2), np.nan)
    expected, _ = judge(values, np.ones(2), 4)

    advantages = group_relative_advantages(values, np.ones(2), 4, *combination)

    np.testing.assert_array_equal(advantages, expected)


@pytest.mark.parametrize("n_prompts", [1, 5])
def test_advantages_single_completion_in_evaluation_equal_trl(judge, combination, n_prompts):
    values = np.random.default_rng(0).uniform(0, 100, (n_prompts, 3))
    weights = np.array([0.3, 0.5, 0.1])
    expected, _ = judge(values, weights, 1, mode="eval")

    advantages = group_relative_advantages(values, weights, 1, *combination)

    np.testing.assert_allclose(advantages, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["normal", "hundreds"])
def test_weighted_total_mean_equals_logged_reward(judge, kind):
    for seed in range(N_TABLES):
        values, weights = random_table(np.random.default_rng(seed), kind, 4)
        _, logged_reward = judge(values, weights, 4)

        totals = weighted_total(values, weights)

        scored = totals[~np.isnan(totals)]
        expected = scored.mean() if len(scored) else np.nan
        scale = np.abs(values * weights).sum(where=~np.isnan(values)) + 1
        np.testing.assert_allclose(logged_reward, expected, atol=1e-6 * scale, err_msg=f"{seed=}")


def test_effective_values_row_nothing_scored_gets_no_say_in_trl(judge, combination):
    # Row 4 has a value of the reward of weight 0 only. Left as it is, TRL would count its total of
    # 0 in the baseline of the rows that were scored.
    values = np.array([[1.0, 5.0], [0.0, 5.0], [0.5, 5.0], [np.nan, 5.0]])
    weights = np.array([1.0, 0.0])

    effective = effective_values(values, weights, ["neutral"] * 2, 4, combination[1])
    advantages, _ = judge(effective, weights, 4)

    assert advantages[3] == 0.0
    assert advantages[2] == pytest.approx(0.0, abs=1e-6)  # 0.5 is the mean of 1, 0, 0.5
