"""Options of type `SecretStr`: named in a config, read where the reward is built, never shown."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from grpo_core import Completion, CompositeReward, load_reward, reward
from grpo_core.errors import ConfigError
from grpo_core.record import to_json

KEY = "sk-12345678"

FILE = '''
from pydantic import SecretStr
from grpo_core import Completion, Score, reward

@reward
def judge(completion: Completion, *, key: SecretStr) -> Score:
    """1.0 if the key came, else 0.0."""
    if completion.text == "leak":
        raise RuntimeError(f"GET https://judge/?key={key.get_secret_value()} failed")
    return Score(float(key.get_secret_value() == "sk-12345678"), reason=str(key))
'''


@reward(isolation="inline")
def has_key(completion: Completion, *, key: SecretStr | None = None) -> float:
    """1.0 if the key is there, else 0.0."""
    return float(key is not None and key.get_secret_value() == KEY)


def test_secret_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)

    assert load_reward(has_key, options={"key": "env:JUDGE_KEY"})("x").value == 1.0
    assert load_reward(has_key)("x").value == 0.0
    assert load_reward(has_key, options={"key": SecretStr(KEY)})("x").value == 1.0


@pytest.mark.parametrize("literal", [KEY, "env:", "env:1x", "$JUDGE_KEY"])
def test_literal_is_refused_and_not_repeated(literal):
    with pytest.raises(ConfigError, match='"env:NAME", got a literal') as caught:
        load_reward(has_key, options={"key": literal})

    assert KEY not in str(caught.value)


def test_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("JUDGE_KEY", raising=False)

    with pytest.raises(ConfigError, match="the environment has no JUDGE_KEY"):
        load_reward(has_key, options={"key": "env:JUDGE_KEY"})


def test_secret_reaches_a_worker_and_no_reason_or_manifest(monkeypatch, tmp_path: Path):
    load_reward("format/tags", isolation="process")("x")  # workers are there before the key
    monkeypatch.setenv("JUDGE_KEY", KEY)
    (tmp_path / "judge.py").write_text(FILE, encoding="utf-8")
    use = {"use": "judge.py:judge", "options": {"key": "env:JUDGE_KEY"}, "isolation": "process"}
    composite = CompositeReward({"judge": use}, folder=tmp_path)

    scored, leaked = composite.score([Completion("x"), Completion("leak")]).outcomes[0]

    assert (scored.value, scored.reason) == (1.0, "**********")
    assert leaked.status == "failed"
    assert "key=…secret… failed" in leaked.reason
    manifest = json.dumps(to_json(composite.describe()))
    assert KEY not in manifest
    assert "env:JUDGE_KEY" in manifest
