"""The schema as a constant, a file and a column; what is wrong with it is said before a run."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, CompositeReward, GrpoError

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
GOOD, BAD = '{"name": "Ada"}', '{"name": 1}'


def values(composite: CompositeReward, completions: list[Completion]) -> list[Any]:
    return [outcome.value for outcome in composite.score(completions).outcomes[0]]


def one(inputs: dict[str, Any], **more: Any) -> CompositeReward:
    return CompositeReward({"json": {"use": "schema/json", "inputs": inputs, **more}})


def test_schema_is_a_constant() -> None:
    with closing(one({"schema": {"value": PERSON}})) as composite:
        assert values(composite, [Completion(GOOD), Completion(BAD)]) == [1.0, 0.95 * 2 / 3]


def test_schema_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON))

    with closing(one({"schema": {"file": str(path)}})) as composite:
        assert values(composite, [Completion(GOOD), Completion(BAD)]) == [1.0, 0.95 * 2 / 3]


def test_schema_is_a_column_of_a_data_set_that_holds_json_text() -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list(
        [
            {"prompt": "a", "form": json.dumps(PERSON)},
            {"prompt": "b", "form": json.dumps({"type": "array"})},
            {"prompt": "c", "form": '{"type": "objekt"}'},
            {"prompt": "d", "form": "{"},
        ]
    )
    completions = [Completion(GOOD, prompt=row["prompt"], columns=row) for row in rows]

    with closing(one({"schema": "form"})) as composite:
        outcomes = composite.score(completions).outcomes[0]

    assert [outcome.status for outcome in outcomes] == ["scored", "scored", "failed", "failed"]
    assert [outcome.value for outcome in outcomes] == [1.0, 0.0, None, None]
    assert "/type: " in outcomes[2].reason
    assert "holds no JSON" in outcomes[3].reason


def test_constant_that_is_no_schema_is_an_error_of_the_config(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text('{"prompt": "a"}\n')

    found = problems(tmp_path, 'schema = { value = { type = "objekt" } }')

    assert "the schema cannot be used: /type:" in found


def test_row_that_is_no_schema_is_found_by_the_check(tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    rows = [
        {"prompt": "a", "form": {"type": "object"}},
        {"prompt": "b", "form": {"$ref": "x.json"}},
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))

    found = problems(tmp_path, 'schema = "form"')

    assert "/$ref: 'x.json' is not in the schema" in found
    assert "line 2" in found


def problems(folder: Path, inputs: str) -> str:
    """What `grpo check` says of a run that reads rows.jsonl."""
    config = folder / "run.toml"
    config.write_text(
        '[model]\nname = "model"\n[data]\npath = "rows.jsonl"\n'
        '[rewards.json]\nuse = "schema/json"\n'
        f"inputs = {{ {inputs} }}\n"
    )
    grpo = Path(sys.executable).with_name("grpo")
    ran = subprocess.run([grpo, "check", config], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    return " ".join((ran.stdout + ran.stderr).split())


def test_constant_that_is_no_table_is_an_error() -> None:
    with pytest.raises(GrpoError):
        one({"schema": {"value": "no table"}})
