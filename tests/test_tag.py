"""The arguments of `@reward`: what each can be, and what the author is told."""

import pytest

from grpo_core import reward
from grpo_core.reward import info_of


def tagged(**arguments):
    @reward(**arguments)
    def r(completion):
        return 1.0

    return info_of(r)


def refused(error, **arguments):
    with pytest.raises(error) as caught:
        tagged(**arguments)
    return str(caught.value)


def test_tag_without_arguments_leaves_all_to_the_engine():
    info = tagged()

    assert (info.scope, info.deterministic, info.is_async) == ("sample", True, False)
    assert (info.isolation, info.timeout_s) == (None, None)
    assert (info.on_timeout, info.on_error) == ("low", "missing")


def test_tag_keeps_what_the_author_suggests():
    info = tagged(range=(-1, 1), isolation="process", timeout_s=2, on_timeout=0, on_error="raise")

    assert (info.isolation, info.timeout_s) == ("process", 2.0)
    assert (info.on_timeout, info.on_error) == (0.0, "raise")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scope": "row"}, "scope must be 'sample', 'batch' or 'group', got 'row'"),
        ({"scope": ["batch"]}, "scope must be 'sample', 'batch' or 'group', got ['batch']"),
        ({"isolation": "fork"}, "isolation must be 'inline', 'thread' or 'process', got 'fork'"),
        ({"timeout_s": 0}, "timeout_s must be finite and above 0, got 0; leave it out for the"),
        ({"timeout_s": -1.5}, "timeout_s must be finite and above 0, got -1.5"),
        ({"timeout_s": float("nan")}, "timeout_s must be finite and above 0, got nan"),
        ({"timeout_s": float("inf")}, "timeout_s must be finite and above 0, got inf"),
        (
            {"on_timeout": "raise"},
            "on_timeout must be 'low' or 'missing', or a number in the range [0, 1], got 'raise'",
        ),
        ({"on_timeout": -0.5}, "or a number in the range [0, 1], got -0.5"),
        ({"on_timeout": 2, "range": (0, 1.5)}, "or a number in the range [0, 1.5], got 2"),
        (
            {"on_error": "low"},
            "on_error must be 'missing' or 'raise', or a number in the range [0, 1], got 'low'",
        ),
        ({"on_error": float("nan"), "range": lambda: (0, 1)}, "a number in the range, got nan"),
        (
            {"isolation": "inline", "timeout_s": 2},
            "an inline reward has no deadline, so timeout_s would do nothing; leave it out",
        ),
        ({"isolation": "inline", "on_timeout": "missing"}, "so on_timeout would do nothing"),
    ],
)
def test_tag_value_that_cannot_be_is_refused(arguments, said):
    text = refused(ValueError, **arguments)

    assert text.startswith("@reward on 'r': ")
    assert said in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"deterministic": "no"}, "deterministic must be a bool, got 'no'"),
        ({"timeout_s": True}, "timeout_s must be a number of seconds, got True"),
        ({"timeout_s": "2"}, "timeout_s must be a number of seconds, got '2'"),
        ({"on_timeout": []}, "on_timeout must be 'low' or 'missing', or a number"),
        ({"on_error": False}, "on_error must be 'missing' or 'raise', or a number"),
    ],
)
def test_tag_value_of_another_type_is_refused(arguments, said):
    assert said in refused(TypeError, **arguments)


def test_tag_number_is_left_to_the_config_where_the_range_depends_on_options():
    assert tagged(range=lambda: (0, 1), on_error=5).on_error == 5.0


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_tag_async_reward_runs_on_a_loop_only(isolation):
    with pytest.raises(TypeError) as caught:

        @reward(isolation=isolation)
        async def judge(completion):
            return 1.0

    assert str(caught.value) == (
        f"reward 'judge' is async and runs on an event loop of this process, got "
        f"isolation='{isolation}'; leave isolation out, or use a plain def"
    )


def test_tag_async_reward_may_say_thread():
    @reward(isolation="thread", timeout_s=30)
    async def judge(completion):
        return 1.0

    assert info_of(judge).isolation == "thread"


def test_async_reward_that_is_late_is_missing_unless_it_says_otherwise():
    async def judge(completion):
        """A number."""
        return 1.0

    assert info_of(reward(judge)).on_timeout == "missing"
    assert info_of(reward(on_timeout="low")(judge)).on_timeout == "low"
