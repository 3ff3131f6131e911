"""The tests of odd data: junk, missing inputs, unknown fields, chats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome
from grpo_core.signature import Parameter, alternatives
from grpo_core.testing.attributes import Attributes
from grpo_core.testing.cases import shown
from grpo_core.testing.facts import Facts, report, said
from grpo_core.testing.junk import JUNK

# Fields that a trainer may not know, each with two values that say different things.
_FIELDS: Mapping[str, tuple[Callable[[str], Any], Callable[[str], Any]]] = {
    "truncated": (lambda text: False, lambda text: True),
    "raw_text": (lambda text: text, lambda text: text + "<|im_end|>"),
    "token_ids": (lambda text: (1,), lambda text: tuple(range(100))),
}
# Fields that are known of a chat.
_CHATS = {"reply", "prompt_messages"}


class RobustnessTests(Attributes):
    """Whatever the data holds, there is an outcome that says what was the matter."""

    def test_junk_is_survived(self) -> None:
        """No text of `JUNK`, no input as text and no text of another row breaks the reward."""
        facts = self._facts("sound")
        subject = facts.subject
        first = facts.examples[0].completion
        texts = dict(JUNK)
        texts |= {f"input {k!r}": v for k, v in first.columns.items() if isinstance(v, str)}
        junk = {
            name: _known(replace(first, text=text, reply=None), subject.built.needs)
            for name, text in texts.items()
        }
        for here, there in zip(facts.examples, facts.examples[1:], strict=False):
            row = here.completion.with_columns(there.completion.columns)
            junk[f"{here.name} in the row of {there.name}"] = row
        if subject.info.scope == "sample":
            outcomes = subject.score([*junk.values()], subject.safe)
        else:  # beside a sound one, so that the fault has one cause
            outcomes = [subject.score([c, first], subject.safe)[0] for c in junk.values()]
        problems = [
            f"{name}: {said(outcome)}"
            for name, outcome in zip(junk, outcomes, strict=True)
            if outcome.fault
        ]
        report(problems, "Junk must score low or fail by Fail(reason), in time:")

    def test_missing_inputs_give_the_documented_outcome(self) -> None:
        """Without an input it requires a row fails; without an optional one it does not."""
        facts = self._facts("sound")
        problems = []
        for p in _inputs(facts):
            outcome = _first_with(facts, p.name, {})
            right = not outcome.fault if not p.required else outcome.status == "failed"
            if not right:
                problems.append(f"without {p.name!r}: {said(outcome)}")
        report(problems, "An input that may be missing needs a default that works:")

    def test_none_inputs_give_the_documented_outcome(self) -> None:
        """A row where an input is None is what `none_inputs` says; by default never scored.

        An input whose type admits None, or with a default, may be scored too.
        """
        facts = self._facts("sound")
        problems = []
        for p in _inputs(facts):
            outcome = _first_with(facts, p.name, {p.name: None})
            told = self.none_inputs.get(p.name)
            expected = ["skipped", "failed"] if told is None else [told]
            if told is None and (not p.required or type(None) in alternatives(p.annotation)):
                expected.append("scored")
            if outcome.fault or outcome.status not in expected:
                wanted = " or ".join(expected)
                problems.append(f"{p.name!r} is None: {said(outcome)}, expected {wanted}")
        report(
            problems,
            "Where an input is None, a value must not come by accident; give the input a type, so "
            "that the row is skipped, or say in none_inputs what it is:",
        )

    def test_unknown_fields_are_not_guessed(self) -> None:
        """Where the score depends on a field of the completion, a row without it has no value.

        Such fields are `truncated`, `raw_text` and `token_ids`; the reward names them in `needs`.
        """
        facts = self._facts("repeatable")
        facts.judge(
            lambda: _guessed(facts), "A field that decides must be named in @reward(needs=…):"
        )

    def test_plain_and_chat_data_score_the_same(self) -> None:
        """A text scores the same as a plain reply, as a message, and as a message of blocks."""
        facts = self._facts("repeatable")
        if _CHATS & set(facts.subject.built.needs):
            pytest.skip("the reward needs chats")
        facts.judge(
            lambda: _reformed(facts),
            "The form of the data decides; read completion.text and .prompt:",
        )

    def test_arguments_stay_unchanged(self) -> None:
        """A call leaves the completions and inputs that it gets as they are."""
        facts = self._facts("complete")
        changed = [c for c in facts.watched.calls if c.changed]
        if not any(c.finished for c in facts.watched.calls):
            pytest.skip("cannot be judged: no call returned, see test_calls_return")
        told = [
            f"{shown(c.completions[0].text)}: {' and '.join(c.changed)} not as before"
            for c in changed
        ]
        report(told, "Work on a copy of what you get:")


def _guessed(facts: Facts) -> list[str]:
    needs = facts.subject.built.needs
    usual = facts.usual[:2]  # a good and a bad one
    given = [_known(s.example.completion, needs) for s in usual]
    problems = []
    for field, (one, other) in _FIELDS.items():
        made = [
            facts.score([_with_field(c, field, value) for c in given])
            for value in (one, other, lambda text: None)
        ]
        for s, a, b, unknown in zip(usual, *made, strict=True):
            broken = a.fault or b.fault or unknown.fault
            if broken or (a.value != b.value and unknown.value is not None):
                problems.append(
                    f"{s.example.name}: {said(unknown)} where {field} is unknown, {said(a)} "
                    f"and {said(b)} where it is known"
                )
    return problems


def _reformed(facts: Facts) -> list[str]:
    given = [s.example.completion for s in facts.usual]
    plain = facts.score([replace(c, reply=None, prompt_messages=None) for c in given])
    chat = facts.score([_as_chat(c, c.text) for c in given])
    blocks = facts.score([_as_chat(c, [{"type": "text", "text": c.text}]) for c in given])
    problems = facts.changed(plain, "as plain text")
    problems += facts.changed(chat, "as a chat")
    problems += facts.changed(blocks, "as a chat with content in blocks")
    return problems


def _first_with(facts: Facts, name: str, instead: Mapping[str, Any]) -> Outcome:
    """What the first example is with something in place of an input."""
    first = facts.examples[0].completion
    columns = {key: value for key, value in first.columns.items() if key != name}
    row = first.with_columns({**columns, **instead})
    (outcome,) = facts.subject.score([row], facts.subject.safe)
    return outcome


def _inputs(facts: Facts) -> tuple[Parameter, ...]:
    inputs = facts.subject.info.inputs
    if not inputs:
        pytest.skip("the reward has no inputs")
    return inputs


def _known(completion: Completion, needs: Sequence[str]) -> Completion:
    """The completion with the fields that the reward needs, made up where they are unknown."""
    if _CHATS & set(needs):
        completion = _as_chat(completion, completion.text)
    lacking = [f for f in needs if f in _FIELDS and getattr(completion, f) is None]
    made: dict[str, Any] = {field: _FIELDS[field][0](completion.text) for field in lacking}
    return replace(completion, **made)


def _with_field(c: Completion, field: str, value: Callable[[str], Any]) -> Completion:
    changed: dict[str, Any] = {field: value(c.text)}
    return replace(c, **changed)


def _as_chat(c: Completion, content: object) -> Completion:
    prompt = [{"role": "user", "content": c.prompt}]
    made = Completion.from_data([{"role": "assistant", "content": content}], prompt)
    return replace(c, reply=made.reply, prompt_messages=made.prompt_messages, text=made.text)
