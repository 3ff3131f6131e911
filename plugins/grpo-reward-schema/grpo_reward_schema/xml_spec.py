"""The element specification of `schema/xml`: read from the options, and judged.

What a specification demands is counted once and for all, before any document is seen, so that the
share of it that a document satisfies cannot rise when required content is deleted. What holds by
itself where nothing stands (the order of children, no other content, no text) and what is optional,
there or not, counts only once all required children are there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_reward_schema.patterns import check_pattern, matcher_of
from grpo_reward_schema.xml_parsing import Element, shown

MAX_SPEC_DEPTH = 30
_BLANK = " \t\r\n"  # what XML calls white space
# Letters and a symbol by their category, and blank on the page: Hangul fillers, Braille's blank.
_UNSEEN = "\u115f\u1160\u3164\uffa0\u2800"
_NAME = re.compile(r"[^\s<>/=\"'&!?\-.0-9][^\s<>/=\"'&!?]*")
_TEXTS = ("any", "nonempty", "empty")
_KEYS = ("children", "attributes", "text", "pattern", "ordered", "closed")


@dataclass(frozen=True)
class AttributeSpec:
    """What one attribute must be: there if required, and matching the pattern if it is there."""

    name: str
    required: bool
    pattern: str

    def fault(self, element: Element) -> str | None:
        """What is wrong with the attribute in an element, or None."""
        value = element.attributes.get(self.name)
        if value is None:
            return f"no attribute {self.name}" if self.required else None
        if self.pattern and not matcher_of(self.pattern)(value):
            return f"the attribute {self.name} does not match {self.pattern!r}"
        return None


@dataclass(frozen=True)
class Judged:
    """How much of a specification an element satisfies.

    Attributes:
        points: Of `ElementSpec.total`.
        fault: The first assertion that does not hold, with the element's path; "" if all do.
    """

    points: float
    fault: str


@dataclass(frozen=True)
class ElementSpec:
    """What one element must be.

    Attributes:
        name: Its name, as it is written.
        least: How many of it there must be in its parent.
        most: How many there may be; None for any number.
        text: "any", "nonempty" or "empty", of the text directly in it, white space aside.
        pattern: That this text has a match of; "" if none is asked for.
        attributes: What its attributes must be.
        children: What its child elements must be.
        ordered: True if the children stand in the order of the specification.
        closed: True if it holds nothing that the specification does not name.
    """

    name: str
    least: int
    most: int | None
    text: str
    pattern: str
    attributes: tuple[AttributeSpec, ...]
    children: tuple[ElementSpec, ...]
    ordered: bool
    closed: bool

    @property
    def total(self) -> int:
        """How many assertions there are, about the element and about what is in it.

        That it is there in the right number is one.
        """
        own = (self.text != "any") + bool(self.pattern) + self.closed
        own += self.ordered and len(self.children) > 1
        return 1 + own + len(self.attributes) + sum(child.total for child in self.children)

    def judge(self, element: Element, path: str) -> Judged:
        """Judges one element of the right name; that it is there earns its point.

        Raises:
            LimitHit: A pattern ran into its limit.
        """
        faults = [spec.fault(element) for spec in self.attributes if spec.required]
        faults += self._text_faults(element)
        points = 1.0 + faults.count(None)
        by_name: defaultdict[str, list[Element]] = defaultdict(list)
        for child in element.children:
            by_name[child.name].append(child)
        inner: list[str] = []
        is_complete = all(len(by_name[spec.name]) >= spec.least for spec in self.children)
        for spec in self.children:
            judged = spec.judge_all(by_name[spec.name], path, is_complete)
            points += judged.points
            inner += [judged.fault] if judged.fault else []
        gated = [spec.fault(element) for spec in self.attributes if not spec.required]
        if self.text == "empty":
            gated.append("there is text" if element.text.strip(_BLANK) else None)
        if self.ordered and len(self.children) > 1:
            gated.append(self._order_fault(element))
        if self.closed:
            gated.append(self._other_fault(element))
        points += gated.count(None) if is_complete else 0
        own = [fault for fault in faults + gated if fault]
        at = [f"{shown(path)}: {own[0]}"] if own else []
        return Judged(points, (at + inner or [""])[0])

    def judge_all(self, elements: list[Element], path: str, is_complete: bool) -> Judged:
        """Judges all children that are named so; they share the points of one element.

        Args:
            elements: The children.
            path: Of their parent.
            is_complete: True if all required children of the parent are there.
        """
        n = len(elements)
        if n == 0 and self.least == 0:
            return Judged(self.total if is_complete else 0.0, "")
        may_earn = is_complete or self.least > 0
        paths = [f"{path}/{self.name}" + (f"[{i}]" if n > 1 else "") for i in range(1, n + 1)]
        judged = [self.judge(child, at) for child, at in zip(elements, paths, strict=True)]
        is_right = self.least <= n and (self.most is None or n <= self.most)
        # What each lacks, one that is missing all of it, without the point for being there, which
        # is given for the number. Shared by those that are required, so that good ones beside a bad
        # one raise nothing.
        inner = self.total - 1
        lost = sum(self.total - one.points for one in judged) + max(0, self.least - n) * inner
        points = max(0.0, inner - lost / max(1, self.least)) + is_right
        wanted = f"at least {self.least}" if n < self.least else f"at most {self.most}"
        fault = "" if is_right else f"{shown(path)}: {n} of the element {self.name}, {wanted}"
        points = points if may_earn else 0.0
        if n == 0:
            fault = f"{shown(path)}: no element {self.name}"
        return Judged(points, fault or next((one.fault for one in judged if one.fault), ""))

    def _text_faults(self, element: Element) -> list[str | None]:
        text = element.text.strip(_BLANK)
        faults: list[str | None] = []
        if self.text == "nonempty":
            faults.append(None if _has_print(text) else "the text is empty")
        if self.pattern:
            matches = matcher_of(self.pattern)(text)
            faults.append(None if matches else f"the text does not match {self.pattern!r}")
        return faults

    def _order_fault(self, element: Element) -> str | None:
        places = {spec.name: place for place, spec in enumerate(self.children)}
        last = 0
        for child in element.children:
            place = places.get(child.name, last)
            if place < last:
                return f"{child.name} stands behind {self.children[last].name}"
            last = place
        return None

    def _other_fault(self, element: Element) -> str | None:
        names = {spec.name for spec in self.children}
        for child in element.children:
            if child.name not in names:
                return f"an element {child.name[:40]} that is not asked for"
        known = {spec.name for spec in self.attributes}
        for name in element.attributes:
            if name not in known:
                return f"an attribute {name[:40]} that is not asked for"
        if self.children and self.text == "any" and not self.pattern and element.text.strip(_BLANK):
            return "text between the elements"
        return None


def spec_of(given: Mapping[str, Any]) -> ElementSpec:
    """Reads a specification of the root element.

    Raises:
        ValueError: It is none; the message says where and why.
    """
    return _element(given, "elements", "root", ("root", *_KEYS), 1)


def _element(given: Any, at: str, name_key: str, keys: tuple[str, ...], depth: int) -> ElementSpec:
    _check_table(given, at, keys)
    if depth > MAX_SPEC_DEPTH:
        raise ValueError(f"{at}: nested deeper than {MAX_SPEC_DEPTH} levels")
    name = _name(given, name_key, at)
    least, most = given.get("min", 1), given.get("max")
    if not _is_count(least) or not (most is None or _is_count(most)):
        raise ValueError(f"{at}: min and max must be whole numbers from 0, got {least!r}, {most!r}")
    if most is not None and most < max(least, 1):
        raise ValueError(f"{at}: max is {most}, which is below min or 1; leave max out for any")
    text = given.get("text", "any")
    if text not in _TEXTS:
        raise ValueError(f"{at}.text must be one of {', '.join(map(repr, _TEXTS))}, got {text!r}")
    pattern = _pattern(given, at)
    if text == "empty" and pattern:
        raise ValueError(
            f'{at}: text = "empty" leaves nothing for the pattern; leave one of them out'
        )
    children = tuple(
        _element(child, f"{at}.children[{i}]", "name", ("name", "min", "max", *_KEYS), depth + 1)
        for i, child in enumerate(_list(given, "children", at))
    )
    attributes = tuple(
        _attribute(one, f"{at}.attributes[{i}]")
        for i, one in enumerate(_list(given, "attributes", at))
    )
    for kind, names in (
        ("children", [child.name for child in children]),
        ("attributes", [one.name for one in attributes]),
    ):
        twice = [one for one in names if names.count(one) > 1]
        if twice:
            raise ValueError(f"{at}.{kind}: {twice[0]!r} is there twice")
    return ElementSpec(
        name=name,
        least=least,
        most=most,
        text=text,
        pattern=pattern,
        attributes=attributes,
        children=children,
        ordered=_bool(given, "ordered", False, at),
        closed=_bool(given, "closed", True, at),
    )


def _attribute(given: Any, at: str) -> AttributeSpec:
    _check_table(given, at, ("name", "required", "pattern"))
    name = _name(given, "name", at)
    return AttributeSpec(name, _bool(given, "required", True, at), _pattern(given, at))


def _check_table(given: Any, at: str, keys: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise ValueError(f"{at} must be a table, got {type(given).__name__}")
    for key in given:
        if key not in keys:
            raise ValueError(f"{at}: no key {key!r}; there are {', '.join(keys)}")


def _name(given: Mapping[str, Any], key: str, at: str) -> str:
    name = given.get(key)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        got = repr(name)
        got = got if len(got) <= 80 else f"{got[:77]}..."
        raise ValueError(f"{at}.{key} must be the name of an element or attribute, got {got}")
    return name


def _list(given: Mapping[str, Any], key: str, at: str) -> list[Any]:
    value = given.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{at}.{key} must be a list of tables, got {type(value).__name__}")
    return value


def _bool(given: Mapping[str, Any], key: str, default: bool, at: str) -> bool:
    value = given.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"{at}.{key} must be true or false, got {value!r}")
    return value


def _pattern(given: Mapping[str, Any], at: str) -> str:
    pattern = given.get("pattern", "")
    if not isinstance(pattern, str):
        raise ValueError(f"{at}.pattern must be a text, got {type(pattern).__name__}")
    try:
        check_pattern(pattern)
    except ValueError as exc:
        raise ValueError(f"{at}.pattern {exc}") from exc
    return pattern


def _has_print(text: str) -> bool:
    """True if there is something to be seen: a letter, digit, mark of punctuation or symbol."""
    return any(
        unicodedata.category(character)[0] in "LNPS" and character not in _UNSEEN
        for character in text
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
