"""Types of inputs and options, whatever way the author writes them."""

import importlib
import typing
from collections.abc import Mapping
from typing import Any

import pytest

from grpo_core.reward import info_of

FUTURE = "from __future__ import annotations\n"
HEAD = "import dataclasses, typing\nfrom grpo_core import Completion, reward\n"


@pytest.fixture
def info(site):
    """Reads the declaration of a reward in a module of its own."""

    def read(source, name="r"):
        site.write("written.py", source)
        return info_of(getattr(importlib.import_module("written"), name))

    return read


@pytest.fixture
def first_input(info):
    """Reads the first input of the function `r`."""
    return lambda source: info(source).inputs[0]


def test_annotation_missing_is_any(first_input):
    assert first_input(HEAD + "@reward\ndef r(c, a): pass").annotation is Any


def test_annotation_class_is_kept_and_named(first_input):
    found = first_input(HEAD + "@reward\ndef r(c, a: dict): pass")

    assert (found.annotation, found.type_name) == (dict, "dict")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("list[str]", "list[str]"),
        ("int | None", "int | None"),
        ("typing.Any", "Any"),
        ("typing.Optional[int]", "int | None"),
        ("dict[str, list[Completion]]", "dict[str, list[Completion]]"),
        ("tuple[int, ...]", "tuple[int, ...]"),
        ("typing.Callable[[int], str]", "Callable[[int], str]"),
        ("typing.Literal['a', 'b']", "Literal['a', 'b']"),
    ],
)
def test_annotation_of_parts_is_shown_as_written(first_input, written, shown):
    assert first_input(HEAD + f"@reward\ndef r(c, a: {written}): pass").type_name == shown


def test_annotation_as_text_is_evaluated(first_input):
    found = first_input(FUTURE + HEAD + "@reward\ndef r(c: Completion, a: dict[str, int]): pass")

    assert (found.annotation, found.type_name) == (dict[str, int], "dict[str, int]")


def test_annotation_quoted_as_text_is_evaluated(first_input):
    assert first_input(FUTURE + HEAD + "@reward\ndef r(c, a: 'int'): pass").annotation is int


def test_annotation_imported_for_the_type_checker_is_any_with_its_text(info):
    source = (
        FUTURE
        + HEAD
        + (
            "if typing.TYPE_CHECKING:\n from numpy import ndarray\n"
            "@reward\ndef r(c: Completion, a: ndarray, b: int): pass"
        )
    )

    found = info(source).inputs

    assert (found[0].annotation, found[0].type_name) == (Any, "ndarray")
    assert found[1].annotation is int


def test_annotation_of_the_completion_unknown_is_no_obstacle(first_input):
    source = FUTURE + "from grpo_core import reward\n@reward\ndef r(c: Completion, a: int): pass"

    assert first_input(source).annotation is int


def test_annotation_from_the_standard_library_for_the_type_checker_is_found(first_input):
    source = FUTURE + "from grpo_core import reward\n@reward\ndef r(c, a: Mapping[str, Any]): pass"

    assert first_input(source).annotation == Mapping[str, Any]


def test_annotation_name_of_the_module_wins_over_the_standard_library(first_input):
    source = FUTURE + HEAD + "Mapping = int\n@reward\ndef r(c, a: Mapping): pass"

    assert first_input(source).annotation is int


@pytest.mark.parametrize("prose", ["'the gold answer'", "'1 / 0'", "'a'"])
def test_annotation_that_is_no_type_is_any(first_input, prose):
    source = HEAD + f"a = 'a'\n@reward\ndef r(c, a: {prose}): pass"

    assert first_input(source).annotation is Any


def test_dataclass_options_are_its_fields(info):
    source = (
        FUTURE
        + HEAD
        + (
            "@reward\n@dataclasses.dataclass(kw_only=True)\nclass R:\n"
            " n: int\n tags: list[str] = dataclasses.field(default_factory=lambda: ['think'])\n"
            " hidden: int = dataclasses.field(init=False, default=0)\n"
            " def __call__(self, c): pass"
        )
    )

    found = info(source, "R").options

    assert [(p.name, p.annotation, p.required) for p in found] == [
        ("n", int, True),
        ("tags", list[str], False),
    ]
    assert found[1].default == ["think"]


def test_dataclass_above_the_tag_is_read_as_it_ends(info):
    source = HEAD + (
        "@dataclasses.dataclass(kw_only=True, slots=True)\n@reward\nclass R:\n"
        " n: int = 3\n def __call__(self, c): pass"
    )

    assert info(source, "R").options[0].default == 3


def test_dataclass_above_the_tag_with_positional_fields_is_refused_when_read(info):
    source = HEAD + (
        "@dataclasses.dataclass\n@reward\nclass R:\n n: int = 3\n def __call__(self, c): pass"
    )

    with pytest.raises(TypeError, match="'n' must be keyword-only"):
        info(source, "R")


def test_init_inherited_from_an_untagged_base_is_read(info):
    source = HEAD + (
        "class Base:\n def __init__(self, *, n: int = 1): pass\n"
        "@reward\nclass R(Base):\n def __call__(self, c, a: str): pass"
    )

    found = info(source, "R")

    assert [p.name for p in found.options] == ["n"]
    assert [p.name for p in found.inputs] == ["a"]


def test_mutable_default_is_shown_and_not_copied(info):
    found = info(HEAD + "tags = ['a']\n@reward\ndef r(c, *, tags: list = tags): pass")

    assert found.options[0].default == ["a"]


def test_typing_fallback_knows_any_and_literal(first_input):
    source = FUTURE + "from grpo_core import reward\n@reward\ndef r(c, a: Literal['x']): pass"

    assert first_input(source).annotation == typing.Literal["x"]
