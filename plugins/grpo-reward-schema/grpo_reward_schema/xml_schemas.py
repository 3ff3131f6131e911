"""XML Schema and RELAX NG, through lxml: an extra, imported when one is asked for."""

from __future__ import annotations

import functools
import threading
from typing import Any, Literal

from grpo_reward_schema.patterns import LimitHit
from grpo_reward_schema.xml_child import fault_in_child
from grpo_reward_schema.xml_finding import has_doctype
from grpo_reward_schema.xml_parsing import NotXml, shown
from grpo_reward_schema.xml_pattern_cost import MOST_STEPS, n_repeats, n_steps

Kind = Literal["xsd", "relaxng"]

MAX_SCHEMA_BYTES = 1_000_000
_XSD = "http://www.w3.org/2001/XMLSchema"
_RNG = "http://relaxng.org/ns/structure/1.0"
# What makes libxml2 read other documents; an import that names no place does not.
_READS_OTHERS = {
    **{f"{{{_XSD}}}{name}": "schemaLocation" for name in ("include", "redefine", "override")},
    f"{{{_XSD}}}import": "schemaLocation",
    **{f"{{{_RNG}}}{name}": "href" for name in ("include", "externalRef")},
}
_MOST_MESSAGE = 200


class Schema:
    """A schema that documents are validated against.

    Args:
        kind: What it is.
        text: Its text.

    Raises:
        ValueError: It cannot be used, or lxml is not installed.
    """

    def __init__(self, kind: Kind, text: str) -> None:
        self._kind = kind
        self._etree = etree = _etree(kind)
        text = text.lstrip("\ufeff \t\r\n")
        if not text.startswith("<"):
            raise ValueError(
                f"{kind} must be the text of a schema, which begins with '<', got "
                f'{text[:40]!r}; a file is read with {{ file = "path" }}'
            )
        if len(text.encode(errors="surrogatepass")) > MAX_SCHEMA_BYTES:
            raise ValueError(f"{kind}: longer than {MAX_SCHEMA_BYTES} bytes")
        if has_doctype(text):
            raise ValueError(f"{kind}: a DOCTYPE is refused")
        try:
            root = etree.fromstring(text.encode(), self._parser())
            for element in root.iter(etree.Element):
                _check_reads_nothing(kind, element)
            self._n_repeats = max(map(n_repeats, _patterns(root)), default=0)
            make = etree.XMLSchema if kind == "xsd" else etree.RelaxNG
            self._schema = make(root)
        except (etree.LxmlError, UnicodeEncodeError) as exc:
            raise ValueError(f"{kind}: cannot be used: {_one_line(str(exc))}") from exc
        self._text = text
        # The log of errors belongs to the schema, not to a call.
        self._lock = threading.Lock()

    def _parser(self) -> Any:
        return self._etree.XMLParser(
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            dtd_validation=False,
            huge_tree=False,
        )

    def fault(self, text: str) -> str | None:
        """The first error in a document that `xml_parsing.parse` has accepted, or None.

        Raises:
            NotXml: lxml does not take it: a prefix that is not declared, or a limit of its own.
            LimitHit: The patterns of the schema take too long.
        """
        root = self.root_of(text)
        if self._n_repeats and n_steps(root, self._n_repeats) > MOST_STEPS:
            return fault_in_child(self._kind, self._text, text)
        return self.fault_here(root)

    def root_of(self, text: str) -> Any:
        """The root of a document.

        Raises:
            NotXml: lxml does not take it.
        """
        try:
            return self._etree.fromstring(text.encode(), self._parser())
        except self._etree.LxmlError as exc:
            raise NotXml(f"/: {_one_line(str(exc))}") from exc

    def fault_here(self, root: Any) -> str | None:
        """The first error below a root, looked for in this process.

        Raises:
            LimitHit: libxml2 gives up.
        """
        # libxml2 follows a document's xsi:schemaLocation only where it was given no schema.
        with self._lock:
            try:
                if self._schema.validate(root):
                    return None
            except self._etree.LxmlError as exc:
                raise LimitHit(f"libxml2 gives up on the {self._kind} for this document") from exc
            first = next(iter(self._schema.error_log), None)
        if first is None:
            return "/: not valid"
        return f"{shown(first.path or '/')}: {_one_line(first.message)}"


@functools.lru_cache(maxsize=64)
def schema_of(kind: Kind, text: str) -> Schema:
    """A schema by its text; each is compiled once.

    Raises:
        ValueError: It cannot be used, or lxml is not installed.
    """
    return Schema(kind, text)


def _etree(kind: Kind) -> Any:
    try:
        from lxml import etree
    except ImportError as exc:
        raise ValueError(
            f"{kind} needs lxml, which is not installed: pip install 'grpo-reward-schema[xml]'"
        ) from exc
    return etree


def _patterns(root: Any) -> list[str]:
    facets = [element.get("value") for element in root.iter(f"{{{_XSD}}}pattern")]
    params = [one.text for one in root.iter(f"{{{_RNG}}}param") if one.get("name") == "pattern"]
    return [pattern for pattern in facets + params if pattern]


def _check_reads_nothing(kind: Kind, element: Any) -> None:
    place = _READS_OTHERS.get(element.tag)
    if place and place in element.attrib:
        name = element.tag.rpartition("}")[2]
        raise ValueError(
            f"{kind}: line {element.sourceline}: {name} of {element.attrib[place][:80]!r} is "
            f"refused, since nothing is read from files or the network; write it into the schema"
        )


def _one_line(message: str) -> str:
    # lxml calls every text so.
    line = " ".join(message.replace("(<string>, line 1)", "").split())
    line = line.replace("The XML document 'in_memory_buffer'", "it")
    return line if len(line) <= _MOST_MESSAGE else f"{line[:_MOST_MESSAGE]}…"
