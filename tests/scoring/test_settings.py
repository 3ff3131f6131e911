"""`policy_of`: the author suggests, the config decides, and contradictions are named."""

import pytest

from grpo_core import reward
from grpo_core.reward import info_of
from grpo_core.scoring.checks import UNBOUNDED
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.settings import policy_of, policy_of_function, value_problems
from grpo_core.sections import RewardSection


def decide(suggests=None, *, awaited=False, rebuildable=True, low=0.0, high=1.0, **given):
    """The policy and the problems for a reward with these suggestions under these settings."""

    def plain(completion):
        return 1.0

    async def judge(completion):
        return 1.0

    target = judge if awaited else plain
    target.__qualname__ = target.__name__  # as at the top of a module
    info = info_of(reward(**(suggests or {}))(target))
    policy, problems = policy_of(
        info,
        RewardSection(use="x/y", **given),
        rebuildable=rebuildable,
        low=low,
        high=high,
        where="rewards.a",
    )
    return policy, [str(p) for p in problems]


def policy(*args, **kwargs):
    policy, problems = decide(*args, **kwargs)
    assert problems == []
    return policy


def problems(*args, **kwargs):
    return decide(*args, **kwargs)[1]


# Defaults


def test_policy_of_reward_that_can_be_rebuilt_is_a_process_with_cache():
    assert policy() == Policy(
        isolation="process",
        timeout_s=10.0,
        on_timeout=0.0,
        on_error=None,
        retries=0,
        concurrency=8,
        rate=None,
        cache=True,
    )


def test_policy_of_reward_that_cannot_be_rebuilt_is_called_once_at_a_time():
    assert policy(rebuildable=False).concurrency == 1
    assert policy(rebuildable=False, isolation="thread").concurrency == 8
    assert policy(rebuildable=False, concurrency=3).concurrency == 3


def test_policy_of_reward_that_cannot_be_rebuilt_is_a_thread():
    assert policy(rebuildable=False).isolation == "thread"
    assert policy(rebuildable=False).cache


@pytest.mark.parametrize("rebuildable", [True, False])
def test_policy_of_async_reward_is_a_thread_without_cache(rebuildable):
    found = policy(awaited=True, rebuildable=rebuildable)

    assert (found.isolation, found.cache) == ("thread", False)


def test_policy_low_end_is_that_of_the_range_under_the_options():
    assert policy(low=-2.0, high=3.0).on_timeout == -2.0


# The author suggests


def test_policy_takes_what_the_author_suggests():
    found = policy(
        suggests={
            "isolation": "thread",
            "timeout_s": 30,
            "on_timeout": "missing",
            "on_error": "raise",
            "deterministic": False,
        }
    )

    assert (found.isolation, found.timeout_s) == ("thread", 30.0)
    assert (found.on_timeout, found.on_error) == (None, "raise")
    assert not found.cache


def test_policy_of_inline_reward_has_neither_deadline_nor_cache():
    found = policy(suggests={"isolation": "inline"})

    assert (found.isolation, found.timeout_s, found.cache) == ("inline", None, False)


@pytest.mark.parametrize("scope", ["batch", "group"])
def test_policy_of_larger_scope_has_no_cache(scope):
    assert not policy(suggests={"scope": scope}).cache


# The config decides


def test_policy_takes_the_config_before_the_author():
    found = policy(
        suggests={"isolation": "process", "timeout_s": 30, "on_timeout": 0.5, "on_error": 0.5},
        isolation="thread",
        timeout_s=2,
        on_timeout="low",
        on_error="missing",
        retries=3,
        concurrency=2,
        rate="60/min",
        cache=False,
    )

    assert found == Policy(
        isolation="thread",
        timeout_s=2.0,
        on_timeout=0.0,
        on_error=None,
        retries=3,
        concurrency=2,
        rate=1.0,
        cache=False,
    )


def test_policy_inline_by_config_forgets_the_authors_deadline():
    assert policy(suggests={"timeout_s": 30}, isolation="inline").timeout_s is None


def test_policy_process_by_config_gives_an_inline_reward_the_default_deadline():
    assert policy(suggests={"isolation": "inline"}, isolation="process").timeout_s == 10.0


