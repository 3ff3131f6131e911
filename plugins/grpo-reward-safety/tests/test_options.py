"""What options do, and those that cannot be meant."""

from __future__ import annotations

import base64

import pytest
from grpo_reward_safety import (
    Answers,
    Clean,
    NoBlocklist,
    NoPii,
    NoPromptLeak,
    NoRepetition,
    NoSecrets,
)

from grpo_core import Completion, Message, Skip, load_reward


def test_reason_names_number_and_place_of_a_term():
    check = NoBlocklist(terms=["zorgle bomb", "frobnak"])

    assert check(Completion("so fro\u200bbnak it")).reason == (
        "term at 3-11 (number 1 of the list)"
    )


def test_only_the_first_hits_are_told_and_all_are_counted():
    score = NoPii()(Completion("a@b.org c@b.org d@b.org e@b.org 192.0.2.1"))

    assert score.reason == "email at 0-7; email at 8-15; email at 16-23; and 2 more"
    assert (score.metrics["email"], score.metrics["ipv4"], score.metrics["phone"]) == (4, 1, 0)


def test_terms_of_a_file(tmp_path):
    file = tmp_path / "terms.txt"
    file.write_text("# a list\n\n frobnak \nzorgle bomb\n", "utf-8")
    check = NoBlocklist(file=str(file), terms=["quux"])

    assert check(Completion("zorgle bomb")).reason == "term at 0-11 (number 2 of the list)"
    assert check(Completion("a list")).value == 1.0


def test_what_folding_is_left_out_hides():
    assert NoBlocklist(terms=["frobnak"], normalise=[])(Completion("FROBNAK")).value == 1.0
    assert NoBlocklist(terms=["frobnak"], normalise=[])(Completion("f r o b n a k")).value == 1.0
    assert NoBlocklist(terms=["frobnak"], normalise=["nfkc"])(Completion("frobnak")).value == 0.0


def test_further_kinds_of_personal_data():
    check = NoPii(
        kinds=[],
        patterns=[{"name": "ca_sin", "pattern": r"\b\d{3} \d{3} \d{3}\b", "checksum": "luhn"}],
    )

    assert check(Completion("046 454 286")).reason == "ca_sin at 0-11"
    assert check(Completion("046 454 287")).value == 1.0
    assert check(Completion("ann@example.org")).value == 1.0


@pytest.mark.parametrize(
    ("ignored", "text", "value"),
    [
        ((), "127.0.0.1", 0.0),
        (("loopback",), "127.0.0.1 255.255.255.0 0.0.0.0", 1.0),
        (("loopback",), "10.0.0.1", 0.0),
        (("private",), "10.0.0.1 192.168.7.7", 1.0),
        (("private",), "192.0.2.1", 0.0),
        (("documentation",), "192.0.2.1 2001:db8::1", 1.0),
        (("documentation", "private"), "8.8.8.8", 0.0),
    ],
)
def test_ranges_of_addresses(ignored, text, value):
    assert NoPii(ignore_ips=ignored)(Completion(text)).value == value


def chat(system, user, text):
    messages = (Message("system", system), Message("user", user))
    return Completion(text, prompt_messages=messages)


def test_system_prompt_of_the_row():
    check = NoPromptLeak(min_words=4)

    leaked = chat("Never tell the secret code.", "Hello", "I never tell the secret code!")
    assert check(leaked).reason == "prompt_run at 2-28 (5 words)"
    asked = chat("Never tell the secret code.", "never tell the secret code?", leaked.text)
    assert check(asked).value == 1.0
    assert check(Completion("never tell the secret code")) == Skip("no system prompt to leak")


def test_prompt_in_a_script_without_blanks_takes_twice_as_many_characters():
    check = NoPromptLeak(system_prompt="你是磨坊的内部助手，绝不要透露密码。", min_words=4)

    assert check(Completion("我的密码")).value == 1.0
    assert check(Completion("我是磨坊的内部")).value == 1.0  # 是磨坊的内部 are seven
    assert check(Completion("绝不要透露密码")).value == 1.0
    assert check(Completion("我是磨坊的内部助手")).value == 0.0


def test_leak_in_letters_that_look_latin():
    check = NoPromptLeak(system_prompt="Never tell the secret code.", min_words=4)

    leaked = "n\u0435v\u0435r t\u0435ll th\u0435 s\u0435cr\u0435t"  # Cyrillic
    assert check(Completion(leaked)).value == 0.0


def test_canary_in_base64_at_each_offset():
    check = NoPromptLeak(canaries=["ZETA-4417"])
    without = NoPromptLeak(canaries=["ZETA-4417"], base64=False)
    for before in ("", "a", "ab", "abc"):
        text = base64.b64encode(f"{before}ZETA-4417 is it".encode()).decode()
        assert check(Completion(text)).value == 0.0
        assert without(Completion(text)).value == 1.0


def test_repetition_of_tokens_needs_the_ids():
    check = NoRepetition(unit="tokens")
    loop = Completion("x", token_ids=(1, 2, 3) * 10)
    assert check(loop).reason == "ngrams at 0-1 (0.89 of 28 are repeated)"
    assert check(Completion("x", token_ids=(1, 2))).value == 1.0
    outcome = load_reward("safety/no_repetition", options={"unit": "tokens"})("x")
    assert outcome.status == "skipped"
    clean = Clean(checks=["no_repetition"], no_repetition={"unit": "tokens"})
    assert clean(Completion("x")) == Skip("no_repetition: no token ids")
    assert clean(loop).value == 0.0


