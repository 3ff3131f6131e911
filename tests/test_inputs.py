"""`plan_inputs` and `InputPlan.read`: where inputs come from, and what a row makes of them."""

# Authors write Optional and Union as well as the bar.
# ruff: noqa: UP007, UP045

import hashlib
import pickle
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NewType, Optional, Union

import pytest

from grpo_core import reward
from grpo_core.inputs import InputPlan, plan_inputs
from grpo_core.outcome import Outcome
from grpo_core.reward import RewardInfo, info_of

Schema = NewType("Schema", dict)


class Case(typing.TypedDict):
    expected: int


def info(annotation: Any = str, **default: Any) -> RewardInfo:
    """A reward with one input `x` of the type; with `default`, an optional one."""
    if default:

        def r(completion, x=default["default"]):
            return 1.0
    else:

        def r(completion, x):
            return 1.0

    r.__annotations__["x"] = annotation
    return info_of(reward(r))


def plan(annotation: Any = str, bound: Mapping[str, Any] | None = None, **default: Any):
    made, problems = plan_inputs(info(annotation, **default), bound or {})
    assert problems == []
    return made


def problem_of(annotation: Any, bound: Mapping[str, Any], **kwargs: Any) -> str:
    _, problems = plan_inputs(info(annotation), bound, **kwargs)
    (problem,) = problems
    return str(problem)


def test_plan_input_not_bound_is_the_column_of_its_name():
    assert plan().read({"x": "a", "y": "b"}) == {"x": "a"}


def test_plan_input_bound_to_a_column_reads_that_one():
    assert plan(str, {"x": "solution"}).read({"x": "a", "solution": "b"}) == {"x": "b"}


def test_plan_input_bound_to_a_value_is_the_same_for_every_row():
    constant = plan(str, {"x": {"value": "c"}})

    assert constant.read({"x": "a"}) == {"x": "c"}
    assert constant.read({}) == {"x": "c"}


def test_plan_constant_of_another_type_is_a_problem():
    assert problem_of(str, {"x": {"value": 42}}) == (
        "inputs.x: expected str, got 42 (Input should be a valid string)"
    )


def test_plan_constant_fault_inside_has_its_path():
    text = problem_of(list[int], {"x": {"value": [1, "b"]}}, where="rewards.a.inputs")

    assert text.startswith("rewards.a.inputs.x[1]: expected list[int], got 'b'")


def test_plan_input_that_the_reward_lacks_gets_near_names():
    text = problem_of(str, {"x": "a", "xx": "b"})

    assert text == "inputs.xx: 'r' has no such input. Did you mean 'x'? Inputs are x."


def test_plan_column_that_the_data_lacks_names_the_columns_and_the_binding():
    text = problem_of(str, {"x": "solutoin"}, columns=["prompt", "solution"])

    assert text == (
        "inputs.x: 'r' reads column 'solutoin', which the data does not have. Did you mean "
        "'solution'? Columns are prompt, solution. Bind it: inputs = { x = \"<column>\" }"
    )


def test_plan_optional_input_without_column_is_no_problem():
    made, problems = plan_inputs(info(str, default="d"), {}, columns=["prompt"])

    assert problems == []
    assert made.read({"prompt": "p"}) == {}


def test_plan_optional_input_bound_to_a_missing_column_is_a_problem():
    _, problems = plan_inputs(info(str, default="d"), {"x": "gone"}, columns=["prompt"])

    assert "'gone', which the data does not have" in str(problems[0])


@pytest.mark.parametrize("source", [5, None, ["a"], {}, {"value": 1, "file": "f"}, {"column": "x"}])
def test_plan_source_of_no_known_form_is_a_problem(source):
    assert problem_of(str, {"x": source}).startswith("inputs.x: ")


def test_plan_source_of_another_reward_is_its_value():
    made, problems = plan_inputs(info(float), {"x": {"reward": "r"}}, rewards=["r"])

    assert problems == []
    assert made.read({}, {"r": Outcome(0.5)}) == {"x": 0.5}


@pytest.mark.parametrize("status", ["skipped", "failed", "timed_out"])
def test_read_reward_without_a_value_is_a_missing_input(status):
    made, _ = plan_inputs(info(float), {"x": {"reward": "r"}}, rewards=["r"])
    optional, _ = plan_inputs(info(float, default=0.0), {"x": {"reward": "r"}}, rewards=["r"])
    nullable, _ = plan_inputs(info(float | None), {"x": {"reward": "r"}}, rewards=["r"])
    outcomes = {"r": Outcome(None, status, "why")}

    reason = f"input 'x': reward 'r' {status}: why"
    assert made.read({}, outcomes) == Outcome(None, "skipped", reason)
    assert optional.read({}, outcomes) == {}
    assert nullable.read({}, outcomes) == {"x": None}


