"""Documents are untrusted: nothing is expanded, read or fetched, and nothing takes for ever."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_schema import Xml
from grpo_reward_schema.xml_pattern_cost import n_repeats

from grpo_core import Completion, Score

LAUGHS = (
    '<!DOCTYPE r [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    + "]><r>&l9;</r>"
)
XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
RNG = 'xmlns="http://relaxng.org/ns/structure/1.0"'
# Any one element, but one that some schema declares: there is none, unless a hint is followed.
STRICT_ANY = (
    f'<xs:schema {XS}><xs:element name="a"><xs:complexType><xs:sequence>'
    '<xs:any namespace="##any" processContents="strict"/></xs:sequence>'
    "</xs:complexType></xs:element></xs:schema>"
)


def read(text: str, **inputs: str) -> tuple[float, str]:
    score = Xml()(Completion(text), **inputs)
    assert isinstance(score, Score)
    assert "\n" not in score.reason
    return score.value, score.reason


def test_a_document_type_is_refused_before_it_is_parsed() -> None:
    start = time.process_time()
    for text in (
        LAUGHS,
        '<?xml version="1.0"?>\n<!-- x -->' + LAUGHS,
        "```xml\n" + LAUGHS + "\n```",
        "Here: " + LAUGHS,
        "Here: <?xml version='1.0'?> " + LAUGHS,
        "<!DOCTYPE html><html/>",
    ):
        assert read(text) == (0.0, "a DOCTYPE is refused")
    assert time.process_time() - start < 10.0
    # Expat knows no lower case, and an encoding that the text declares is not believed.
    assert read("<!doctype a><a/>")[0] == 0.0
    utf7 = '<?xml version="1.0" encoding="UTF-7"?>+ADw-!DOCTYPE a+AD4-<a/>'
    assert read(utf7)[0] == 0.0


def test_no_entity_reads_a_file_or_the_network(tmp_path: Path, listener: Any) -> None:
    planted = tmp_path / "planted.txt"
    planted.write_text("secret")
    for place in (planted.as_uri(), listener.url):
        for text in (
            f'<!DOCTYPE r [<!ENTITY x SYSTEM "{place}">]><r>&x;</r>',
            f'<!DOCTYPE r SYSTEM "{place}"><r/>',
            f'<!DOCTYPE r [<!ENTITY % x SYSTEM "{place}">%x;]><r/>',
            "<r>&x;</r>",
        ):
            value, reason = read(text)
            assert value == 0.0
            assert "secret" not in reason
    assert listener.connections == 0


def test_a_hint_to_a_schema_is_not_followed(tmp_path: Path, listener: Any) -> None:
    pytest.importorskip("lxml")
    planted = tmp_path / "planted.xsd"
    planted.write_text(
        f'<xs:schema {XS} targetNamespace="urn:b"><xs:element name="b"/></xs:schema>'
    )
    instance = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    for place in (planted.as_uri(), str(planted), listener.url):
        text = f'<a {instance} xsi:schemaLocation="urn:b {place}"><b xmlns="urn:b"/></a>'
        value, reason = read(text, xsd=STRICT_ANY)
        assert value == 0.1
        assert "No matching global element declaration" in reason
    assert listener.connections == 0


def test_a_schema_reads_no_other(tmp_path: Path, listener: Any) -> None:
    pytest.importorskip("lxml")
    planted = tmp_path / "planted.xsd"
    planted.write_text(f'<xs:schema {XS}><xs:element name="a"/></xs:schema>')
    (tmp_path / "planted.rng").write_text(f'<element {RNG} name="a"><empty/></element>')
    for place in (str(planted), planted.as_uri(), listener.url):
        for name in ("include", "import", "redefine", "override"):
            more = ' namespace="urn:x"' if name == "import" else ""
            text = f'<xs:schema {XS}><xs:{name} schemaLocation="{place}"{more}/></xs:schema>'
            wrong = Xml().check_inputs(xsd=text) or ""
            assert re.match(rf"xsd: line 1: {name} of .* is refused", wrong)
    for place in (str(tmp_path / "planted.rng"), listener.url):
        for text in (
            f'<externalRef {RNG} href="{place}"/>',
            f'<grammar {RNG}><include href="{place}"/></grammar>',
        ):
            wrong = Xml().check_inputs(relaxng=text) or ""
            assert re.match(r"relaxng: line 1: .* is refused", wrong)
    assert listener.connections == 0


def test_hostile_texts_score_zero_at_once() -> None:
    deep = 100_000
    for text, reason in (
        ("<a>" * deep, "nested deeper than 128 levels"),
        ("<a>" * deep + "</a>" * deep, "nested deeper than 128 levels"),
        ("see " + "<a>" * deep, "nested deeper than 128 levels"),
        ("<a>" + "<b/>" * 200_000 + "</a>", "more than 100000 elements"),
        ("<a>" + "x" * 1_000_000 + "</a>", "longer than 1000000 bytes"),
        ("see " + "<a/>" * 2000, "more than 1000 pieces"),
        ("<a>\ud800</a>", "half of a surrogate pair"),
        ("<a>\x00</a>", "not well-formed"),
        ("<a", "not well-formed"),
        ("see " + "<a " * 300_000, "no XML in the text"),
        ("see " + "<a '\"" * 150_000, "no XML in the text"),
        ("see " + "<!--" * 200_000, "no XML in the text"),
        ("see " + "<?a" * 300_000, "no XML in the text"),
        ("see " + "</a" * 300_000, "no XML in the text"),
        ("<a " + "".join(f'x{i}="" ' for i in range(80_000)), "not well-formed"),
    ):
        start = time.process_time()
        value, why = read(text)
        assert time.process_time() - start < 10.0, text[:20]
        assert value == 0.0
        assert reason in why, text[:20]
        assert len(why) < 300


def xsd_of(pattern: str) -> str:
    return (
        f'<xs:schema {XS}><xs:element name="r"><xs:complexType><xs:sequence>'
        f'<xs:element name="a" maxOccurs="unbounded"><xs:simpleType>'
        f'<xs:restriction base="xs:string"><xs:pattern value="{pattern}"/></xs:restriction>'
        f"</xs:simpleType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>"
    )


@pytest.mark.parametrize(
    ("pattern", "text", "n_texts"),
    [
        ("(a|aa)+", "a" * 40 + "!", 1),
        ("(a|aa)+", "a" * 25 + "!", 3000),
        ("(a*)*(a*)*(a*)*b", "a" * 50_000 + "!", 1),
        ("a*a*a*b", "a" * 300 + "!", 2000),
    ],
)
def test_pattern_of_an_xsd_that_runs_away_scores_zero(
    pattern: str, text: str, n_texts: int
) -> None:
    pytest.importorskip("lxml")
    start = time.monotonic()
    result = Xml()(Completion("<r>" + f"<a>{text}</a>" * n_texts + "</r>"), xsd_of(pattern))

    assert isinstance(result, Score)
    assert (result.value, result.metrics["limit_hits"]) == (0.0, 1.0)
    assert result.reason.startswith("limit: ")
    assert time.monotonic() - start < 120.0


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        ("[0-9]{4}-[0-9]{2}", "2026-01", "2026-1"),
        ("([a-z]+ )*[a-z]+", "it is so", "it is so "),
        ("(a|b)+", "ab" * 1000, "ac" * 1000),
    ],
)
def test_pattern_of_an_xsd_decides(pattern: str, right: str, wrong: str) -> None:
    pytest.importorskip("lxml")

    assert read(f"<r><a>{right}</a></r>", xsd=xsd_of(pattern)) == (1.0, "")
    value, reason = read(f"<r><a>{wrong}</a></r>", xsd=xsd_of(pattern))
    assert value == 0.1
    assert reason.startswith("/r/a: Element 'a': [facet 'pattern']")


def test_pattern_of_a_relaxng_schema_that_runs_away_scores_zero() -> None:
    pytest.importorskip("lxml")
    schema = (
        f'<element {RNG} name="a" datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes">'
        '<data type="string"><param name="pattern">(a*)*(a*)*(a*)*b</param></data></element>'
    )
    assert read("<a>aab</a>", relaxng=schema) == (1.0, "")
    value, reason = read(f"<a>{'a' * 50_000}</a>", relaxng=schema)
    assert (value, reason) == (0.0, "limit: the patterns of the relaxng take over 2 s")


@pytest.mark.parametrize(
    ("pattern", "n"),
    [
        ("abc", 0),
        ("[0-9]{4}", 0),
        (r"[a-z*+]+\*", 1),
        ("[a-z-[aeiou*]]+x?", 2),
        ("(ab)+", 1),
        ("(a|b)+", float("inf")),
        ("(a+)*", float("inf")),
        ("((a|b)c)*", float("inf")),
        ("(a?){30}", float("inf")),
        ("(a+)?b{2,}", 3),
    ],
)
def test_repeats_of_a_pattern_are_counted(pattern: str, n: float) -> None:
    assert n_repeats(pattern) == n


def test_all_matches_of_a_document_share_their_time() -> None:
    spec = {
        "root": "r",
        "children": [{"name": "a", "pattern": "^(?=(a|aa)+$)"}],
    }
    start = time.process_time()
    result = Xml(elements=spec)(Completion("<r>" + f"<a>{'a' * 28}b</a>" * 2000 + "</r>"))

    assert isinstance(result, Score)
    assert (result.value, result.metrics["limit_hits"]) == (0.0, 1.0)
    assert time.process_time() - start < 3.0
