"""`check_options` and `build`: strict types, and a reward built with its options."""

# Authors write Optional as well as the bar.
# ruff: noqa: UP045

import dataclasses
import enum
import typing
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import Field

from grpo_core import reward
from grpo_core.completion import Completion
from grpo_core.errors import ConfigError
from grpo_core.options import build, check_options
from grpo_core.reward import info_of


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Limits:
    low: int = 0
    names: list[str] = dataclasses.field(default_factory=list)


class Pair(typing.TypedDict):
    left: int


def option(annotation: Any, default: Any = None) -> Any:
    """A reward with one option of the type."""

    def r(completion, *, o=default):
        return 1.0

    r.__annotations__["o"] = annotation
    return info_of(reward(r))


def converted(annotation: Any, value: Any) -> Any:
    made, problems = check_options(option(annotation), {"o": value})
    assert problems == []
    return made["o"]


def refused(annotation: Any, value: Any) -> str:
    made, problems = check_options(option(annotation), {"o": value})
    assert made == {}
    (problem,) = problems
    return str(problem)


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (int, 3, 3),
        (float, 3, 3.0),
        (str, "3", "3"),
        (bool, True, True),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[int, str], [1, "a"], (1, "a")),
        (set[str], ["a", "a"], {"a"}),
        (frozenset[int], [1], frozenset({1})),
        (list[int], (1, 2), [1, 2]),
        (Path, "a/b", Path("a/b")),
        (Literal["x", "y"], "x", "x"),
        (Literal[1, 2], 2, 2),
        (Colour, "red", Colour.RED),
        (Colour, Colour.RED, Colour.RED),
        (Optional[int], None, None),
        (int | None, 4, 4),
        (int | str, "4", "4"),
        (Decimal, "1.5", Decimal("1.5")),
        (dict[str, dict[str, list[int]]], {"a": {"b": [1]}}, {"a": {"b": [1]}}),
        (Limits, {"low": 2, "names": ["n"]}, Limits(2, ["n"])),
        (Pair, {"left": 1}, {"left": 1}),
        (Annotated[int, "a unit"], 5, 5),
        (Any, {"free": 1}, {"free": 1}),
    ],
)
def test_check_options_value_of_the_type_is_converted(annotation, value, expected):
    made = converted(annotation, value)

    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("annotation", "value", "phrase"),
    [
        (int, "3", "expected int, got '3'"),
        (int, 3.0, "expected int, got 3.0"),
        (int, True, "expected int, got True"),
        (float, "0.5", "expected float, got '0.5'"),
        (float, True, "expected float, got True"),
        (bool, 1, "expected bool, got 1"),
        (bool, "true", "expected bool, got 'true'"),
        (str, 3, "expected str, got 3"),
        (list[str], "abc", "expected list[str], got 'abc'"),
        (tuple[int, str], ["a", 1], "o[0]: expected tuple[int, str], got 'a'"),
        (Path, 3, "expected Path, got 3"),
        (Literal["x", "y"], "z", "got 'z' (Input should be 'x' or 'y')"),
        (Colour, "blue", "expected Colour, got 'blue'"),
        (int, None, "expected int, got None"),
        (int | str, 1.5, "options.o: expected int | str, got 1.5"),
        (list[int], [1, "2"], "options.o[1]: expected list[int], got '2'"),
        (dict[str, int], {"a": 1, "b": "x"}, "options.o['b']: expected dict[str, int], got 'x'"),
        (int | list[int], ["x"], "options.o: expected int | list[int], got ['x']"),
        (Limits, {"low": "2"}, "options.o['low']: expected Limits, got '2'"),
    ],
)
def test_check_options_value_of_another_type_is_refused(annotation, value, phrase):
    assert phrase in refused(annotation, value)


def test_check_options_long_value_is_cut_in_the_message():
    assert len(refused(int, "x" * 10_000)) < 300


class Opaque:
    """A type pydantic knows nothing of."""


class Hostile:
    @classmethod
    def __get_pydantic_core_schema__(cls, *args):
        raise RuntimeError("no schema")


@pytest.mark.parametrize("annotation", [Opaque, Hostile, 5, "NoSuchName", "some prose"])
def test_check_options_unknown_annotation_takes_any_value(annotation):
    thing = Opaque()

    assert converted(annotation, thing) is thing


def test_check_options_names_of_pydantic_methods_are_plain_options():
    @reward
    def r(completion, *, schema: dict[str, int], json: bool = False, model_config: str = ""):
        return 1.0

    given = {"schema": {"a": 1}, "json": True, "model_config": "m"}

    assert check_options(info_of(r), given) == (given, [])


def test_check_options_several_faults_are_all_reported():
    @reward
    def r(completion, *, tags: list[str], limit: int = 3):
        return 1.0

    _, problems = check_options(info_of(r), {"limit": "3", "tag": []}, "rewards.f.options")

    assert [p.where for p in problems] == [
        "rewards.f.options.limit",
        "rewards.f.options.tag",
        "rewards.f.options.tags",
    ]


def test_check_options_unknown_name_gets_near_names_and_the_list():
    @reward
    def r(completion, *, strip: bool = True, fold: bool = False):
        return 1.0

    (problem,) = check_options(info_of(r), {"stripp": True})[1]

    assert str(problem) == (
        "options.stripp: 'r' has no such option. Did you mean 'strip'? Options are fold, strip."
    )


def test_check_options_name_that_is_no_text_is_refused():
    (problem,) = check_options(option(int), {7: 1})[1]

    assert "has no such option" in problem.message


