"""Completions, groups, a clock and distributions for tests."""

from __future__ import annotations

import pytest

import grpo_core.testing
from grpo_core import Catalog, Completion, load_reward
from grpo_core.testing import JUNK, FakeClock, completions, groups


def test_completions_share_prompt_and_row():
    a, b = completions("4", [{"role": "assistant", "content": "5"}], prompt="2+2=", answer="4")

    assert (a.text, a.prompt, a.columns, a.reply) == ("4", "2+2=", {"answer": "4"}, None)
    assert (b.text, b.prompt, b.columns) == ("5", "2+2=", {"answer": "4"})


def test_completions_keep_what_a_completion_brings():
    [made] = completions(Completion("4", truncated=True, columns={"a": 1}), answer="4")

    assert (made.truncated, made.columns) == (True, {"a": 1, "answer": "4"})


def test_groups_are_neighbours_with_a_row_each():
    made = groups(["4", "5"], ["7"], prompt=["2+2=", "3+4="], answer=["4", "7"])

    assert [(c.text, c.prompt, c.columns["answer"]) for c in made] == [
        ("4", "2+2=", "4"),
        ("5", "2+2=", "4"),
        ("7", "3+4=", "7"),
    ]
    assert [(c.group, c.index_in_group, c.group_size) for c in made] == [
        (0, 0, 2),
        (0, 1, 2),
        (1, 0, 1),
    ]


@pytest.mark.parametrize("values", [["4"], "47", ["4", "7", "9"]])
def test_groups_without_a_value_for_each_are_refused(values):
    with pytest.raises(ValueError, match="answer: expected a list of 2 values, one for each group"):
        groups(["4"], ["7"], answer=values)


def test_groups_that_are_texts_are_refused():
    with pytest.raises(ValueError, match="group 0: expected a list of replies, got '45'"):
        groups("45")


def test_clock_passes_only_when_told():
    clock = FakeClock(10.0)
    assert (clock(), clock()) == (10.0, 10.0)

    clock.advance(2.5)
    clock.sleep(0.5)

    assert clock() == 13.0


def test_clock_does_not_run_backwards():
    with pytest.raises(ValueError, match="a clock does not run backwards, got -1"):
        FakeClock().advance(-1)


def test_site_installs_a_plugin_that_scores(site):
    site.install("grpo-reward-fake")

    equal = load_reward("fake/answer_equals", catalog=Catalog())

    assert equal("4", answer="4").value == 1.0


def test_junk_holds_a_megabyte_and_what_breaks_encoders():
    assert max(map(len, JUNK.values())) == 1_000_000
    assert {"", "\x00a\x00", "\ud800 a \udfff"} < set(JUNK.values())


def test_names_of_the_kit_are_sorted_and_exist():
    names = grpo_core.testing.__all__

    assert names == sorted(names, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert all(hasattr(grpo_core.testing, name) for name in names)
