"""The contract of grpo-core for every reward of the plugin."""

from __future__ import annotations

from grpo_core.testing import RewardContract

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


class TestJson(RewardContract):
    reward = "schema/json"
    inputs = {"schema": PERSON}
    good = ('{"name": "Ada", "age": 36}',)
    bad = ("", "Ada is 36.", '{"name": "Ada"}', '{"name": "Ada", "age": "36"}')
    attacks = ("{}", "{" * 1000, "[" * 100_000, '{"name": "", "age": 0}')