def test_check_options_name_of_an_input_says_where_it_belongs():
    @reward
    def r(completion, answer: str, *, strip: bool = True):
        return 1.0

    (problem,) = check_options(info_of(r), {"answer": "42"})[1]

    assert "'answer' is an input: bind it under inputs." in problem.message


def test_check_options_required_option_missing_names_its_type():
    @reward
    def r(completion, *, tags: list[str]):
        return 1.0

    (problem,) = check_options(info_of(r), {})[1]

    assert str(problem) == "options.tags: 'r' needs this option (list[str]); it is missing"


def test_build_function_gets_its_options():
    @reward
    def r(completion, *, share: float = 0.0):
        return share

    built = build(info_of(r), {"share": 1})

    assert built.function(Completion("")) == 1.0
    assert (built.low, built.high, built.needs) == (0.0, 1.0, ())


def test_build_wrong_option_raises_with_its_path():
    with pytest.raises(ConfigError, match=r"^rewards\.a\.options\.o: expected int, got 'x'"):
        build(option(int), {"o": "x"}, "rewards.a.options")


def test_build_mutable_default_is_not_shared_between_two():
    @reward(range=(0, 10))
    def r(completion, *, seen: list = []):  # noqa: B006  # what authors write
        seen.append(1)
        return len(seen)

    first, second = build(info_of(r), {}), build(info_of(r), {})
    first.function(Completion(""))

    assert second.function(Completion("")) == 1


@pytest.mark.parametrize("annotation", [list, list[str], Any, Opaque])
def test_build_given_list_stays_the_callers(annotation):
    words = ["a"]

    def r(completion, *, words):
        words.clear()
        return 1.0

    r.__annotations__["words"] = annotation

    build(info_of(reward(r)), {"words": words}).function(Completion(""))

    assert words == ["a"]


def test_build_range_and_needs_follow_the_options_given():
    @reward(range=lambda high: (0.0, high), needs=lambda raw: ("raw_text",) if raw else ())
    def r(completion, *, high: float = 1.0, raw: bool = False):
        return 1.0

    built = build(info_of(r), {"high": 3.0, "raw": True})

    assert (built.low, built.high, built.needs) == (0.0, 3.0, ("raw_text",))


def test_build_range_and_needs_follow_the_default_options():
    @reward(range=lambda high: (-high, high), needs=lambda raw: ("raw_text",) if raw else ())
    def r(completion, *, high: float = 1.0, raw: bool = False):
        return 1.0

    built = build(info_of(r), {})

    assert (built.low, built.high, built.needs) == (-1.0, 1.0, ())


def test_build_range_that_the_options_turn_around_is_a_config_error():
    @reward(range=lambda high: (0.0, high))
    def r(completion, *, high: float = 1.0):
        return 1.0

    with pytest.raises(ConfigError, match="range must be two finite numbers, lowest first"):
        build(info_of(r), {"high": -1.0})


def test_build_needs_of_no_field_is_a_config_error():
    @reward(needs=lambda field: (field,))
    def r(completion, *, field: str = "text"):
        return 1.0

    with pytest.raises(ConfigError, match="needs names no field of Completion: 'txt'"):
        build(info_of(r), {"field": "txt"})


def failing_class(error: BaseException) -> Any:
    @reward
    class Failing:
        def __init__(self, *, low: int = 0):
            raise error

        def __call__(self, completion):
            return 1.0

    return info_of(Failing)


def test_build_class_whose_init_raises_value_error_says_why():
    with pytest.raises(ConfigError) as caught:
        build(failing_class(ValueError("low is above high")), {}, "rewards.x.options")

    assert str(caught.value) == "rewards.x.options: 'failing' refuses them: low is above high"


@pytest.mark.parametrize("error", [KeyError("k"), RuntimeError("k"), SystemExit(0), OSError("k")])
def test_build_class_whose_init_raises_anything_else_is_a_config_error(error):
    with pytest.raises(ConfigError, match=f"'failing' cannot be built: {type(error).__name__}"):
        build(failing_class(error), {})


def test_build_keyboard_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        build(failing_class(KeyboardInterrupt()), {})


def test_build_class_gives_a_new_instance_each_time():
    @reward(range=(0, 9))
    class Count:
        def __init__(self, *, start: int = 0):
            self.n = start

        def __call__(self, completion):
            self.n += 1
            return self.n

    first, second = build(info_of(Count), {"start": 2}), build(info_of(Count), {})
    first.function(Completion(""))

    assert (first.function(Completion("")), second.function(Completion(""))) == (4, 1)


def test_build_dataclass_factory_default_is_not_shared():
    @reward(range=(0, 9))
    @dataclasses.dataclass(kw_only=True)
    class Seen:
        names: list[str] = dataclasses.field(default_factory=list)

        def __call__(self, completion):
            self.names.append("x")
            return len(self.names)

    info = info_of(Seen)
    build(info, {}).function(Completion(""))

    assert build(info, {}).function(Completion("")) == 1


def test_check_options_short_list_or_text_is_told_in_plain_words():
    def r(
        completion,
        *,
        names: Annotated[list[str], Field(min_length=2)],
        word: Annotated[str, Field(min_length=1)],
    ):
        return 1.0

    found = check_options(info_of(reward(r)), {"names": ["a"], "word": ""})[1]

    assert [p.message.partition(" (")[2] for p in found] == [
        "expected at least 2 entries)",
        "expected a text that is not empty)",
    ]