def test_read_reward_that_was_late_and_counts_as_a_number_is_that_number():
    made, _ = plan_inputs(info(float), {"x": {"reward": "r"}}, rewards=["r"])

    assert made.read({}, {"r": Outcome(0.0, "timed_out", "late")}) == {"x": 0.0}


def test_plan_source_of_another_reward_that_does_not_fit_is_named():
    unknown = problem_of(float, {"x": {"reward": "corect"}}, rewards=["correct"])
    text = problem_of(str, {"x": {"reward": "correct"}}, rewards=["correct"])

    assert unknown == (
        "inputs.x: expected the name of another reward, got 'corect'. Did you mean 'correct'? "
        "Rewards are correct."
    )
    assert text == (
        "inputs.x: another reward's value is a number or None, and the input is declared as str; "
        "declare it as float | None"
    )


def test_plan_json_file_is_decoded_and_hashed(tmp_path):
    data = b'\xef\xbb\xbf{"type": "object"}'
    (tmp_path / "s.json").write_bytes(data)

    made, problems = plan_inputs(info(dict), {"x": {"file": "s.json"}}, folder=tmp_path)

    assert problems == []
    assert made.read({}) == {"x": {"type": "object"}}
    assert made.files == {str(tmp_path / "s.json"): hashlib.sha256(data).hexdigest()}


def test_plan_text_file_is_its_text(tmp_path):
    (tmp_path / "s.txt").write_text('{"a": 1}', encoding="utf-8")

    made, _ = plan_inputs(info(str), {"x": {"file": "s.txt"}}, folder=tmp_path)

    assert made.read({}) == {"x": '{"a": 1}'}


def test_plan_json_file_for_a_text_input_is_its_text(tmp_path):
    (tmp_path / "s.json").write_text('{"a": 1}', encoding="utf-8")

    made, problems = plan_inputs(info(str | None), {"x": {"file": "s.json"}}, folder=tmp_path)

    assert problems == []
    assert made.read({}) == {"x": '{"a": 1}'}


def test_plan_file_of_any_name_for_a_dict_is_decoded(tmp_path):
    (tmp_path / "s.schema").write_text('{"a": 1}', encoding="utf-8")

    made, _ = plan_inputs(info(dict), {"x": {"file": "s.schema"}}, folder=tmp_path)

    assert made.read({}) == {"x": {"a": 1}}


