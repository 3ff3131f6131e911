"""The reward `schema/xml`."""

from __future__ import annotations

from typing import Any, Literal, get_args

from grpo_core import Completion, Fail, Score, reward
from grpo_reward_schema.finding import Extract, NotFound, Pick, Place
from grpo_reward_schema.json_reward import MOST_INVALID
from grpo_reward_schema.parsing import Limits, NotJson
from grpo_reward_schema.patterns import LimitHit, shared_time
from grpo_reward_schema.reply import check_after_tag, check_choice, check_number
from grpo_reward_schema.xml_finding import open_xml, xml_piece_of
from grpo_reward_schema.xml_parsing import Element, NotXml, parse
from grpo_reward_schema.xml_schemas import Kind, schema_of
from grpo_reward_schema.xml_spec import spec_of

# What a well-formed document earns that is not valid against a schema without `elements`.
WELL_FORMED = 0.1


@reward(range=(0.0, 1.0))
class Xml:
    """1.0 if the reply holds XML that is well-formed and valid; less, or 0.0, if it does not.

    The XML is looked for in the text behind the last `</think>`: the text as a whole, else code
    fences, else elements in the prose. A text without XML, or with one that is not well-formed,
    scores 0.0. Without `elements`, `xsd` and `relaxng` well-formed is all it must be; of those
    that are given, all must hold.

    Under `mode = "partial"` a document that is not valid earns 0.95 times the share of the
    assertions of `elements` that it satisfies; the number of assertions is that of the
    specification, so deleting what is required never pays. A root with another name earns 0.0.
    A schema's assertions cannot be counted so: without `elements` it is 0.1 for what is
    well-formed. Give both, and the schema decides while `elements` pays. The reason names the
    first assertion that does not hold, with the path of the element.

    A document type is refused before a parser sees the text, so no entity is ever expanded, and
    nothing is read from files or the network. Deterministic, but for patterns that run into a
    limit: then the score is 0.0 and the metric `limit_hits` is 1. `elements` needs nothing
    beyond this package, `xsd` and `relaxng` need lxml: the extra `xml`.

    How a lazy model could cheat: `<a/>` is well-formed, and a specification says what a document
    looks like, not that it is right. Name the root, ask for text with "nonempty" or a pattern, and
    pair this reward with one that looks at the content.

    Args:
        mode: "partial", or "strict" for 1.0 and 0.0 only.
        elements: What the root element must be: `root`, `children`, `attributes`, `text`,
            `pattern`, `ordered`, `closed`. See the README.
        extract: "auto" allows prose and code fences around the XML, "whole" does not.
        pick: Which piece of XML counts where there are several: "last", "first", or "only", which
            refuses several.
        after_tag: Name of the tag that closes the reasoning; only the text behind it counts.
            "" counts all of it.
        max_bytes: Of the text; a longer one scores 0.0.
        max_depth: Of elements in elements.

    Raises:
        ValueError: An option is not one of these.
    """

    def __init__(
        self,
        *,
        mode: Literal["partial", "strict"] = "partial",
        elements: dict[str, Any] | None = None,
        extract: Literal["auto", "whole"] = "auto",
        pick: Literal["last", "first", "only"] = "last",
        after_tag: str = "think",
        max_bytes: int = 1_000_000,
        max_depth: int = 128,
    ) -> None:
        check_choice("mode", mode, ("partial", "strict"))
        check_choice("extract", extract, get_args(Extract))
        check_choice("pick", pick, get_args(Pick))
        check_after_tag(after_tag)
        check_number("max_bytes", max_bytes, 1, 100_000_000)
        # 256 is as deep as lxml goes.
        check_number("max_depth", max_depth, 1, 200)
        self._is_strict = mode == "strict"
        self._place = Place(extract, pick, after_tag)
        self._limits = Limits(max_bytes=max_bytes)
        self._max_depth = max_depth
        self._spec = None if elements is None else spec_of(elements)

    def check_inputs(self, xsd: str | None = None, relaxng: str | None = None) -> str | None:
        """Returns what is wrong with the schemas, or None."""
        try:
            for kind, text in _given(xsd, relaxng):
                schema_of(kind, text)
        except ValueError as exc:
            return str(exc)
        return None

    def __call__(
        self, completion: Completion, xsd: str | None = None, relaxng: str | None = None
    ) -> Score | Fail:
        """Scores a completion; a row whose schema cannot be used fails.

        Args:
            completion: The completion.
            xsd: The text of an XML Schema that the XML must be valid against.
            relaxng: The text of a RELAX NG schema, in its XML syntax.
        """
        if wrong := self.check_inputs(xsd, relaxng):
            return Fail(wrong)
        try:
            text, root = self._read(completion)
            with shared_time():
                share, fault = self._judge(text, root)
            for kind, schema in _given(xsd, relaxng):
                fault = fault or schema_of(kind, schema).fault(text) or ""
        except (NotFound, NotJson, NotXml) as exc:
            return Score(0.0, str(exc), {"limit_hits": 0.0})
        except LimitHit as exc:
            return Score(0.0, f"limit: {exc}", {"limit_hits": 1.0})
        if not fault:
            return Score(1.0, "", {"limit_hits": 0.0})
        return Score(0.0 if self._is_strict else share, fault, {"limit_hits": 0.0})

    def _read(self, completion: Completion) -> tuple[str, Element]:
        self._limits.check_size(completion.text)
        reply = self._place.reply_of(completion.text, completion.prefill, open_xml)
        try:
            return self._document(reply.removeprefix("\ufeff"))
        except (NotFound, NotXml) as exc:
            raise type(exc)(f"{self._place.where(completion.text)}{exc}") from exc

    def _document(self, reply: str) -> tuple[str, Element]:
        if not reply:
            raise NotFound("the text is empty")
        why: NotFound | NotXml = NotFound("no XML in the text")
        if reply.startswith("<") or self._place.extract == "whole":
            try:
                return reply, parse(reply, self._max_depth)
            except NotXml as exc:
                why = exc
        if self._place.extract == "whole":
            raise why
        piece = xml_piece_of(reply, self._place.pick, self._spec.name if self._spec else "")
        if piece in ("", reply):
            raise why
        return piece, parse(piece, self._max_depth)

    def _judge(self, text: str, root: Element) -> tuple[float, str]:
        """What a document that is not valid earns, and where it is not as `elements` says."""
        share, fault = WELL_FORMED, ""
        if self._spec:
            if root.name != self._spec.name:
                return 0.0, f"/{root.name[:40]}: the root must be {self._spec.name}"
            judged = self._spec.judge(root, f"/{root.name}")
            share, fault = MOST_INVALID * judged.points / self._spec.total, judged.fault
        return share, fault


def _given(xsd: str | None, relaxng: str | None) -> list[tuple[Kind, str]]:
    given: list[tuple[Kind, str | None]] = [("xsd", xsd), ("relaxng", relaxng)]
    # An empty text is a schema too, and no good one.
    return [(kind, text) for kind, text in given if text is not None]