def test_policy_cache_of_inline_reward_may_be_asked_for():
    assert policy(isolation="inline", cache=True).cache


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_policy_number_at_an_end_of_the_range_is_inside(value):
    found = policy(on_error=value, on_timeout=value)

    assert (found.on_error, found.on_timeout) == (value, value)


# Contradictions


def test_policy_process_that_cannot_be_is_a_problem_with_the_reason():
    assert problems(isolation="process", rebuildable=False) == [
        "rewards.a.isolation: a worker process cannot build 'plain': it was handed over as an "
        "object, not by a name that leads to it. Put it at the top of a module or file and name "
        'it there, such as use = "rewards.py:plain", or set isolation = "thread"'
    ]


def test_policy_process_that_the_author_asks_for_is_not_quietly_a_thread():
    (text,) = problems(suggests={"isolation": "process"}, rebuildable=False)

    assert "cannot build 'plain' (its author asks for a process): it was handed over" in text


@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("__name__", "<lambda>", "it is a lambda"),
        ("__qualname__", "outer.<locals>.inner", "it is defined inside a function"),
        ("__module__", "__main__", "it is defined in the script that runs, which no worker runs"),
    ],
)
def test_policy_process_that_cannot_be_says_why(attribute, value, reason):
    @reward
    def short(completion):
        return 1.0

    short.__qualname__ = "short"
    setattr(short, attribute, value)
    section = RewardSection(use=short, isolation="process")

    _, (problem,) = policy_of(
        info_of(short), section, rebuildable=False, low=0.0, high=1.0, where="rewards.a"
    )

    assert f": {reason}" in problem.message


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_policy_of_async_reward_anywhere_else_is_a_problem(isolation):
    assert problems(awaited=True, isolation=isolation) == [
        f"rewards.a.isolation: an async reward runs on an event loop of this process, got "
        f"'{isolation}'; leave it out, or write the reward as a plain def"
    ]


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_policy_settings_of_waiting_rewards_are_problems_for_others(isolation):
    assert problems(isolation=isolation, retries=1, concurrency=1, rate=5) == [
        f"rewards.a.{key}: is for rewards that wait on a service, in threads or async, and this "
        f'one is {isolation}; set isolation = "thread", or leave {key} out'
        for key in ("retries", "concurrency", "rate")
    ]


def test_policy_no_retries_ask_for_nothing():
    assert problems(isolation="process", retries=0) == []


def test_policy_deadline_of_an_inline_reward_is_a_problem():
    assert problems(suggests={"isolation": "inline"}, timeout_s=2, on_timeout="missing") == [
        f'rewards.a.{key}: an inline reward has no deadline; set isolation to "process" or '
        f'"thread", or leave {key} out'
        for key in ("timeout_s", "on_timeout")
    ]


def test_policy_concurrency_of_a_single_call_is_a_problem():
    assert problems({"scope": "batch"}, awaited=True, concurrency=4) == [
        "rewards.a.concurrency: there is one call for the whole batch, so none can run beside it; "
        "leave it out"
    ]


def test_policy_numbers_outside_the_range_are_problems():
    assert problems(on_timeout=-1, on_error=2.5, high=2.0) == [
        "rewards.a.on_timeout: expected a number in the reward's range [0, 2], got -1; choose one "
        'inside, or "missing"',
        "rewards.a.on_error: expected a number in the reward's range [0, 2], got 2.5; choose one "
        'inside, or "missing"',
    ]


def test_policy_number_that_the_author_suggests_for_another_range_is_a_problem():
    (text,) = problems(suggests={"range": lambda: (0, 9), "on_error": 5})

    assert "range [0, 1], got 5, as its author suggests; choose" in text


@pytest.mark.parametrize(
    ("suggests", "reason"),
    [
        ({"deterministic": False}, "since two calls on the same row may differ"),
        ({"scope": "batch"}, "since it sees a whole batch at once"),
        ({"scope": "group"}, "since it sees a whole group at once"),
    ],
)
def test_policy_cache_of_values_that_may_not_be_kept_is_a_problem(suggests, reason):
    (text,) = problems(suggests=suggests, cache=True)

    assert text.startswith(f"rewards.a.cache: values of 'plain' are not kept, {reason}; leave it")


