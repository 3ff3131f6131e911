"""`grpo_core.__all__`: the names that are public, each where it says it is."""

import ast
import importlib
import importlib.metadata
import inspect
from pathlib import Path

import pytest

import grpo_core

PACKAGE = Path(grpo_core.__file__).parent
TREE = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
TRAINING = sorted(n for n, home in grpo_core._LAZY.items() if home.startswith("training"))
LIGHT = sorted(set(grpo_core.__all__) - set(TRAINING))


def names_defined_in(home):
    """Names that a module of the package defines, without importing it."""
    path = PACKAGE.joinpath(*home.split(".")).with_suffix(".py")
    if not path.is_file():
        return set()
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return names


def imported(body):
    """Names by the module they are imported from, in the statements."""
    return {
        alias.name: node.module.removeprefix("grpo_core.")
        for node in body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grpo_core.")
        for alias in node.names
    }


def test_public_names_are_sorted_and_unique():
    assert grpo_core.__all__ == sorted(set(grpo_core.__all__))


def test_public_names_are_the_eager_and_the_lazy_ones():
    assert set(imported(TREE.body)) | set(grpo_core._LAZY) == set(grpo_core.__all__)
    assert set(imported(TREE.body)) & set(grpo_core._LAZY) == set()


def test_lazy_names_are_what_the_type_checker_sees():
    [block] = [n for n in TREE.body if isinstance(n, ast.If)]

    assert imported(block.body) == grpo_core._LAZY


@pytest.mark.parametrize("name", sorted(grpo_core._LAZY))
def test_lazy_name_is_defined_in_its_module(name):
    assert name in names_defined_in(grpo_core._LAZY[name])


@pytest.mark.parametrize("name", LIGHT)
def test_public_name_outside_training_can_be_imported(name):
    assert getattr(grpo_core, name) is not None


@pytest.mark.parametrize("name", LIGHT)
def test_public_name_outside_training_has_a_docstring(name):
    if inspect.isroutine(value := getattr(grpo_core, name)) or inspect.isclass(value):
        assert inspect.getdoc(value)


def test_lazy_name_asked_for_twice_is_the_same_object():
    assert grpo_core.Catalog is grpo_core.Catalog
    assert grpo_core.Catalog is importlib.import_module("grpo_core.catalog").Catalog


def test_dir_holds_every_public_name_and_the_version():
    assert {*grpo_core.__all__, "__version__"} <= set(dir(grpo_core))


def test_version_is_that_of_the_distribution():
    assert grpo_core.__version__ == importlib.metadata.version("grpo-core")


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'grpo_core' has no attribute 'Reward'"):
        grpo_core.Reward  # noqa: B018  # asking for it is the test


@pytest.mark.parametrize("module", ["grpo_core.reward", "grpo_core.scoring", "grpo_core.catalog"])
def test_reward_is_the_function_whichever_module_is_imported(module):
    importlib.import_module(module)

    assert inspect.isfunction(grpo_core.reward)
