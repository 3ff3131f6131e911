"""`RewardContract`: each wrong reward fails the tests written down here, and no others."""

from __future__ import annotations

from typing import Any

import pytest
import sound_rewards
import wrong_rewards
from contracts import contract, failed

from grpo_core import Completion

ATTACKS = {"attacks": ("41 42 43",)}
# What each must fail, written down before it was run.
WRONG: list[tuple[str, dict[str, Any], set[str]]] = [
    (
        "constant",
        ATTACKS,
        {"test_worst_good_beats_best_bad", "test_attacks_stay_below_the_lowest_good"},
    ),
    ("dead_column", {}, {"test_worst_good_beats_best_bad"}),
    ("all_none", ATTACKS, {"test_worst_good_beats_best_bad"}),
    ("swallowed_error", {}, {"test_none_inputs_give_the_documented_outcome"}),
    ("returns_too_few", {}, {"test_one_result_comes_back_for_each_completion"}),
    ("wrong_type", {}, {"test_returned_types_are_right"}),
    ("out_of_range", {}, {"test_values_are_in_range"}),
    ("not_a_number", {}, {"test_values_are_finite"}),
    ("infinite_on_empty", {}, {"test_junk_is_survived"}),
    (
        "depends_on_mates",
        {},
        {"test_batch_mates_do_not_matter"},
    ),
    (
        "best_of_the_batch_wins",
        {"good": ("42", ("43" * 9, {"answer": "43" * 9})), "bad": ("41", "142")},
        {"test_batch_mates_do_not_matter"},
    ),
    (
        "depends_on_position",
        {},
        {"test_order_does_not_matter", "test_batch_size_does_not_matter"},
    ),
    ("edits_its_input", {"inputs": {"answers": ["43", "42"]}}, {"test_arguments_stay_unchanged"}),
    ("random_score", {}, {"test_equal_calls_score_the_same"}),
    ("slow", {"max_seconds": 0.005}, {"test_time_per_completion_is_bounded"}),
    ("exits", {}, {"test_calls_return"}),
    ("crashes_on_junk", {}, {"test_junk_is_survived"}),
    ("closure", {}, {"test_reward_can_be_pickled", "test_worker_scores_the_same"}),
]


@pytest.mark.parametrize(("name", "attributes", "expected"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong_reward_fails_the_tests_written_down(name, attributes, expected):
    found = failed(contract(getattr(wrong_rewards, name), **attributes))

    assert set(found) == expected, found


def test_heavy_import_fails_the_test_written_down(site):
    site.write("heavy_library.py", "")
    import wrong_heavy

    found = failed(contract(wrong_heavy.heavy_import, heavy=("heavy_library",)))

    assert set(found) == {"test_import_is_light"}


SOUND: list[tuple[Any, dict[str, Any]]] = [
    (
        sound_rewards.answer_equals,
        {"options": {"strip": True}, "attacks": ("41 42", "answer", "\x00")},
    ),
    (
        sound_rewards.Shortest,
        {"inputs": {}, "good": ("a",), "bad": ("a longer text",), "attacks": ("long",)},
    ),
    (
        sound_rewards.ends_by_itself,
        {
            "inputs": {"mark": None},
            "good": (Completion("Done.", truncated=False), Completion("So?", truncated=False)),
            "bad": (Completion("Done", truncated=False), Completion("Done.", truncated=True)),
        },
    ),
]


@pytest.mark.parametrize(("reward", "attributes"), SOUND, ids=["sample", "group", "batch, async"])
def test_sound_reward_passes_all(reward, attributes):
    assert failed(contract(reward, **attributes)) == {}