def test_policy_all_problems_come_together():
    texts = problems(
        suggests={"deterministic": False},
        isolation="inline",
        timeout_s=1,
        rate=1,
        cache=True,
        on_error=7,
    )

    assert [t.split(": ")[0] for t in texts] == [
        "rewards.a.rate",
        "rewards.a.timeout_s",
        "rewards.a.cache",
        "rewards.a.on_error",
    ]


# Untagged functions


def function_policy(*, is_async=False, **given):
    policy, found = policy_of_function(
        RewardSection(use="x:y", **given), is_async=is_async, where="rewards.a"
    )
    return policy, [str(p) for p in found]


def test_policy_of_function_is_inline_as_in_trl():
    assert function_policy() == (
        Policy(isolation="inline", timeout_s=None, on_timeout=None, on_error=None, cache=False),
        [],
    )


@pytest.mark.parametrize(
    "given", [{"timeout_s": 5}, {"retries": 1}, {"rate": 2}, {"isolation": "thread"}]
)
def test_policy_of_function_with_a_setting_of_threads_is_a_thread(given):
    policy, found = function_policy(**given)

    assert (policy.isolation, found) == ("thread", [])


def test_policy_of_async_function_is_a_thread_with_no_deadline_of_its_own():
    policy, found = function_policy(is_async=True)

    assert (policy.isolation, policy.timeout_s, found) == ("thread", None, [])


def test_policy_of_function_takes_numbers_of_any_range():
    policy, found = function_policy(timeout_s=5, on_timeout=-100, on_error="raise")

    assert (policy.on_timeout, policy.on_error, found) == (-100.0, "raise", [])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"isolation": "process"},
            "isolation: an untagged function runs in this process, as TRL calls it, got 'process'",
        ),
        ({"isolation": "inline", "timeout_s": 5}, "timeout_s: an inline reward has no deadline"),
        ({"isolation": "inline", "rate": 5}, "rate: is for rewards that wait on a service"),
        ({"isolation": "inline", "is_async": True}, "isolation: an async reward runs on an event"),
        ({"timeout_s": 5, "concurrency": 2}, "concurrency: there is one call for the whole batch"),
        ({"timeout_s": 5, "on_timeout": "low"}, "on_timeout: an untagged function has no range"),
        ({"cache": True}, "cache: values of an untagged function are not kept"),
    ],
)
def test_policy_of_function_contradiction_is_a_problem(given, problem):
    _, (text,) = function_policy(**given)

    assert text.startswith(f"rewards.a.{problem}")


# Values against the range


def values(low=0.0, high=1.0, **given):
    section = RewardSection(use="x/y", **given)
    return [str(p) for p in value_problems(section, low=low, high=high, where="rewards.a")]


def test_values_that_fit_the_range_are_no_problem():
    given = {
        "requires": {"b": 0.5},
        "otherwise": -1,
        "transform": {"clip": [0.2, 5], "rescale": [0, 2]},
    }

    assert values(**given) == []


@pytest.mark.parametrize("clip", [[1, 2], [-2, 0]])
def test_values_clip_that_leaves_one_value_is_a_problem(clip):
    (text,) = values(transform={"clip": clip})

    assert text == (
        f"rewards.a.transform.clip: [{clip[0]}, {clip[1]}] leaves one value of the reward's range "
        f"[0, 1]; clip inside the range"
    )


def test_values_rescale_without_a_range_is_a_problem():
    (text,) = values(*UNBOUNDED, transform={"clip": [0, 1], "rescale": [0, 2]})

    assert text.startswith("rewards.a.transform.rescale: an untagged function has no range")


def test_values_gate_without_a_low_end_needs_otherwise():
    (text,) = values(*UNBOUNDED, requires={"b": 0.5})

    assert text.startswith("rewards.a.otherwise: is missing: an untagged function has no low end")
    assert values(*UNBOUNDED, requires={"b": 0.5}, otherwise=0) == []
    assert values(*UNBOUNDED, requires={"b": 0.5}, transform={"clip": [0, 1]}) == []


def test_values_otherwise_without_a_gate_is_a_problem():
    (text,) = values(otherwise=0.0)

    assert text.startswith("rewards.a.otherwise: is the value while a gate is closed, and there")
