"""Rewards under the contract, wherever they come from and wherever they run."""

from __future__ import annotations

import wrong_rewards
from contracts import contract, failed

SOURCE = """
from grpo_core import hookimpl, reward

@reward
def answer_equals(completion, answer: str) -> float:
    '''1.0 if the text is the answer, else 0.0.'''
    return float(completion.text == answer)

@hookimpl
def grpo_rewards():
    return [answer_equals]
"""


def test_reward_of_an_installed_plugin_passes(site):
    site.install("grpo-reward-fake", SOURCE)

    assert failed(contract("fake/answer_equals")) == {}


def test_reward_of_a_file_passes(site):
    path = site.write("rewards_file.py", SOURCE)

    assert failed(contract(f"{path}:answer_equals")) == {}


def test_reward_that_asks_for_threads_passes():
    assert failed(contract(wrong_rewards.waits)) == {}


def test_reward_that_reads_what_a_worker_does_not_know_is_told(monkeypatch):
    monkeypatch.setattr(wrong_rewards, "share", 0.5)

    found = failed(contract(wrong_rewards.reads_a_global))

    assert list(found) == ["test_worker_scores_the_same"]
    assert "  - good[0] '42': 0.5 as given, 1 in a worker" in found["test_worker_scores_the_same"]


def test_reward_whose_module_cannot_be_imported_alone_is_told(site):
    gone = site.write("gone.py", "")
    site.write("needs_gone.py", "import gone\n" + SOURCE)
    import needs_gone

    gone.unlink()
    found = failed(contract(needs_gone.answer_equals))

    assert "No module named 'gone' (exit code 1)" in found["test_import_is_light"]


def test_reward_that_needs_chats_passes_with_chats():
    good, bad = ([{"role": "assistant", "content": text}] for text in ("42", "41"))

    assert failed(contract(wrong_rewards.counts_messages, good=(good,), bad=(bad,))) == {}
