"""The official suite through our scoring path, with both backends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from grpo_reward_schema.compiled import Compiled
from grpo_reward_schema.drafts import BY_NAME
from grpo_reward_schema.formats import ONLY_RUST

SUITE = Path(__file__).with_name("suite")
DRAFTS = {"draft7": BY_NAME["7"], "draft2020-12": BY_NAME["2020-12"]}

# Where jsonschema says something else than the suite, and why.
OF_PYTHON = {
    # It knows no vocabularies; a schema with a metaschema of its own is refused in a config.
    ("draft2020-12", "required"): {"no validation: invalid number, but it still validates"},
}
# Metaschemas of one's own, which may turn formats on, are refused in a config.
OF_BOTH = {
    ("draft2020-12", "optional"): {
        "format-assertion: false: invalid string",
        "format-assertion: true: invalid string",
    }
}


class Result(NamedTuple):
    n: int
    wrong: set[str]
    credit_wrong: set[str]


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SUITE / name).read_text("utf-8").splitlines()]


def resources(draft: str) -> dict[str, Any]:
    """The schemas that the suite refers to; one that names no draft is of that of its folder."""
    named = {
        "draft7": DRAFTS["draft7"],
        "draft2019-09": BY_NAME["2019-09"],
        "draft2020-12": DRAFTS["draft2020-12"],
    }
    made = {}
    for line in lines("remotes.jsonl"):
        schema = line["schema"]
        if isinstance(schema, dict):
            schema = {"$schema": named.get(line["path"].split("/")[0], DRAFTS[draft]), **schema}
        made[f"http://localhost:1234/{line['path']}"] = schema
    return made


def result(draft: str, kind: str, leave_out: frozenset[str] = frozenset()) -> Result:
    n, wrong, credit_wrong = 0, set(), set()
    known = resources(draft)
    for group in lines(f"{draft}.jsonl"):
        if group["kind"] != kind or named_formats(group["schema"]) & leave_out:
            continue
        schema = Compiled(
            group["schema"],
            draft=DRAFTS[draft],
            assert_formats=kind == "format",
            resources=known,
        )
        for test in group["tests"]:
            n += 1
            if schema.is_valid(test["data"]) is not test["valid"]:
                wrong.add(test["description"])
            share, _ = schema.credit(test["data"])
            assert 0.0 <= share <= 1.0
            if (share > 1 - 1e-9) is not test["valid"]:
                credit_wrong.add(test["description"])
    return Result(n, wrong, credit_wrong)


def named_formats(schema: Any) -> set[str]:
    return {schema["format"]} if isinstance(schema, dict) and "format" in schema else set()


@pytest.mark.parametrize(
    ("draft", "kind", "n"),
    [
        ("draft7", "required", 927),
        ("draft7", "optional", 118),
        ("draft2020-12", "required", 1299),
        ("draft2020-12", "optional", 162),
    ],
)
def test_every_verdict_is_that_of_the_suite_or_is_listed(
    backend: str, draft: str, kind: str, n: int
) -> None:
    listed = OF_BOTH.get((draft, kind), set())
    if backend == "python":
        listed = listed | OF_PYTHON.get((draft, kind), set())

    found = result(draft, kind)

    assert found.n == n
    assert found.wrong == listed


@pytest.mark.parametrize(
    ("draft", "n", "n_python"), [("draft7", 676, 336), ("draft2020-12", 764, 423)]
)
def test_every_format_that_is_taken_is_asserted_as_the_suite_says(
    backend: str, draft: str, n: int, n_python: int
) -> None:
    leave_out = ONLY_RUST if backend == "python" else frozenset()

    found = result(draft, "format", leave_out)

    assert found.n == (n_python if backend == "python" else n)
    assert found.wrong == set()


def test_credit_is_full_where_the_suite_says_valid_and_nowhere_else(backend: str) -> None:
    # A walk over the schema knows no dynamic scope, and the others are those above.
    listed = {
        "string list with number values",
        "string list with string values",
        "no validation: invalid number, but it still validates",
    }

    assert result("draft7", "required").credit_wrong == set()
    assert result("draft2020-12", "required").credit_wrong == listed
