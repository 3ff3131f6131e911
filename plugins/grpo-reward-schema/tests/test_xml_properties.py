"""Deleting what a specification requires never pays, whatever stands around it."""

from __future__ import annotations

from typing import Any

from grpo_reward_schema import Xml
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_core import Completion

NAMES = ("a", "b", "c")
Node = dict[str, Any]


def specs(depth: int) -> st.SearchStrategy[Node]:
    inner = {"children": st.just([])}
    if depth:
        inner = {
            "children": st.lists(specs(depth - 1), max_size=3, unique_by=lambda one: one["name"])
        }
    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "min": st.integers(0, 2),
            "text": st.sampled_from(["any", "nonempty", "empty"]),
            "ordered": st.booleans(),
            "closed": st.booleans(),
            "attributes": st.sampled_from([[], [{"name": "k"}], [{"name": "k", "pattern": "^1$"}]]),
            **inner,
        },
        optional={"max": st.integers(2, 3)},
    )


def documents(depth: int) -> st.SearchStrategy[Node]:
    children = st.lists(documents(depth - 1), max_size=4) if depth else st.just([])
    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "text": st.sampled_from(["", "x"]),
            "k": st.sampled_from([None, "1", "2"]),
            "children": children,
        }
    )


def written(node: Node) -> str:
    inner = "".join(written(child) for child in node["children"])
    attribute = "" if node["k"] is None else f' k="{node["k"]}"'
    return f"<{node['name']}{attribute}>{node['text']}{inner}</{node['name']}>"


def without_required(spec: Node, node: Node) -> list[Node]:
    """The document less one thing that the specification requires, for each there is."""
    made = []
    if spec["attributes"] and node["k"] is not None:
        made.append({**node, "k": None})
    if spec["text"] == "nonempty" and node["text"]:
        made.append({**node, "text": ""})
    for inner in spec["children"]:
        places = [i for i, one in enumerate(node["children"]) if one["name"] == inner["name"]]
        for i in places:
            before, child, after = (
                node["children"][:i],
                node["children"][i],
                node["children"][i + 1 :],
            )
            if len(places) <= inner["min"]:
                made.append({**node, "children": before + after})
            made += [
                {**node, "children": [*before, less, *after]}
                for less in without_required(inner, child)
            ]
    return made


@given(specs(2), documents(2))
@settings(max_examples=300, deadline=None)
def test_deleting_what_is_required_never_pays(spec: Node, document: Node) -> None:
    root = {key: value for key, value in spec.items() if key not in ("name", "min", "max")}
    reward = Xml(elements={**root, "root": spec["name"]})
    document = {**document, "name": spec["name"]}
    score = reward(Completion(written(document)))

    assert 0.0 <= score.value <= 1.0
    assert (score.value == 1.0) == (score.reason == "")
    assert score.value == 1.0 or score.value < 0.951
    for less in without_required(spec, document):
        assert reward(Completion(written(less))).value <= score.value + 1e-9


@given(specs(2), documents(2))
@settings(max_examples=200, deadline=None)
def test_one_more_of_a_child_never_pays_where_a_bad_one_stays(spec: Node, document: Node) -> None:
    """Not a copy of a child that is good, and not one of a child that is bad."""
    root = {key: value for key, value in spec.items() if key not in ("name", "min", "max")}
    reward = Xml(elements={**root, "root": spec["name"]})
    least = {inner["name"]: inner["min"] for inner in spec["children"]}
    names = [child["name"] for child in document["children"]]
    score = reward(Completion(written({**document, "name": spec["name"]}))).value

    for i, child in enumerate(document["children"]):
        if names.count(child["name"]) < least.get(child["name"], 0):
            continue  # one more is asked for
        more = [*document["children"][: i + 1], child, *document["children"][i + 1 :]]
        padded = {**document, "name": spec["name"], "children": more}
        assert reward(Completion(written(padded))).value <= score + 1e-9
