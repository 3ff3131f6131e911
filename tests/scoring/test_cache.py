"""`OutcomeCache`: what is kept, under which key, and how much of it."""

import pytest

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome
from grpo_core.scoring.cache import OutcomeCache, key_of

REWARD = b"reward"


def key(text: str = "t", inputs: dict[str, object] | None = None, reward: bytes = REWARD) -> bytes:
    made = key_of(reward, Completion(text), {} if inputs is None else inputs)
    assert made is not None
    return made


def test_key_is_the_same_for_the_same_row_and_no_other():
    assert key("t", {"answer": "4"}) == key("t", {"answer": "4"})
    others = [key("u", {"answer": "4"}), key("t", {"answer": "5"}), key("t", {"answer": 4})]
    others += [key("t", {"answer": "4"}, b"another"), key("t", {"gold": "4"})]

    assert len({*others, key("t", {"answer": "4"})}) == 6


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "p"},
        {"raw_text": "t<eos>"},
        {"token_ids": (1, 2)},
        {"truncated": True},
        {"prefill": "<think>"},
    ],
)
def test_key_holds_all_that_a_reward_sees(change):
    assert key_of(REWARD, Completion("t", **change), {}) != key("t")


def test_key_does_not_hold_the_row_and_the_place_in_the_group():
    placed = Completion("t", columns={"id": 7}, group=1, index_in_group=0, group_size=4)

    assert key_of(REWARD, placed, {}) == key("t")


def test_key_of_what_cannot_be_written_down_is_none():
    assert key_of(REWARD, Completion("t"), {"f": lambda: None}) is None


@pytest.mark.parametrize("status", ["failed", "timed_out"])
def test_put_keeps_no_failure(status):
    cache = OutcomeCache()

    cache.put(b"k", Outcome(None, status, "why"))

    assert cache.get(b"k") is None


def test_put_drops_the_least_recently_used_beyond_the_bound():
    cache = OutcomeCache(max_bytes=2 * 320)
    cache.put(b"a", Outcome(0.1))
    cache.put(b"b", Outcome(0.2))
    assert cache.get(b"a") == Outcome(0.1)

    cache.put(b"c", Outcome(0.3))

    assert cache.get(b"b") is None
    assert (cache.get(b"a"), cache.get(b"c")) == (Outcome(0.1), Outcome(0.3))
    assert (len(cache), cache.n_bytes) == (2, 640)


def test_put_of_one_that_is_larger_than_all_keeps_nothing():
    cache = OutcomeCache(max_bytes=100)

    cache.put(b"a", Outcome(0.1, reason="x" * 200))

    assert (len(cache), cache.n_bytes) == (0, 0)


def test_put_twice_counts_once():
    cache = OutcomeCache()

    cache.put(b"a", Outcome(0.1))
    cache.put(b"a", Outcome(0.1))

    assert cache.n_bytes == 320
    cache.clear()
    assert (len(cache), cache.n_bytes) == (0, 0)
