"""Patterns of ECMA-262: both backends take the same ones, and match the same texts."""

from __future__ import annotations

import json
import time

import pytest
from grpo_reward_schema import Json
from grpo_reward_schema.compiled import Compiled
from grpo_reward_schema.patterns import LimitHit, matcher_of

from grpo_core import Completion, Score

# A pattern, texts that it matches, and texts that it does not, as ECMA-262 has it.
TAKEN: list[tuple[str, list[str], list[str]]] = [
    ("", ["", "a"], []),
    ("a", ["a", "bab"], ["", "b", "A"]),
    ("^a$", ["a"], ["a\n", "ba"]),
    ("^.$", ["a", "😀", "\u0085"], ["\n", "\r", "\u2028", ""]),
    ("^a*$", ["", "aa"], ["b"]),
    ("^a+?$", ["a", "aa"], [""]),
    ("^a{2}$", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", ["aa", "aaa"], ["a"]),
    ("^a{2,3}?$", ["aa", "aaa"], ["a", "aaaa"]),
    ("^a{,2}$", ["a{,2}"], ["", "a", "aa"]),
    ("^{a}$", ["{a}"], ["a"]),
    ("^a]$", ["a]"], ["a"]),
    ("^(a|b|)$", ["a", "b", ""], ["c"]),
    ("^(?:ab)+$", ["ab", "abab"], ["aba"]),
    (r"^\d$", ["7"], ["٣", "x"]),
    (r"^\D$", ["٣", "x"], ["7"]),
    (r"^\w+$", ["aZ_9"], ["é", "-"]),
    (r"^\W$", ["é", "-"], ["a", "_"]),
    (r"^\s$", [" ", "\u00a0", "\ufeff", "\u2029"], ["\u0085", "\u200b", "\x1c"]),
    (r"^\S$", ["\u0085", "\u200b", "\x1c"], [" ", "\ufeff"]),
    (r"^[\w.-]+$", ["a.b-c"], ["a b"]),
    (r"^[\w-.]+$", ["a.b-c"], ["a b"]),
    (r"^[.-\d]+$", ["1.5-2"], ["/"]),
    (r"^[^\W\d]+$", ["ab"], ["a1", "é"]),
    (r"^[\S\d]$", ["é"], [" "]),
    ("^[a-c-e]+$", ["a-e", "b"], ["d"]),
    ("^[]$", [], ["", "a", "]"]),
    ("^[^]$", ["a", "\n"], [""]),
    ("^[]]$", [], ["]", "]]", ""]),
    ("^[[a]b]$", ["[b]", "ab]"], ["[", "a", "b"]),
    ("^[[:alpha:]]$", ["a]", ":]", "[]"], ["a", "b"]),
    ("^[a&&b]+$", ["a&b"], ["c"]),
    ("^[+--]$", ["+", ",", "-"], ["a", "."]),
    ("^[a~~b]$", ["~", "b"], ["c"]),
    (r"^[\b]$", ["\b"], ["b"]),
    (r"^\[\]\{\}\(\)\.\*\+\?\^\$\|\\\/$", ["[]{}().*+?^$|\\/"], ["x"]),
    (r"^\-\_\@\"\'\`\#\&\~\,\;\:\=\!\%\ $", ["-_@\"'`#&~,;:=!% "], ["x"]),
    (r"^\<b\>$", ["<b>"], ["b"]),
    (r"^\t\n\v\f\r\0$", ["\t\n\v\f\r\0"], ["t"]),
    (r"^\cA\cz$", ["\x01\x1a"], ["cA"]),
    (r"^\x41\u0042\u{43}$", ["ABC"], ["abc"]),
    (r"^\u{1F600}\uD83D\uDE00$", ["😀😀"], ["😀"]),
    (r"^\u{0000041}$", ["A"], ["B"]),
    (r"^\p{L}\p{Lu}\P{L}$", ["éÉ1"], ["1É1", "ééé"]),
    (r"^\p{Letter}\p{gc=Nd}\p{General_Category=Lowercase_Letter}$", ["A٣b"], ["A٣B"]),
    (r"^\p{Script=Greek}\p{sc=Latin}$", ["αa"], ["aα"]),
    (r"^[\p{L}\d]+$", ["é1"], ["-"]),
    (r"^[^\P{L}]$", ["é"], ["1"]),
    (r"\bcat\b", ["a cat.", "cat"], ["cats", "concat"]),
    (r"\Bat", ["cat"], ["at"]),
    ("^(?=.*[0-9])[a-z0-9]+$", ["a1"], ["a"]),
    ("^(?!b)a", ["ab"], ["ba"]),
    (r"^(?!b)\d\w\s\ca$", ["1a\ufeff\x01"], ["٣a \x01", "1é \x01"]),
    (r"^(?=.)[\w-].$", ["aa"], ["éa", "a\r"]),
    ("(?<=a)b", ["ab"], ["b", "cb"]),
    ("(?<=a+)b", ["aab"], ["cb"]),
    ("(?<!a)b", ["b", "cb"], ["ab"]),
    (r"^(a|b)\1$", ["aa", "bb"], ["ab"]),
    (r"^(?<n>a|b)\k<n>$", ["aa", "bb"], ["ab"]),
    (r"^(?<$n>a|b)-\k<$n>$", ["a-a"], ["a-b"]),
    (r"^(?<year>[0-9]{4})$", ["2026"], ["26"]),
    # A group that has not matched is matched by nothing.
    (r"^(a)?\1b$", ["b", "aab"], ["ab"]),
    (r"^\1(a)$", ["a"], ["aa"]),
    (r"^(a\1)$", ["a"], ["aa"]),
    (r"^(?:(a)|b)\1$", ["aa", "b"], ["a", "bb"]),
    (r"^(\()[(](a)\2$", ["((aa"], ["((a"]),
    ("^a{0,100000}$", ["", "aaa"], ["b"]),
]

# A pattern that is none of ECMA-262, and the place that the error names.
REFUSED: list[tuple[str, str]] = [
    ("a++", "there is nothing that + could repeat, at character 3"),
    ("a*+", "at character 3"),
    ("a{2}{3}", "there is nothing that {3} could repeat, at character 5"),
    ("a???", "at character 4"),
    ("*a", "at character 1"),
    ("^*", "at character 2"),
    ("(+)", "at character 2"),
    ("(?=a)*", "at character 6"),
    (r"\b+", "at character 3"),
    ("a{3,2}", "{3,2} is in the wrong order, at character 2"),
    ("a{9999999}", "more than 1000000 repeats, at character 2"),
    ("(?P<x>a)", "'(?P<' begins no group, at character 1"),
    ("b(?P=x)", "at character 2"),
    ("(?i)a", "'(?i)' begins no group, at character 1"),
    ("(?i:a)", "at character 1"),
    ("(?>a)", "at character 1"),
    ("(?#note)a", "at character 1"),
    ("(a)(?(1)b)", "at character 4"),
    ("(?<1>a)", "at character 1"),
    ("(?<n>a)(?<n>b)", "the group 'n' is there twice, at character 8"),
    ("(a", "a group is never closed, at character 1"),
    ("a)", "')' closes nothing, at character 2"),
    ("[a", "a set is never closed, at character 1"),
    ("[z-a]", "the range is in the wrong order, at character 2"),
    ("[a--]", "the range is in the wrong order, at character 2"),
    (r"a\z", r"\z is no escape, at character 2"),
    (r"\Aa", r"\A is no escape, at character 1"),
    (r"a\Z", "at character 2"),
    (r"\h", "at character 1"),
    (r"\a", "at character 1"),
    (r"\e", "at character 1"),
    (r"\Qa\E", "at character 1"),
    (r"\é", "at character 1"),
    (r"\01", r"\0 is no escape, at character 1"),
    (r"[\1]", "at character 2"),
    (r"[\B]", "at character 2"),
    (r"\1", r"there is no group for \1, at character 1"),
    (r"(a)\10", r"there is no group for \10, at character 4"),
    (r"\k<n>", r"\k names no group, at character 1"),
    (r"(?<n>a)\k<m>", "at character 8"),
    (r"\ca\c1", "at character 4"),
    (r"\x4", "at character 1"),
    (r"\u12", "at character 1"),
    (r"\u{110000}", r"there is no character \u{110000}, at character 1"),
    (r"\p{Greek}", r"there is no property \p{Greek}, at character 1"),
    (r"\p{IsAlpha}", "at character 1"),
    (r"\p{Script=Klingonish}", "at character 1"),
    (r"\pL", "at character 1"),
    ("a\\", "it ends in a \\, at character 2"),
    ("(" * 101 + ")" * 101, "groups deeper than 100, at character 101"),
]


@pytest.mark.parametrize(("pattern", "right", "wrong"), TAKEN, ids=[one[0] for one in TAKEN])
def test_pattern_matches_the_same_texts_in_both(
    backend: str, pattern: str, right: list[str], wrong: list[str]
) -> None:
    whole = Compiled({"pattern": pattern})

    for text in (*right, *wrong):
        assert matcher_of(pattern)(text) is (text in right), text
        assert whole.is_valid(text) is (text in right), text


@pytest.mark.parametrize(("pattern", "place"), REFUSED, ids=[one[0] for one in REFUSED])
def test_what_is_no_pattern_of_ecma_is_refused_by_both(
    backend: str, pattern: str, place: str
) -> None:
    for schema in ({"pattern": pattern}, {"patternProperties": {pattern: True}}):
        wrong = Json().check_inputs(schema)

        assert wrong is not None
        assert "is no pattern of ECMA-262: " in wrong
        assert wrong.endswith(place)


def test_pattern_that_one_engine_lacks_has_a_limit_too(backend: str) -> None:
    matches = matcher_of(r"^(?<n>a|aa)+\k<n>$")
    start = time.process_time()

    with pytest.raises(LimitHit):
        matches("a" * 80 + "b")
    assert time.process_time() - start < 5.0


def test_such_a_pattern_decides_inside_a_schema(backend: str) -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": r"^(?<n>.)\k<n>$"}}}

    found = [Json()(Completion(text), schema) for text in ('{"a": "xx"}', '{"a": "xy"}')]

    assert [one.value for one in found if isinstance(one, Score)] == [1.0, 0.95 * 0.5]


@pytest.mark.parametrize("n_texts", [60, 2000])
def test_all_matches_of_a_value_share_their_time(backend: str, n_texts: int) -> None:
    # A look-ahead: no engine matches it in linear time.
    schema = {"items": {"pattern": "^(?=(a|aa)+$)"}}
    start = time.process_time()
    found = Json()(Completion(json.dumps(["a" * 28 + "b"] * n_texts)), schema)

    assert time.process_time() - start < 3.0
    assert isinstance(found, Score)
    # The first is wrong, and then the time for the share is used up.
    assert found.metrics["limit_hits"] == 1.0
    assert found.reason.startswith("limit: matching patterns, the last of which is '^(?=(a|aa)+$)'")
