from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from grpo_reward_format import Pattern

from grpo_core import Completion, Score, load_reward

DIGIT = [{"pattern": "[0-9]"}]


def test_pattern_satisfied_scores_one_without_reason() -> None:
    assert Pattern(patterns=DIGIT)(Completion("4")) == Score(1.0, "", {"limit_hits": 0.0})


def test_pattern_long_match_is_cut_in_the_reason() -> None:
    score = Pattern(patterns=[{"pattern": "a+", "must": "not_match"}])(Completion("a" * 99))

    assert score.reason == f"patterns[0] matches {'a' * 30!r}"


def test_pattern_many_faults_shows_three_and_counts_the_rest() -> None:
    score = Pattern(patterns=DIGIT * 5)(Completion(""))

    assert score.reason == (
        "patterns[0] does not match; patterns[1] does not match; patterns[2] does not match; 2 more"
    )


def test_pattern_at_its_limit_is_told_first_and_counted() -> None:
    patterns = [*DIGIT, {"pattern": "(a|aa)+$"}, {"pattern": "a"}]
    score = Pattern(patterns=patterns, timeout_s=0.05)(Completion("a" * 60 + "b"))

    assert score.value == pytest.approx(1 / 3)
    assert score.metrics == {"limit_hits": 1.0}
    assert score.reason == (
        "limit: patterns[1] took over 0.05 s of CPU time; patterns[0] does not match"
    )


def test_pattern_out_of_memory_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Greedy:
        def search(self, text: str, *, timeout: float) -> None:
            raise MemoryError

    monkeypatch.setattr("grpo_reward_format.pattern._compiled", lambda where, pattern: Greedy())
    score = Pattern(patterns=DIGIT)(Completion("4"))

    assert score == Score(
        0.0, "limit: patterns[0] took more memory than there is", {"limit_hits": 1.0}
    )


def test_pattern_in_threads_gives_the_same_values() -> None:
    patterns = [{"pattern": "(?s)<a>.*</a>", "where": "full"}, {"pattern": "x{99}"}]
    scored = Pattern(patterns=patterns, timeout_s=60)
    texts = [f"<a>{'x' * n}</a>" + "b" * (n % 2) for n in range(200)]

    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda text: scored(Completion(text)).value, texts))

    assert values == [scored(Completion(text)).value for text in texts]
    assert set(values) == {0.0, 0.5, 1.0}


def test_pattern_runaway_in_threads_ends_at_the_limit_in_each() -> None:
    runaway = Pattern(patterns=[{"pattern": "(a|aa)+$"}], timeout_s=0.1)

    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(runaway, [Completion("a" * 60 + "b")] * 8))

    assert {score.reason for score in scores} == {"limit: patterns[0] took over 0.1 s of CPU time"}


def test_pattern_instance_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(Pattern(patterns=DIGIT)))

    assert copy(Completion("4")).value == 1.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"patterns": []}, r"patterns must be a list of tables, got \[\]; write for example"),
        ({"patterns": "[0-9]"}, r"patterns must be a list of tables, got '\[0-9\]'"),
        ({"patterns": {"pattern": "a"}}, "patterns must be a list of tables, got {'pattern'"),
        ({"patterns": ["a"]}, r"patterns\[0\] must be a table, got 'a'"),
        ({"patterns": [{}]}, r"patterns\[0\].pattern must be a text, got None"),
        ({"patterns": [{"pattern": ""}]}, r"patterns\[0\].pattern must be a text, got ''"),
        ({"patterns": [{"pattern": 7}]}, r"patterns\[0\].pattern must be a text, got 7"),
        (
            {"patterns": [*DIGIT, {"pattern": "(a"}]},
            r"patterns\[1\].pattern must be a pattern of the package regex, got '\(a': missing \)",
        ),
        ({"patterns": [{"pattern": "[z-a]"}]}, "bad character range at position 4"),
        ({"patterns": [{"pattern": r"\L<x>"}]}, "undefined named list"),
        ({"patterns": [*DIGIT, {"pattern": "a", "flags": "s"}]}, r"patterns\[1\] has no 'flags'"),
        (
            {"patterns": [{"pattern": "a", "must": "fail"}]},
            r"patterns\[0\].must must be one of 'match', 'not_match', got 'fail'",
        ),
        (
            {"patterns": [{"pattern": "a", "where": "start"}]},
            r"patterns\[0\].where must be one of 'search', 'full', got 'start'",
        ),
        ({"patterns": DIGIT, "timeout_s": 0}, "timeout_s must be above 0 and at most 1e6 seconds"),
        ({"patterns": DIGIT, "timeout_s": float("nan")}, "got nan; write at least 1.0"),
        ({"patterns": DIGIT, "timeout_s": float("inf")}, "got inf"),
        (
            {"patterns": DIGIT, "timeout_s": 1e13},
            r"got 1000000+0000000\.0|got 1e\+13|10000000000000",
        ),
    ],
)
def test_pattern_bad_option_says_what_to_do(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Pattern(**options)


@pytest.mark.parametrize(
    ("pattern", "call"),
    [
        (r"a|(?R)b", "(?R)"),
        (r"\((?:[^()]|(?R))*\)", "(?R)"),
        (r"a|(?0)b", "(?0)"),
        (r"(a|(?1)b)", "(?1)"),
        (r"(a)(?-1)", "(?-1)"),
        (r"(?+1)(a)", "(?+1)"),
        (r"(?<n>a|(?&n)b)", "(?&n)"),
        (r"(?P<n>a|(?P>n)b)", "(?P>n)"),
        (r"[]\]](?R)", "(?R)"),
    ],
)
def test_pattern_that_calls_itself_is_refused(pattern: str, call: str) -> None:
    with pytest.raises(ValueError, match="calls itself or a group") as caught:
        Pattern(patterns=[{"pattern": pattern}])

    assert f"patterns[0].pattern calls itself or a group with {call}, which" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\(\?R\)", "(?R)"),
        (r"[(?R)]{4}", "(?R)"),
        (r"[](?R)]{5}", "](?R)"),
        (r"[^\](?R)]", "a"),
        (r"(?P<n>a)(?P=n)(?i-s:B)(?(n)c|d)", "aabc"),
    ],
)
def test_pattern_that_only_looks_like_a_call_is_taken(pattern: str, text: str) -> None:
    patterns = [{"pattern": pattern, "where": "full"}]

    assert Pattern(patterns=patterns)(Completion(text)).value == 1.0


def test_pattern_bad_option_by_name_is_a_config_error_with_its_path() -> None:
    patterns = [*DIGIT, {"pattern": "a", "must": 7}]

    with pytest.raises(ValueError, match=r"options.patterns\[1\]\['must'\]: expected .*got 7"):
        load_reward("format/pattern", options={"patterns": patterns})


def test_pattern_missing_patterns_is_a_config_error() -> None:
    with pytest.raises(ValueError, match="needs this option"):
        load_reward("format/pattern")
