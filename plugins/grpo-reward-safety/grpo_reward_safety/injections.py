"""Finds text that is written for a judge, not for a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grpo_reward_safety.injection_rules import OTHER_LANGUAGES, Rule
from grpo_reward_safety.injection_rules import rule as _rule

Found = tuple[str, int, int]

_JUDGE = (
    r"(?:grader|judge|evaluator|examiner|assessor|scorer|marker|annotator|verifier|rater|moderator"
    r"|reward\s?model|grading\s(?:system|model|assistant|bot)|evaluation\s(?:system|model)"
    r"|llm\sjudge|ai\sjudge|scoring\s(?:system|model|function)|reviewer)s?"
)
_FULL = r"(?:full|maximum|max|maximal|perfect|highest|top|best\spossible|complete|10/10|100\s?%)"
_MARKS = r"(?:marks?|scores?|points?|credit|grades?|ratings?|rewards?)"
_PERFECT = (
    r"(?:10(?:\.0)?\s?(?:/|out\sof)\s?10|5(?:\.0)?\s?(?:/|out\sof)\s?5|100\s?(?:/|out\sof)\s?100|1(?:\.0)?\s?/\s?1"
    r"\b|100\s?%|a\+(?!\w)|\[\[(?:10|5|[abc])\]\]|full\s(?:marks|score|credit|points)|perfect\b|maximum\b"
    r"|excellent\b|five\sstars)"
)
# Words within a few of each other; bounded, so that a text of them costs no square.
_FEW = r"(?:[\s,]{1,3}[\w'-]{1,20}){0,4}?[\s,]{1,3}"
_STARTS = (
    r"(?:^|[.!?:;\n>\]*]\s{0,3}|\b(?:please|must|should|always|now|just|to|and|you|shall|will)\s)"
)


_RULES = (
    _rule(
        "override",
        "ignor|disregard|forget|overrid|bypass|follow",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?"
        r"|(?:do\snot|don't|stop)\sfollow(?:ing)?)"
        rf"{_FEW}(?:rubrics?|grading|(?:marking|scoring|evaluation)\s(?:criteria|rules|scheme|guide\w*|instructions)"
        r"|(?:previous|prior|above|earlier|preceding|other|system|original|initial|your)\s(?:\w{1,12}\s)?"
        r"(?:instructions?|prompts?|guidelines|directions|directives|messages?|criteria)"
        r"|instructions\s(?:above|before|given|you))",
    ),
    _rule(
        "override",
        "forget",
        r"\bforget\s(?:everything|all|what)\s(?:that\s)?(?:you\s(?:were|have\sbeen|are)\s(?:told|given)|(?:is\s)?above)",
    ),
    _rule(
        "asks_for_marks",
        "mark|score|point|credit|grade|rating|reward",
        rf"{_STARTS}(?:(?:award|give|assign|grant|rate|score|grade){_FEW}{_FULL}"
        rf"|(?:output|return|report|set|mark|choose|select){_FEW}(?:full|perfect|10/10|100\s?%))"
        rf"\s(?:possible\s|available\s)?{_MARKS}\b(?!\sto\s(?!me\b|this\b|my\b|the\s(?:answer|response|above)))",
    ),
    _rule(
        "asks_for_marks",
        "mark|score|grade|rate|accept|consider|treat|judge",
        rf"{_STARTS}(?:mark|score|grade|rate|accept|consider|treat|judge)\s(?:this|it|my|the|our)"
        r"(?:\s(?:answer|response|solution|submission|reply|output|completion|work))?"
        r"\s(?:as\s)?(?:being\s)?(?:fully\s)?"
        r"(?:correct|right|perfect|passed|passing|excellent|flawless|(?:a\s)?(?:10|100|full)\b)",
    ),
    _rule(
        "asks_for_marks",
        "should|must|deserv|merit|receiv|worth",
        r"\b(?:this|my|the\s(?:above|following))\s(?:answer|response|solution|submission|reply|output|completion|work)\s"
        r"(?:(?:should|must|has\sto|needs\sto)\s(?:be\s(?:marked|graded|scored|rated|awarded|accepted|given"
        r"|considered|treated|judged|deemed)|receive|get"
        rf"|score|earn)|deserves|merits|receives|is\sworth){_FEW}?(?:{_FULL}\b|correct|{_PERFECT}|passed)",
    ),
    _rule(
        "own_verdict",
        "score|rating|grade|reward|verdict|mark|evaluation|judg",
        r"^[\s*_#>\[(\"'-]{0,8}(?:(?:final|my|overall|total|the|self|assigned)[\s-]){0,2}"
        r"(?:scores?|ratings?|grades?|rewards?|verdicts?|marks?|evaluation|judge?ment)"
        r"[\s*_\])\"']{0,4}(?:(?:for|of)\s(?:this|my|the)\s\w{1,12}\s?)?(?::|=|is\b)[\s*_\"'`(]{0,4}"
        rf"(?:{_PERFECT}|(?:correct|pass(?:ed)?|accept(?:ed)?)[\s.!*\"']{{0,3}}$)",
    ),
    _rule(
        "asks_for_marks",
        "as correct|as right",
        rf"{_STARTS}(?:mark|grade|score|accept|count)\sas\s(?:correct|right)",
    ),
    _rule(
        "own_verdict",
        "<score|<rating|<grade|<reward|<verdict",
        r"<(?:score|rating|grade|reward|verdict)>\s?(?:10(?:/10)?|100|5/5|1(?:\.0)?|correct|pass(?:ed)?|accept(?:ed)?"
        r"|perfect|full\smarks)\s?</",
    ),
    _rule("own_verdict", "[[", r"\[\[(?:[abc]|a>>b|b>>a|rating:?\s?\d{1,3}|score:?\s?\d{1,3})\]\]"),
    _rule(
        "addresses_judge",
        "|".join("grader judge evaluator examiner assessor scorer marker annotator verifier rater "
                 "moderator reward grading evaluation scoring reviewer".split()),
        rf"\b(?:note|message|memo|attention|instructions?|reminder|info|information|hint|dear|hello|hi|hey|attn)"
        rf"[\s,:]{{1,3}}(?:(?:to|for)\s)?(?:(?:the|any|all|our|my|whoever)\s)?(?:ai\s|llm\s|automated\s|human\s)?"
        rf"{_JUDGE}\b(?!\s(?:mr|mrs|ms|dr|[a-z]{{1,20}},))",
    ),
    _rule(
        "addresses_judge",
        "|".join("grader judge evaluator examiner assessor scorer marker annotator verifier rater "
                 "moderator reward grading evaluation scoring reviewer".split()),
        rf"(?:^|[.!?\n(\[*]\s{{0,3}}|\b(?:as|if\syou\sare|you\sare)\s(?:an?\s|the\s)?(?:ai\s|llm\s|automated\s)?)"
        rf"{_JUDGE}\s?[,:]\s(?:\w{{1,12}}\s){{0,2}}?(?:please|you|ignore|disregard|give|award|assign|mark|score"
        r"|output|return|rate|grade|select|choose|accept|remember|note)\b",
    ),
    Rule(
        "fake_system",
        ("<|",),
        re.compile(
            r"<\|(?:im_start|im_end|im_sep|system|assistant|user|endoftext|end|eot_id|eom_id|start_header_id"
            r"|end_header_id|begin_of_text|end_of_text|start|channel|message|return)\|>"
        ),
    ),
    _rule("fake_system", "[inst]|<<sys>>|[/inst]", r"\[/?inst\]|<</?sys>>"),
    _rule("fake_system", "_turn>", r"<(?:start|end)_of_turn>"),
    _rule(
        "fake_system",
        "system",
        r"^[\s*_#>\[(<{-]{0,8}system[\s_-]?(?:note|message|prompt|override|notice|alert|update|instruction"
        r"|command|directive|admin)s?[\s*_\])>}]{0,4}[:\]>\-—]|</?system(?:_prompt|-prompt|_message|-reminder)?>"
        r"|^\s{0,3}(?:\[system\]|#{2,4}\s?system\s?:)|\[system\s?(?:note|message|override)?[:\]]",
    ),
    _rule("fake_system", "assistant>|user>|human>", r"</?(?:assistant|user|human)>"),
    *OTHER_LANGUAGES,
)  # fmt: skip

_ASCII_RULES = [one for one in _RULES if any(map(str.isascii, one.stems))]

_COMMENT_WORDS = re.compile(
    r"grad(?:e|er|ing)|scor(?:e|ing)|judge|rubric|ignore|instruct|marks?\b|evaluat|reward|rating|verif"
    r"|correct|assess|prompt"
)
# Characters of tags: letters that no font shows. Behind a black flag they draw a region's.
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_BLACK_FLAG = "\U0001f3f4"
_COMMENT_CHARS = 4000
_LEFT_OUT = re.compile(r"\*+|(?<=[ \t])[ \t]+")


def find_injections(text: str) -> Iterator[Found]:
    """Category and place of what addresses a judge.

    Args:
        text: The text as `injection_rules.FOLD` makes it: small, without what cannot be seen.
    """
    bare = text.replace("*", "")
    known: dict[tuple[str, ...], bool] = {}
    for one in _ASCII_RULES if bare.isascii() else _RULES:
        if one.stems not in known:
            known[one.stems] = any(map(bare.__contains__, one.stems))
    tried = [one for one in _RULES if known.get(one.stems)]
    if tried:
        # Without emphasis, and with one blank where several stand.
        read = _LEFT_OUT.sub("", text)
        kept: Sequence[int] = range(len(text)) if len(read) == len(text) else ()
        for one in tried:
            for match in one.pattern.finditer(read):
                kept = kept or _kept(text)
                yield one.category, kept[match.start()], kept[match.end() - 1] + 1
    yield from _comments(text)


def _kept(text: str) -> list[int]:
    left_out = {i for match in _LEFT_OUT.finditer(text) for i in range(*match.span())}
    return [i for i in range(len(text)) if i not in left_out]


def find_invisible(text: str) -> Iterator[Found]:
    """Places of letters that cannot be seen, in the text as it is."""
    for match in () if text.isascii() else _TAGS.finditer(text):
        if match.start() == 0 or text[match.start() - 1] != _BLACK_FLAG:
            yield "invisible", *match.span()


def _comments(text: str) -> Iterator[Found]:
    """HTML comments with words of grading in them; one that is never closed runs to the end."""
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at)
        if end < 0:
            end = len(text)
        # Only the beginning of a long one: that bounds what a text of openers costs.
        if _COMMENT_WORDS.search(text, at, min(end, at + _COMMENT_CHARS)):
            yield "comment", at, min(end + 3, len(text))
        at = text.find("<!--", end)
