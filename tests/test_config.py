"""`read_config` and `validate`: a run's TOML file, and all that is wrong with it at once."""

from pathlib import Path
from typing import Any

import pytest

from grpo_core.catalog import Catalog
from grpo_core.config import validate
from grpo_core.errors import ConfigError
from grpo_core.reader import read_config, read_draft

GOOD = """
[model]
name = "m"
[data]
path = "d.jsonl"
[rewards.right]
use = "fake/answer_equals"
[train]
per_device_train_batch_size = 4
"""

BAD_REWARDS = """
from grpo_core import reward

@reward
def plain(completion, answer: str, *, tags: list[str], schema: bool = False):
    return 1.0

@reward
class Band:
    def __init__(self, *, low: float = 0.0):
        if low > 1:
            raise ValueError("low is above 1")
    def __call__(self, completion):
        return 1.0

def untagged(completions, solution):
    return [1.0]

async def judge(completions):
    return [1.0]
"""


class File:
    """A config file in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "run.toml"

    def read(self, text: str, overrides: tuple[str, ...] = ()) -> Any:
        self.path.write_text(text, encoding="utf-8")
        return read_config(self.path, overrides)

    def problems(self, text: str, overrides: tuple[str, ...] = ()) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            self.read(text, overrides)
        return [str(p) for p in caught.value.problems]

    def found(self, text: str, columns: list[str] | None = None) -> list[str]:
        self.path.write_text(text, encoding="utf-8")
        return [str(p) for p in validate(read_draft(self.path), Catalog(), columns)]


@pytest.fixture
def file(tmp_path: Path) -> File:
    (tmp_path / "mine.py").write_text(BAD_REWARDS, encoding="utf-8")
    return File(tmp_path)


def rewards(text: str) -> str:
    """A config whose rewards are the given tables."""
    return '[model]\nname = "m"\n[data]\npath = "d.jsonl"\n' + text


def test_read_good_file_gives_sections_and_defaults(file):
    config = file.read(GOOD)

    assert config.model.name == "m"
    assert config.model.lora is None
    assert config.data.path == "d.jsonl"
    assert config.rewards["right"].weight == 1.0
    assert config.rewards["right"].missing == "neutral"
    assert config.train == {"per_device_train_batch_size": 4}
    assert config.run is None
    assert config.plugins.block == []
    assert config.folder == file.path.parent


def test_read_byte_order_mark_and_crlf_are_no_fault(file):
    file.path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())

    assert read_config(file.path).model.name == "m"


def test_read_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no config file .*gone\.toml"):
        read_config(tmp_path / "gone.toml")


def test_read_directory_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_config(tmp_path)


def test_read_not_utf8_is_named(file):
    file.path.write_bytes(b'name = "\xff"')

    with pytest.raises(ConfigError, match=r"run\.toml is not UTF-8 text"):
        read_config(file.path)


def test_read_not_toml_names_the_line(file):
    (text,) = file.problems('[model]\nname = "m"\nname = \n')

    assert "run.toml is not TOML: " in text
    assert "line 3" in text


def test_read_empty_file_names_every_missing_section(file):
    assert file.problems("") == [
        "model: the section [model] is missing",
        "data: the section [data] is missing",
        "rewards: no reward is configured; add a [rewards.<name>]",
    ]


def test_read_all_problems_are_counted_under_the_files_name(file):
    with pytest.raises(ConfigError) as caught:
        file.read('[model]\nnam = "m"\n[data]\npath = 5\n[rewards.a]\nuse = "x/y"\nwieght = 2\n')

    assert str(caught.value).splitlines() == [
        f"4 problems in {file.path}:",
        "  - model.nam: unknown key. Did you mean 'name'? Keys are attn, dtype, lora, name",
        "  - model.name: is missing",
        "  - data.path: Input should be a valid string, got 5",
        "  - rewards.a.wieght: unknown key. Did you mean 'weight'? A reward's own options sit in "
        "options = { wieght = … }; keys here are cache, concurrency, inputs, isolation, missing, "
        "modes, on_error, on_timeout, options, otherwise, rate, requires, retries, shadow, "
        "timeout_s, transform, use, weight",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[modle]\n", "modle: unknown key. Did you mean 'model'?"),
        ("[reward.a]\n", "reward: unknown key. Did you mean 'rewards' or 'record'?"),
        ("[run]\npath = 'r'\n", "run.path: unknown key. Keys are dir"),
        ("[plugins]\nblok = ['a']\n", "plugins.blok: unknown key. Did you mean 'block'?"),
        ("[plugins]\nblock = 'a'\n", "plugins.block: Input should be a valid list, got 'a'"),
        ("[plugins]\nallow = [1]\n", "plugins.allow.0: Input should be a valid string, got 1"),
        ("[run]\ndir = ''\n", "run.dir: expected a text that is not empty, got ''"),
        ("[run]\ndir = 5\n", "run.dir: Input should be a valid string, got 5"),
        ("[run]\n", "run.dir: is missing"),
        ("[record]\nraw = true\n", "record.raw: unknown key. Keys are completions, raw_text"),
        ("[record]\ncompletions = 0\n", 'record.completions: expected "all", "off" or how many'),
    ],
)
def test_read_fault_of_a_section_is_named(file, text, problem):
    texts = file.problems(GOOD + text)

    assert texts[0].startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("dtype = 'fp16'", "model.dtype: Input should be 'float32', 'bfloat16', 'float16' or 'au"),
        ("lora = 8", "model.lora: Input should be a valid dictionary"),
        (
            "lora = { rank = 8 }",
            "model.lora.rank: unknown key. Keys are alpha, dropout, r, target_",
        ),
        ("lora = { aplha = 8 }", "model.lora.aplha: unknown key. Did you mean 'alpha'?"),
        (
            "lora = { target_modules = [] }",
            "model.lora.target_modules: expected a name at least; leave it out to adapt all linear",
        ),
        ("lora = { r = 0 }", "model.lora.r: Input should be greater than or equal to 1, got 0"),
        ("lora = { r = '8' }", "model.lora.r: Input should be a valid integer, got '8'"),
        ("quantization = '4bit'", "model.quantization: is not supported yet; leave it out"),
        ("chat_template = 'x'", "model.chat_template: is not supported yet; leave it out"),
    ],
)
def test_read_fault_of_the_model_is_named(file, line, problem):
    (text,) = file.problems(GOOD.replace('name = "m"', 'name = "m"\n' + line))

    assert text.startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("weight = '0.5'", "weight: Input should be a valid number, got '0.5'"),
        ("weight = true", "weight: Input should be a valid number, got True"),
        ("missing = 'mean'", "missing: Input should be 'neutral', 'zero' or 'drop', got 'mean'"),
        ("options = 'x'", "options: Input should be a valid dictionary, got 'x'"),
        ("inputs = ['answer']", "inputs: Input should be a valid dictionary, got ['answer']"),
    ],
)
def test_read_fault_of_a_reward_is_named(file, line, problem):
    (text,) = file.problems(rewards(f'[rewards.a]\nuse = "x/y"\n{line}\n'))

    assert text.startswith(f"rewards.a.{problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rewards = 5\n", "rewards: expected tables [rewards.<name>], got 5"),
        ("rewards = { a = 'x/y' }\n", "rewards.a: expected a table, got 'x/y'"),
        ("[[rewards]]\nuse = 'x/y'\n", "rewards: expected tables [rewards.<name>], got [{"),
        ("[rewards]\n", "rewards: no reward is configured"),
        ("[rewards.a]\nweight = 1.0\n", "rewards.a.use: is missing"),
        ("[rewards.a]\nuse = 5\n", "rewards.a.use: expected a reward's name, got 5"),
        ("[rewards.' ']\nuse = 'x/y'\n", "rewards. : a reward needs a name, got a blank one"),
        ("train = 5\n[rewards.a]\nuse = 'x/y'\n", "train: expected a table, got 5"),
    ],
)
def test_read_fault_of_the_tables_is_named(file, text, problem):
    whole = "model = { name = 'm' }\ndata = { path = 'd' }\n" + text

    (found,) = file.problems(whole)

    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("train.max_steps=10", "train.max_steps", 10),
        ("train.learning_rate=2e-6", "train.learning_rate", 2e-6),
        ("train.bf16 = true", "train.bf16", True),
        ("train.report_to=none", "train.report_to", "none"),
        ("train.report_to='3'", "train.report_to", "3"),
        ("train.list=[1, 2]", "train.list", [1, 2]),
        ("train.x=a=b", "train.x", "a=b"),
        ("train.x=", "train.x", ""),
        ("train.x=1\ny=2", "train.x", "1\ny=2"),
        ("train.'a.b'=1", "train.a.b", 1),
    ],
)
def test_override_sets_the_value(file, override, path, value):
    config = file.read(GOOD, (override,))

    assert config.train[path.split(".", 1)[1]] == value


def test_override_reaches_into_rewards_and_makes_sections(file):
    config = file.read(
        GOOD.replace("rewards.right", 'rewards."a/b#2"'),
        ("rewards.a/b#2.weight=0.5", "rewards.\"a/b#2\".options.tags=['x']", "run.dir=runs/x 1"),
    )

    assert config.rewards["a/b#2"].weight == 0.5
    assert config.rewards["a/b#2"].options == {"tags": ["x"]}
    assert config.run.dir == "runs/x 1"


def test_override_of_another_type_is_named_like_the_files_own(file):
    assert file.problems(GOOD, ("rewards.right.weight=high", "model.size=1")) == [
        "model.size: unknown key. Keys are attn, dtype, lora, name",
        "rewards.right.weight: Input should be a valid number, got 'high'",
    ]


@pytest.mark.parametrize("text", ["train.max_steps", "=5", "train.=5", ".x=5", ""])
def test_override_of_no_known_form_is_refused(file, text):
    assert file.problems(GOOD, (text,)) == [
        f"--set: expected section.key=value, got {text!r}, e.g. train.max_steps=10"
    ]


def test_override_into_a_value_is_refused(file):
    assert file.problems(GOOD, ("model.name.size=5",)) == [
        "--set: 'model.name.size=5': 'name' is a value, not a table"
    ]


def test_override_of_a_table_by_a_value_is_refused(file):
    assert "train: expected a table, got 5" in file.problems(GOOD, ("train=5",))


def test_validate_good_config_has_no_problem(file, site):
    site.install("grpo-reward-fake")

    assert file.found(GOOD, ["prompt", "answer"]) == []


def test_validate_misspelt_name_gets_near_names_and_what_is_installed(file, site):
    site.install("grpo-reward-fake")

    (text,) = file.found(GOOD.replace("answer_equals", "answer_equal"))

    assert text.startswith("rewards.right.use: no reward 'fake/answer_equal'")
    assert "Did you mean 'fake/answer_equals'" in text


def test_validate_bare_name_is_refused_with_the_full_one(file, site, monkeypatch):
    site.install("grpo-reward-fake")
    # A plugin beside it has the same bare name.
    monkeypatch.setenv("GRPO_CORE_PLUGINS", "grpo-reward-fake")

    (text,) = file.found(GOOD.replace("fake/answer_equals", "answer_equals"))

    assert text == (
        "rewards.right.use: 'answer_equals' is a bare name; write the full one: "
        "'fake/answer_equals'."
    )


def test_validate_broken_plugin_that_is_named_gives_its_reason(file, site):
    site.install("grpo-reward-fake", source="raise ImportError('no docker')")

    (text,) = file.found(GOOD)

    assert text.startswith("rewards.right.use: reward 'fake/answer_equals' cannot be used")
    assert "no docker" in text


def test_validate_all_problems_of_rewards_columns_weights_and_batch_come_together(file):
    texts = file.found(
        rewards(
            """