@pytest.mark.parametrize(
    ("name", "content", "phrase"),
    [
        ("gone.json", None, "gone.json cannot be read: No such file or directory"),
        (".", None, "cannot be read: Is a directory"),
        ("bad.json", b'{"a": ', "bad.json is not JSON of the declared type: Expecting value"),
        ("nan.json", b'{"a": NaN}', "NaN is not JSON"),
        ("twice.json", b'{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ("list.json", b"[1]", "expected an object, got '[1]'"),
        ("bin.json", b"\xff\xfe", "bin.json is not JSON of the declared type: 'utf-8' codec"),
        ("deep.json", b"[" * 100_000, "is not JSON of the declared type"),
    ],
)
def test_plan_file_that_cannot_be_used_is_a_problem(tmp_path, name, content, phrase):
    if content is not None:
        (tmp_path / name).write_bytes(content)

    assert phrase in problem_of(dict, {"x": {"file": name}}, folder=tmp_path)


@pytest.mark.parametrize("name", [5, "", None])
def test_plan_file_without_a_path_is_a_problem(name):
    assert problem_of(str, {"x": {"file": name}}) == (
        f"inputs.x: expected a file's path, got {name!r}"
    )


def test_plan_pickles():
    made = plan(dict[str, int])

    assert pickle.loads(pickle.dumps(made)) == made


def test_read_row_without_the_column_fails_and_names_it():
    assert plan().read({"y": 1}) == Outcome(None, "failed", "input 'x': no column 'x'")


def test_read_none_for_a_type_that_does_not_admit_it_is_skipped():
    assert plan(str, {"x": "gold"}).read({"gold": None}) == Outcome(
        None, "skipped", "input 'x' is None (column 'gold')"
    )


def test_read_none_for_an_optional_input_uses_the_default():
    assert plan(str, default="d").read({"x": None}) == {}


@pytest.mark.parametrize("annotation", [Optional[str], str | None, None, Any, object])
def test_read_none_for_a_type_that_admits_it_is_passed(annotation):
    assert plan(annotation).read({"x": None}) == {"x": None}


def test_read_none_for_an_unannotated_input_is_passed():
    @reward
    def r(completion, x):
        return 1.0

    assert plan_inputs(info_of(r), {})[0].read({"x": None}) == {"x": None}


@pytest.mark.parametrize(
    ("annotation", "text", "expected"),
    [
        (dict, '{"a": 1}', {"a": 1}),
        (dict[str, Any], '{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
        (list[str], '["a"]', ["a"]),
        (Sequence[int], "[1]", [1]),
        (Mapping[str, int], '{"a": 1}', {"a": 1}),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        (set[str], '["a", "a"]', {"a"}),
        (frozenset[str], '["a"]', frozenset({"a"})),
        (Optional[dict], '{"a": 1}', {"a": 1}),
        (Optional[dict], "null", None),
        (Union[dict, list], "[1]", [1]),
        (int | list[int], "5", 5),
        (Annotated[dict, "a schema"], '{"a": 1}', {"a": 1}),
        (Annotated[Optional[list[int]], "numbers"], "[1]", [1]),
        (Schema, '{"a": 1}', {"a": 1}),
        (Case, '{"expected": 4}', {"expected": 4}),
        (list[Case], '[{"expected": 4}]', [{"expected": 4}]),
        (dict, '{"große": "\\u2028"}', {"große": "\u2028"}),
        (str, '{"a": 1}', '{"a": 1}'),
        (str | dict, '{"a": 1}', '{"a": 1}'),
        (Any, '{"a": 1}', '{"a": 1}'),
        (int, "5", "5"),
    ],
)
def test_read_json_text_is_decoded_where_the_type_is_a_dict_or_list(annotation, text, expected):
    read = plan(annotation).read({"x": text})

    assert read == {"x": expected}
    assert type(read["x"]) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "text", "reason"),
    [
        (dict, "{'a': 1}", "Expecting property name enclosed in double quotes"),
        (dict, "", "Expecting value"),
        (dict, "[1]", "expected an object, got '[1]'"),
        (list, '{"a": 1}', "expected an array, got "),
        (list, "5", "expected an array, got '5'"),
        (dict, '"text"', "expected an object"),
        (list, "[NaN]", "NaN is not JSON"),
        (list, "[1e999]", "1e999 is beyond any float"),
        (dict, '{"a": {"b": 1, "c": 2, "b": 3}}', "the key 'b' is there twice"),
        (set[str], "[[1]]", "unhashable type"),
        (list, "[" * 100_000, "recursion"),
    ],
)
def test_read_text_that_is_no_such_json_fails_and_names_the_column(annotation, text, reason):
    outcome = plan(annotation, {"x": "gold"}).read({"gold": text})

    assert (outcome.value, outcome.status) == (None, "failed")
    assert outcome.reason.startswith(
        "input 'x': column 'gold' holds no JSON of the declared type: "
    )
    assert reason in outcome.reason


def test_read_json_null_for_a_type_that_does_not_admit_none_is_skipped():
    assert plan(dict).read({"x": "null"}).status == "skipped"


def test_read_value_that_is_nested_already_stays():
    assert plan(dict).read({"x": {"a": 1}}) == {"x": {"a": 1}}


def test_read_nested_value_is_a_copy_of_the_rows():
    row = {"x": {"a": [1]}}

    plan(dict).read(row)["x"]["a"].append(2)

    assert row == {"x": {"a": [1]}}


def test_read_nested_constant_is_another_object_for_each_row():
    constant = plan(dict, {"x": {"value": {"a": [1]}}})

    constant.read({})["x"]["a"].append(2)

    assert constant.read({}) == {"x": {"a": [1]}}


def test_read_object_that_is_no_container_is_the_same_object():
    thing = object()

    assert plan(Any).read({"x": thing})["x"] is thing


def test_read_plan_of_no_inputs_is_empty():
    assert InputPlan().read({"x": 1}) == {}


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (set[int], [1, 1], {1}),
        (list[int], [1, 1], [1, 1]),
        (list | tuple, [1], [1]),
        (Any, [1], [1]),
    ],
)
def test_read_list_that_is_no_text_becomes_what_is_declared(annotation, value, expected):
    read = plan(annotation).read({"x": value})

    assert read == {"x": expected}
    assert type(read["x"]) is type(expected)


def test_read_list_that_cannot_be_a_set_is_a_failure():
    outcome = plan(set[str]).read({"x": [{"a": 1}]})

    assert isinstance(outcome, Outcome)
    assert outcome.status == "failed"
    assert outcome.reason.startswith("input 'x': column 'x' holds no JSON of the declared type: ")
