"""`schema/xml`: what it finds, what it pays for, and what it says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_schema import Xml

from grpo_core import Completion, CompositeReward, Fail, Score, load_reward

RECIPE = {
    "root": "recipe",
    "ordered": True,
    "children": [
        {"name": "title", "max": 1, "text": "nonempty"},
        {"name": "step", "min": 2, "text": "nonempty"},
    ],
}
# 1 root + 2 (order, nothing else) + title 1 + text 1 + closed 1 + step the same: 9 assertions.
TOTAL = 9
NOTE_XSD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="note">'
    '<xs:complexType><xs:sequence><xs:element name="to" type="xs:string"/>'
    '<xs:element name="qty" type="xs:positiveInteger"/></xs:sequence></xs:complexType>'
    "</xs:element></xs:schema>"
)
NOTE_RNG = (
    '<element name="note" xmlns="http://relaxng.org/ns/structure/1.0"><element name="to"><text/>'
    '</element><element name="qty"><text/></element></element>'
)


def scored(text: str, xsd: str | None = None, relaxng: str | None = None, **options: Any) -> Score:
    result = Xml(**options)(Completion(text), xsd, relaxng)
    assert isinstance(result, Score)
    return result


def test_xml_is_found_where_a_reply_has_it() -> None:
    for text in (
        "<a>1</a>",
        '<?xml version="1.0" encoding="utf-8"?>\n<a>é</a>',
        "\ufeff<a/>",
        "<think><b></think><a/>",
        "Here:\n```xml\n<a><b/></a>\n```\nDone.",
        "Here:\n```\n<a/>\n```",
        "It is <a x='>'><b/></a>, I think.",
        "<a><![CDATA[<!DOCTYPE html></a>]]><!-- </a> --></a>",
        "Both a < b and <a/> stand here.",
    ):
        assert scored(text) == Score(1.0, "", {"limit_hits": 0.0}), text


def test_reason_of_what_is_not_well_formed_names_the_element() -> None:
    assert scored("").reason == "the text is empty"
    assert scored("no").reason == "no XML in the text"
    assert scored("<think><a/>").reason == "<think> is never closed"
    assert scored("<a><b>x</a>").reason == (
        "/a/b: not well-formed: mismatched tag at line 1 column 10"
    )
    assert scored("<a>x & y</a>").reason == (
        "/a: not well-formed: not well-formed (invalid token) at line 1 column 7"
    )
    assert scored("Look: <a><b></b>").value == 0.0
    assert scored("Look: <a/>", extract="whole").value == 0.0


def test_the_root_that_is_asked_for_is_picked() -> None:
    options = {"elements": {"root": "a", "children": [{"name": "b"}]}}
    assert scored("I use <b> tags: <a><b/></a> and then <c/>.", **options).value == 1.0
    twice = "<a/> No: <a><b/></a>"
    assert scored(twice, **options).value == 1.0
    assert scored(twice, pick="first", **options).value < 1.0
    assert scored(twice, pick="only", **options).reason == (
        '2 pieces of XML, and pick = "only" takes one'
    )


@pytest.mark.parametrize(
    ("text", "points", "reason"),
    [
        ("<title>Tea</title><step>Boil</step><step>Pour</step>", TOTAL, ""),
        # The number of steps, half of what is in them, and the order and the rest with them.
        (
            "<title>Tea</title><step>Boil</step>",
            1 + 3 + 2 / 2,
            "/recipe: 1 of the element step, at least 2",
        ),
        ("<step>Boil</step><step>Pour</step>", 1 + 3, "/recipe: no element title"),
        (
            "<step>Boil</step><title>Tea</title><step>Pour</step>",
            TOTAL - 1,
            "/recipe: title stands behind step",
        ),
        (
            "<title>Tea</title><step>Boil</step><step> </step>",
            TOTAL - 0.5,
            "/recipe/step[2]: the text is empty",
        ),
        (
            "<title>Tea</title><title>Tee</title><step>Boil</step><step>Pour</step>",
            TOTAL - 1,
            "/recipe: 2 of the element title, at most 1",
        ),
        (
            "<title>Tea</title><step>Boil</step><step>Pour</step><x/>",
            TOTAL - 1,
            "/recipe: an element x that is not asked for",
        ),
        (
            "<title>Tea</title>, so:<step>Boil</step><step>Pour</step>",
            TOTAL - 1,
            "/recipe: text between the elements",
        ),
        (
            "<title id='1'>Tea</title><step>Boil</step><step>Pour</step>",
            TOTAL - 1,
            "/recipe/title: an attribute id that is not asked for",
        ),
        ("", 1, "/recipe: no element title"),
    ],
)
def test_partial_credit_is_the_share_of_assertions(text: str, points: float, reason: str) -> None:
    result = scored(f"<recipe>{text}</recipe>", elements=RECIPE)

    assert result.value == pytest.approx(1.0 if points == TOTAL else 0.95 * points / TOTAL)
    assert result.reason == reason
    strict = scored(f"<recipe>{text}</recipe>", elements=RECIPE, mode="strict")
    assert strict.value == float(points == TOTAL)


@pytest.mark.parametrize(
    "blank", ["\u00a0", "\u200b", "\ufeff", "\u2003\u00ad", "\u3164", "\u2800"]
)
def test_text_that_shows_nothing_is_empty(blank: str) -> None:
    spec = {"root": "a", "text": "nonempty"}

    # 1 root, 1 text, 1 closed.
    assert scored(f"<a>{blank}</a>", elements=spec).value == pytest.approx(0.95 * 2 / 3)
    assert scored(f"<a>{blank}é</a>", elements=spec).value == 1.0
    assert scored("<a>?</a>", elements=spec).value == 1.0


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ('version="1.0"', ""),
        ("version='1.0' encoding='utf-8' standalone='yes'", ""),
        ('version="1.1"', "XML of version 1.1 is refused, 1.0 is read"),
        (
            'version="1.0" encoding="UTF-16"',
            "the encoding UTF-16 is declared, and the text is UTF-8",
        ),
        (
            'version="1.0" encoding="latin1"',
            "the encoding latin1 is declared, and the text is UTF-8",
        ),
    ],
)
def test_declaration_says_what_the_text_is(declared: str, reason: str) -> None:
    result = scored(f"<?xml {declared}?><a/>")

    assert (result.value, result.reason) == (float(not reason), reason)


# Two steps are required: what a bad one lacks is a half of the two points of a step.
@pytest.mark.parametrize("n_more", [0, 1, 5, 50])
def test_good_elements_beside_a_bad_one_raise_nothing(n_more: int) -> None:
    steps = "<step>Boil</step>" + "<step/>" + "<step>Stir</step>" * n_more
    result = scored(f"<recipe><title>Tea</title>{steps}</recipe>", elements=RECIPE)

    assert result.value == pytest.approx(0.95 * (TOTAL - 0.5) / TOTAL)


def test_a_bad_element_that_is_not_required_is_better_left_out() -> None:
    spec = {"root": "a", "children": [{"name": "b", "min": 0, "text": "nonempty"}]}

    # 1 root, 1 closed, 3 for the child: its number, its text, nothing else in it.
    assert scored("<a><b/></a>", elements=spec).value == pytest.approx(0.95 * 4 / 5)
    assert scored("<a><b/><b>x</b></a>", elements=spec).value == pytest.approx(0.95 * 4 / 5)
    assert scored("<a><b/><b/></a>", elements=spec).value == pytest.approx(0.95 * 3 / 5)
    assert scored("<a/>", elements=spec).value == 1.0


def test_a_root_of_another_name_earns_nothing() -> None:
    result = scored("<meal><title>Tea</title></meal>", elements=RECIPE)
    assert (result.value, result.reason) == (0.0, "/meal: the root must be recipe")


def test_attributes_and_patterns() -> None:
    spec = {
        "root": "item",
        "pattern": "^[a-z]+$",
        "attributes": [{"name": "id", "pattern": "^[0-9]+$"}, {"name": "to", "required": False}],
    }
    # 1 root, 1 closed, 1 pattern, 2 attributes.
    for text, points, reason in (
        ("<item id='1'>ab</item>", 5, ""),
        ("<item id='1' to='' xmlns='x'> ab\n</item>", 5, ""),
        ("<item>ab</item>", 4, "/item: no attribute id"),
        ("<item id='x'>ab</item>", 4, "/item: the attribute id does not match '^[0-9]+$'"),
        ("<item id='1'>AB</item>", 4, "/item: the text does not match '^[a-z]+$'"),
        ("<item id='1' n=''>ab</item>", 4, "/item: an attribute n that is not asked for"),
    ):
        result = scored(text, elements=spec)
        assert result.value == pytest.approx(1.0 if points == 5 else 0.95 * points / 5)
        assert result.reason == reason


def test_a_specification_that_is_open_takes_more() -> None:
    spec = {"root": "a", "closed": False, "children": [{"name": "b", "text": "empty"}]}
    assert scored("<a n='1'>text<b/><c/></a>", elements=spec).value == 1.0
    assert scored("<a><b>x</b></a>", elements=spec).reason == "/a/b: there is text"


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ({}, "elements.root must be the name"),
        ({"root": "a b"}, "elements.root must be the name"),
        ({"root": "a", "childs": []}, "elements: no key 'childs'"),
        ({"root": "a", "children": {}}, "elements.children must be a list"),
        ({"root": "a", "children": ["b"]}, r"elements.children\[0\] must be a table"),
        ({"root": "a", "children": [{"name": "b", "min": -1}]}, "min and max must be whole"),
        ({"root": "a", "children": [{"name": "b", "min": True}]}, "min and max must be whole"),
        ({"root": "a", "children": [{"name": "b", "min": 3, "max": 2}]}, "max is 2"),
        ({"root": "a", "children": [{"name": "b"}, {"name": "b"}]}, "'b' is there twice"),
        ({"root": "a", "text": "some"}, "elements.text must be one of"),
        ({"root": "a", "pattern": "("}, "elements.pattern is not a pattern|elements.pattern"),
        (
            {"root": "a", "pattern": "a++"},
            "elements.pattern is no pattern of ECMA-262: .* character 3",
        ),
        ({"root": "a", "pattern": "a" * 2001}, "is 2001 characters long, at most 2000 are taken"),
        ({"root": "a", "text": "empty", "pattern": "x"}, 'elements: text = "empty" leaves nothing'),
        ({"root": "<" * 900}, "got '<{76}\\.\\.\\.$"),
        ({"root": "a", "closed": 1}, "elements.closed must be true or false"),
        ({"root": "a", "attributes": [{"name": 1}]}, r"elements.attributes\[0\].name must be"),
    ],
)
def test_bad_specification_is_an_error_that_says_where(elements: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Xml(elements=elements)


def test_a_specification_has_a_depth() -> None:
    spec: dict[str, Any] = {"name": "a"}
    for _ in range(1000):
        spec = {"name": "a", "children": [spec]}
    with pytest.raises(ValueError, match="nested deeper than 30 levels"):
        Xml(elements={"root": "a", "children": [spec]})


def test_options_of_a_config_are_taken() -> None:
    reward = load_reward("schema/xml", options={"elements": RECIPE, "mode": "strict"})
    assert reward(Completion("<recipe/>")).value == 0.0
    for options in ({"max_depth": 0}, {"max_bytes": 0}, {"after_tag": "<think>"}):
        with pytest.raises(ValueError, match="must be"):
            Xml(**options)


def test_xsd_and_relaxng_decide() -> None:
    pytest.importorskip("lxml")
    good, bad = "<note><to>Ann</to><qty>2</qty></note>", "<note><to>Ann</to><qty>-2</qty></note>"
    assert scored(good, xsd=NOTE_XSD).value == 1.0
    result = scored(bad, xsd=f"\n{NOTE_XSD}")
    assert result.value == 0.1
    assert result.reason.startswith("/note/qty: Element 'qty':")
    assert "\n" not in result.reason
    assert scored(good, relaxng=NOTE_RNG).value == 1.0
    assert scored("<note><to/></note>", relaxng=NOTE_RNG).value == 0.1
    assert scored("<note><to/></note>", relaxng=NOTE_RNG, mode="strict").value == 0.0
    assert scored("<p:note/>", xsd=NOTE_XSD).value == 0.0


def test_schema_of_a_file_is_beside_the_config(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    (tmp_path / "note.xsd").write_text(NOTE_XSD)
    section = {"use": "schema/xml", "inputs": {"xsd": {"file": "note.xsd"}}}

    composite = CompositeReward({"form": section}, folder=tmp_path)

    texts = [Completion("<note><to/><qty>2</qty></note>"), Completion("<note/>")]
    assert [outcome.value for outcome in composite.score(texts).outcomes[0]] == [1.0, 0.1]


def test_a_schema_decides_and_elements_pay() -> None:
    pytest.importorskip("lxml")
    elements = {"root": "note", "children": [{"name": "to"}, {"name": "qty"}]}
    # 1 root, 1 closed, 2 for each child.
    assert scored("<note><to/></note>", xsd=NOTE_XSD, elements=elements).value == pytest.approx(
        0.95 * 3 / 6
    )
    result = scored("<note><to/><qty>x</qty></note>", xsd=NOTE_XSD, elements=elements)
    assert result.value == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("xsd", "message"),
    [
        ("<xs:schema", "xsd: cannot be used: "),
        ("<a/>", "xsd: cannot be used: it is not a schema document."),
        ("", "xsd must be the text of a schema, which begins with '<', got ''; a file is read "),
        ("note.xsd", "xsd must be the text of a schema, which begins with '<', got 'note.xsd'; "),
        ("<!DOCTYPE a><a/>", "xsd: a DOCTYPE is refused"),
        ("<a>" + " " * 1_000_000 + "</a>", "xsd: longer than 1000000 bytes"),
    ],
)
def test_bad_schema_fails_the_row(xsd: str, message: str) -> None:
    pytest.importorskip("lxml")
    wrong = Xml().check_inputs(xsd)

    assert wrong is not None
    assert wrong.startswith(message)
    assert "<string>" not in wrong
    assert Xml()(Completion("<a/>"), xsd) == Fail(wrong)


def test_without_lxml_only_schemas_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    for name in ("xsd", "relaxng"):
        wrong = Xml().check_inputs(**{name: "<not-seen-before/>"})
        assert wrong == (
            f"{name} needs lxml, which is not installed: pip install 'grpo-reward-schema[xml]'"
        )
    assert scored("<recipe/>", elements=RECIPE).value > 0.0


def test_an_optional_child_that_is_absent_earns_nothing_in_a_hollow_root() -> None:
    spec = {"root": "a", "closed": False, "children": [{"name": "b"}, {"name": "c", "min": 0}]}
    # 1 root, 2 for each child.
    assert scored("<a><b/></a>", elements=spec).value == 1.0
    assert scored("<a/>", elements=spec).value == pytest.approx(0.95 / 5)
    # Nor does one that is there.
    assert scored("<a><c/></a>", elements=spec).value == pytest.approx(0.95 / 5)


def test_what_is_optional_earns_nothing_beside_a_required_child_that_is_missing() -> None:
    optional = [{"name": f"o{i}", "min": 0, "text": "nonempty"} for i in range(5)]
    spec = {
        "root": "a",
        "text": "empty",
        "attributes": [{"name": "n", "required": False}],
        "children": [{"name": "b", "text": "nonempty"}, *optional],
    }
    content = "".join(f"<o{i}>x</o{i}>" for i in range(5))
    # 1 root, 1 text, 1 attribute, 1 closed, 3 for each child.
    assert scored(f"<a n='1'>{content}</a>", elements=spec).value == pytest.approx(0.95 / 22)
    assert scored("<a/>", elements=spec).value == pytest.approx(0.95 / 22)
    assert scored("<a><b>x</b></a>", elements=spec).value == 1.0
    assert scored(f"<a n='1'><b>x</b>{content}</a>", elements=spec).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "line<br>next <a>1</a>",
        "line<BR>next<hr>\n<a>1</a> and more<br>",
        "I use `<b>` tags: <a>1</a>",
        "line<br/>next <a>1</a>",
        "see <b>this</b>: <a>1</a>",
        "`<a>1</a>`",
    ],
)
def test_tags_of_prose_are_none_of_the_document(text: str) -> None:
    assert scored(text).value == 1.0
    assert scored(text, elements={"root": "a", "text": "nonempty"}).value == 1.0


@pytest.mark.parametrize("text", ["Look: <a><b></b>", "Look: <br>x</br><a><b></b>"])
def test_part_of_a_document_that_is_cut_off_is_none(text: str) -> None:
    assert scored(text).value == 0.0


@pytest.mark.parametrize(
    ("prefill", "text"),
    [("```xml\n", "<a>1</a>\n```"), ("<a>", "1</a>"), ("It is: <a n='1'><b/>", "</a>.")],
)
def test_what_the_prefill_opens_is_continued(prefill: str, text: str) -> None:
    result = Xml()(Completion(text, prefill=prefill))

    assert isinstance(result, Score)
    assert result.value == 1.0