[rewards.reward]
use = "mine.py:plain"
options = { tags = "a", shema = true }
weight = nan
[rewards.band]
use = "mine.py:Band"
options = { low = 2 }
[rewards.fn]
use = "mine.py:untagged"
options = { a = 1 }
[rewards.gone]
use = "gone.py:f"
[train]
num_generations = 5
"""
        ),
        ["prompt"],
    )

    assert [t.split(": ", 1)[0] for t in texts] == [
        "rewards.reward",
        "rewards.reward.options.tags",
        "rewards.reward.options.shema",
        "rewards.reward.inputs.answer",
        "rewards.band.options",
        "rewards.fn.options",
        "rewards.fn",
        "rewards.gone.use",
        "rewards.reward.weight",
        "train.num_generations",
    ]
    assert len(set(texts)) == len(texts)


def test_validate_columns_that_are_not_known_are_not_checked(file):
    text = rewards('[rewards.a]\nuse = "mine.py:plain"\noptions = { tags = [] }\n')

    assert file.found(text, None) == []


def test_validate_schedule_that_leaves_zero_is_no_weight_of_zero(file):
    text = rewards(
        '[rewards.a]\nuse = "mine.py:Band"\nweight = { start = 0.0, end = 0.1, steps = 10 }\n'
    )

    assert file.found(text) == []


def test_validate_weights_that_are_all_zero_are_refused(file):
    text = rewards(
        '[rewards.a]\nuse = "mine.py:Band"\nweight = 0\n'
        '[rewards.b]\nuse = "mine.py:Band"\nweight = 0.0\n'
    )

    assert file.found(text) == [
        "rewards: every weight is 0, so nothing can be learnt; set one above 0"
    ]
