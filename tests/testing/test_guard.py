"""What a subclass of `RewardContract` may do to the tests that it inherits."""

from __future__ import annotations

import re

import pytest
import sound_rewards

from grpo_core.testing import RewardContract
from grpo_core.testing.guard import contract_tests

NAME = "test_values_are_finite"


def make(**attributes):
    return type(
        "AContract", (RewardContract,), {"reward": sound_rewards.answer_equals} | attributes
    )


def test_contract_without_changes_is_collected():
    assert make().__test__ is True


def test_contract_itself_and_a_base_without_a_reward_are_not_collected():
    assert RewardContract.__test__ is False
    assert type("Common", (RewardContract,), {"inputs": {}}).__test__ is False


def test_contract_called_test_without_a_reward_is_refused():
    with pytest.raises(TypeError, match="TestX names no reward: set reward to its name"):
        type("TestX", (RewardContract,), {})


@pytest.mark.parametrize("value", [None, lambda self: None])
def test_contract_that_replaces_a_test_is_refused(value):
    with pytest.raises(TypeError, match=f"AContract replaces the contract's {NAME}; say why"):
        make(**{NAME: value})


def test_contract_that_replaces_a_test_by_a_mixin_is_refused():
    mixin = type("Mixin", (), {NAME: lambda self: None})

    with pytest.raises(TypeError, match=f"Both replaces the contract's {NAME}"):
        type("Both", (mixin, RewardContract), {"reward": "x"})


def test_contract_that_replaces_a_test_with_a_reason_keeps_its_own():
    def own(self):
        return None

    made = make(**{NAME: own, "waived": {NAME: "the range is open"}})

    assert vars(made)[NAME] is own


def test_contract_that_waives_a_test_expects_it_to_fail():
    made = make(waived={NAME: "the range is open"})

    [mark] = getattr(made, NAME).pytestmark
    assert mark.name == "xfail"
    assert mark.kwargs == {"reason": "waived: the range is open", "strict": True}


def test_contract_below_one_that_waives_inherits_the_reason():
    parent = make(waived={NAME: "the range is open"})

    child = type("Child", (parent,), {"waived": {"test_import_is_light": "heavy"}})

    assert getattr(child, NAME).pytestmark[0].kwargs["reason"] == "waived: the range is open"


@pytest.mark.parametrize(
    ("waived", "text"),
    [
        ({NAME: " "}, f"AContract.waived['{NAME}']: expected a reason, got ' '"),
        ({NAME: None}, f"AContract.waived['{NAME}']: expected a reason, got None"),
        ({"test_values_are_finit": "x"}, f"'test_values_are_finit'. Did you mean '{NAME}'"),
        ([NAME], "AContract.waived: expected a dict of reasons by test, got ['test_values"),
    ],
)
def test_contract_with_a_reason_that_is_none_is_refused(waived, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        make(waived=waived)


@pytest.mark.parametrize(
    ("name", "meant"), [("attack", "attacks"), ("input", "inputs"), ("max_second", "max_seconds")]
)
def test_contract_with_an_attribute_that_is_nearly_one_is_refused(name, meant):
    with pytest.raises(TypeError, match=f"AContract.{name} is no attribute .*mean '{meant}'"):
        make(**{name: ()})


def test_contract_may_have_attributes_and_tests_of_its_own():
    make(texts=("42",), test_of_its_own=lambda self: None)


def test_contract_that_switches_collection_off_is_refused():
    with pytest.raises(TypeError, match="sets __test__ = False, which drops every test"):
        make(__test__=False)


@pytest.mark.parametrize("mark", ["skip", "xfail"])
@pytest.mark.parametrize("as_list", [False, True])
def test_contract_that_marks_all_of_its_tests_is_refused(mark, as_list):
    made = getattr(pytest.mark, mark)(reason="later")

    with pytest.raises(TypeError, match=f"marks all of its tests as {mark}, which drops every"):
        make(pytestmark=[made] if as_list else made)


def test_contract_may_have_other_marks():
    make(pytestmark=[pytest.mark.slow, pytest.mark.skipif(False, reason="never")])


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"max_seconds": "1"}, "AContract.max_seconds: expected a number of seconds, got '1'"),
        ({"max_seconds": None}, "AContract.max_seconds: expected a number of seconds, got None"),
        ({"max_seconds": True}, "expected a number of seconds, got True"),
        ({"max_import_seconds": -1}, "max_import_seconds: expected a number of seconds, got -1"),
        ({"options": None}, "AContract.options: expected a dict by name, got None"),
        ({"none_inputs": ["answer"]}, "none_inputs: expected a dict by name, got ['answer']"),
        ({"cases": 3}, "AContract.cases: expected the path of a file, got 3"),
        ({"heavy": "torch"}, "AContract.heavy: expected names of packages, got 'torch'"),
    ],
)
def test_contract_with_a_value_of_another_kind_is_refused(attributes, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        make(**attributes)


def test_contract_tests_have_docstrings_of_one_line_first():
    tests = contract_tests(RewardContract)

    assert len(tests) == 27
    assert all((test.__doc__ or "").split("\n")[0].endswith(".") for test in tests.values())
