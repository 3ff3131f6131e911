"""Parses XML under limits with the standard library: nothing is expanded, nothing is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from grpo_reward_schema.xml_finding import has_doctype

# Elements of one document; each costs memory, and no reply needs as many.
MAX_ELEMENTS = 100_000
_MOST_PATH = 120


class NotXml(ValueError):
    """The text is not well-formed, or over a limit; the text of the error says which."""


@dataclass(slots=True)
class Element:
    """An element of a document.

    Attributes:
        name: As it is written, with its prefix.
        attributes: By name, without the declarations of namespaces.
        children: The elements in it.
        texts: The pieces of text directly in it.
    """

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly in the element."""
        return "".join(self.texts)


def parse(text: str, max_depth: int) -> Element:
    """The root element of a document.

    Raises:
        NotXml: It is not well-formed, has a document type, or is over a limit.
    """
    if has_doctype(text):
        raise NotXml("a DOCTYPE is refused")
    try:
        data = text.encode()
    except UnicodeEncodeError as exc:
        raise NotXml("half of a surrogate pair in the text") from exc
    return _Builder(max_depth).build(data)


def shown(path: str) -> str:
    """A path that fits into a reason."""
    return path if len(path) <= _MOST_PATH else f"{path[:_MOST_PATH]}…"


class _Builder:
    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._open: list[Element] = []
        self._root: Element | None = None
        self._n_elements = 0

    def build(self, data: bytes) -> Element:
        # The encoding is given, so that a declaration in the text cannot choose another.
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.XmlDeclHandler = self._declaration
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        # A second lock: the scan has refused these already.
        parser.StartDoctypeDeclHandler = self._refuse
        try:
            parser.Parse(data, True)
        except expat.ExpatError as exc:
            message = expat.ErrorString(exc.code)
            at = f"{message} at line {exc.lineno} column {exc.offset + 1}"
            raise NotXml(f"{self._path()}: not well-formed: {at}") from exc
        assert self._root is not None  # expat has found one
        return self._root

    def _path(self) -> str:
        return shown("/" + "/".join(element.name for element in self._open[:50]))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= self._max_depth:
            raise NotXml(f"{self._path()}: nested deeper than {self._max_depth} levels")
        self._n_elements += 1
        if self._n_elements > MAX_ELEMENTS:
            raise NotXml(f"more than {MAX_ELEMENTS} elements")
        own = {
            key: value
            for key, value in attributes.items()
            if key != "xmlns" and not key.startswith("xmlns:")
        }
        element = Element(name, own)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._root = element
        self._open.append(element)

    def _end(self, name: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].texts.append(text)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        # A file of this text would be unreadable, or mean something else.
        if version != "1.0":
            raise NotXml(f"XML of version {version[:20]} is refused, 1.0 is read")
        if encoding is not None and encoding.upper() != "UTF-8":
            raise NotXml(f"the encoding {encoding[:20]} is declared, and the text is UTF-8")

    def _refuse(self, *_: object) -> None:
        raise NotXml("a DOCTYPE is refused")