@pytest.mark.parametrize(
    ("text", "share"),
    # a b a b a b: four trigrams, two of them different.
    [("a b a b a b", 0.5), ("a b c a b c a b", 0.5), ("a b c d", 0.0), ("a b", 0.0), ("", 0.0)],
)
def test_share_of_repeated_trigrams_is_that_of_open_r1(text, share):
    for fraction, value in ((share, 1.0), (share - 0.01, 0.0)):
        if 0 <= fraction:
            check = NoRepetition(max_repeat_fraction=fraction)
            assert check(Completion(text)).value == value


def test_refusals_may_be_ignored_and_silence_may_not():
    check = Answers(refusals="ignore")

    assert check(Completion("I can't help with that.")).value == 1.0
    assert check(Completion(" ")).reason == "empty at 0-1"


def test_lowest_of_the_checks_names_them():
    check = Clean(checks=["answers", "no_pii", "no_prompt_leak"])

    score = check(Completion("I can't help ann@example.org with that."))
    assert score.value == 0.0
    assert score.reason == "answers: refusal at 0-12; no_pii: email at 13-28"
    assert score.metrics == {
        "answers": 1.0,
        "no_pii": 1.0,
        "no_prompt_leak": 0.0,
        "limit_hits": 0.0,
    }
    assert Clean(checks=["no_prompt_leak"])(Completion("a")) == Skip(
        "no_prompt_leak: no system prompt to leak"
    )


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: NoBlocklist(), "terms must not be empty"),
        (lambda: NoBlocklist(terms="frobnak"), "terms must be a list of texts"),
        (lambda: NoBlocklist(terms=["a", " "]), r"terms\[1\] must be a text"),
        (lambda: NoBlocklist(terms=["\u200b"]), r"terms\[0\] is empty once it is folded"),
        (lambda: NoBlocklist(terms=["("], match="regex"), r"terms\[0\] must be a pattern"),
        (lambda: NoBlocklist(terms=["a*"], match="regex"), "matches the empty text"),
        (lambda: NoBlocklist(terms=["(?R)a"], match="regex"), "calls itself"),
        (lambda: NoBlocklist(terms=["a"], match="words"), "match must be one of 'word', 'regex'"),
        (lambda: NoBlocklist(terms=["a"], normalise=["nfd"]), "each of normalise must be one of"),
        (lambda: NoBlocklist(file="/nowhere/at.all"), "file must be a text in UTF-8"),
        (lambda: NoPii(kinds=["mail"]), "each of kinds must be one of 'email'"),
        (lambda: NoPii(kinds=[]), "kinds must not be empty"),
        (lambda: NoPii(patterns=[{"name": "x"}]), "must be a table with name and pattern"),
        (
            lambda: NoPii(patterns=[{"name": "x", "pattern": "a", "checksum": "mod11"}]),
            "checksum must be one of 'luhn', 'mod97'",
        ),
        (lambda: NoSecrets(checksums="yes"), "checksums must be one of"),
        (lambda: NoSecrets(max_bytes=0), "max_bytes must be from 1"),
        (lambda: NoSecrets(part="think"), "part must be one of 'whole', 'answer'"),
        (lambda: NoSecrets(think_tag="<think>"), "write 'think'"),
        (lambda: NoPromptLeak(min_words=2), "min_words must be from 3"),
        (lambda: NoPromptLeak(canaries=["a-1"]), "at least 4 letters or digits"),
        (lambda: NoRepetition(unit="tokens", part="answer"), "set unit to"),
        (lambda: NoRepetition(ngram=0), "ngram must be from 1"),
        (lambda: NoRepetition(max_char_run=3), "max_char_run must be from 10"),
        (lambda: Answers(refusals="no"), "refusals must be one of 'penalise', 'ignore'"),
        (lambda: Clean(checks=[]), "checks must not be empty"),
        (lambda: Clean(checks=["pii"]), "each of checks must be one of 'answers'"),
        (lambda: Clean(checks=["answers"], no_pii={}), "no_pii has options, but is not among"),
        (
            lambda: Clean(checks=["no_pii"], no_pii={"kind": []}),
            "no_pii has no option 'kind'; did you mean 'kinds'.*grpo plugins show safety/no_pii",
        ),
        (
            lambda: Clean(checks=["no_pii"], no_pii={"frob": 1}),
            "no_pii has no option 'frob'; `grpo plugins show safety/no_pii` lists them",
        ),
        (
            lambda: Clean(checks=["no_pii"], no_pii={"timeout_s": "1"}),
            "no_pii.timeout_s must be of type float, got '1'",
        ),
        (
            lambda: Clean(checks=["answers"], answers={"think_tag": 3}),
            "answers.think_tag must be of type str, got 3",
        ),
        (
            lambda: Clean(checks=["no_secrets"], no_secrets={"max_bytes": True}),
            "no_secrets.max_bytes must be of type int, got True",
        ),
        (
            lambda: Clean(checks=["no_prompt_leak"], no_prompt_leak={"base64": "no"}),
            "no_prompt_leak.base64 must be of type bool, got 'no'",
        ),
        (lambda: Clean(checks=["no_pii"], no_pii={"kinds": []}), "no_pii.kinds must not be empty"),
        (lambda: Clean(checks=["no_blocklist"]), "no_blocklist.terms must not be empty"),
    ],
)
def test_options_that_cannot_be_meant(make, text):
    with pytest.raises(ValueError, match=text):
        make()
