"""The words that lead to an answer, correct one, or leave it open: tables, in English.

All can be extended by options. They are general: words of the language, not of a data set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# "the answer to the question is", "Final Answer:", "the answer, in lowest terms, is".
_WORDS = (
    r"(?:,?[ \t]++(?:to|of|for|in|on|from|as|that|which|we|you|i|here|then|after|when|with)\b"
    r"(?:[ \t]++(?!is\b|are\b|was\b|not\b)[\w'’()\-]{1,30}+){0,8},?)?"
)
_LINK = (
    r"(?:[ \t]*+(?:\*\*|__)?[ \t]*+(?::|=(?!=)|→|⇒)"
    r"|(?:[ \t]*+(?:\*\*|__))?[ \t]++(?:(?P<none>(?:is|was)n['’]t|(?:could|might|may) be)"
    r"|is|are|was|be|equals|(?:w|sh)ould be|will be|must be"
    r"|comes (?:out )?to|turns out to be|becomes)\b)"
)
_NOUN = (
    r"\b(?P<final>final[ \t]{1,8})?(?:(?:correct(?:ed)?|true|right|best)[ \t]{1,8})?"
    r"(?:answers?|ans(?=\.?[ \t]*+[:=])\.?|final result"
    r"|(?:(?<=correct )|(?<=right )|(?<=best )|(?<=final ))(?:option|choice))"
)
# "Answer 1:" and "Answer B:" are answers of which there are several.
_WHICH = r"(?:[ \t]++#?(?:\d|[A-D]|one|two|three)(?=[ \t]*+[:=]|[ \t]++is\b))?"
ANSWER_IS = re.compile(
    _NOUN + _WHICH + r"(?:[ \t]*+\([^()\n]{0,60}\))?" + _WORDS + _LINK, re.IGNORECASE
)
# What `ANSWER_IS` may begin with before its noun.
BEFORE_NOUN = re.compile(
    r"(?<!\w)(?:final[ \t]{1,8})?(?<!\w)(?:(?:correct(?:ed)?|true|right|best)[ \t]{1,8})?\Z",
    re.IGNORECASE,
)
LONGEST_BEFORE_NOUN = len("final") + 8 + len("corrected") + 8

# A heading, with the answer in the next line that is not empty.
HEADING = re.compile(
    r"^[ \t>#*_\-]{0,10}(?:\d{1,2}[.)][ \t])?(?:(?:the|my|our)[ \t]++)?"
    r"(?P<final>final[ \t]++|correct(?:ed)?[ \t]++)?(?:answer|result)[ \t]*+[*_:]{0,5}[ \t]*+$",
    re.IGNORECASE | re.MULTILINE,
)

# Before "the answer is" these make it a supposition or a question.
SUPPOSED = re.compile(
    r"\b(?:if|whether|suppose|assume|assuming|unless|say|guess(?:ed)?(?: that)?|check(?: that)?"
    r"|verify(?: that)?|think|would be nice|not (?:clear|sure) (?:if|what|that))\W{1,3}"
    r"(?:that[ \t]++)?(?:the[ \t]++)?(?:final[ \t]++)?$",
    re.IGNORECASE,
)

# Between two answers: the first is taken back. The first table doubts, the second finds a fault.
DOUBTS = (
    r"wait",
    r"actually",
    r"re-?(?:do|did|done|doing|check(?:ing|ed)?|comput\w{1,4}|calculat\w{1,4}|consider\w{0,4}"
    r"|count\w{0,3}|examin\w{1,4}|work(?:ing|ed)?|visit(?:ing|ed)?|think(?:ing)?|read(?:ing)?"
    r"|evaluat\w{1,4})",
    r"instead",
    r"oops|whoops|hmm+|sorry|apolog(?:y|ies|i[sz]e)",
    r"on second thought|on reflection|second look|looking (?:again|back)",
    r"try(?:ing)? again|start(?:ing)? over|once more|from scratch",
    r"no,|nope",
    r"contradicts?|contradiction|reject(?:ed|ing|s)?",
    r"updat(?:e|ed|ing)|amend(?:ed|ing)?",
)
FAULTS = (
    r"correct(?:ion|ing|ed)",
    r"revis(?:e|ed|ing|ion)",
    r"mistakes?|mistaken(?:ly)?|errors?|erroneous(?:ly)?|blunders?|slips?|typos?",
    r"wrong(?:ly)?|incorrect(?:ly)?|invalid",
    r"scratch (?:that|this)|strike that|never ?mind",
    r"not (?:quite )?(?:right|correct|true|valid|possible|allowed)",
    r"(?:can ?not|can['’]t) be(?: right| correct| true)?",
    r"(?:is|was|are|were)n['’]t (?:quite )?(?:right|correct|true|valid|possible|allowed)",
    r"(?:is|was) not (?:the|my|our|an?) (?:final |correct |right )?(?:answer|solution)",
    r"should (?:be|have been|read)",
    r"i meant?",
    r"fails?|failed|violat(?:es?|ed|ing)",
    r"(?:does|did)(?: not|n['’]t) (?:work|fit|satisfy|hold|check out|add up|make sense|count)",
    r"mis(?:read|counted|calculated|took|placed|applied|understood|stated|interpreted|copied)",
    r"(?:over|double|under)-?[ ]?count(?:ed|ing|s)?|counted twice",
    r"off by|one too (?:many|few)",
    r"forg[oe]t(?:ten)?|overlooked|neglected|missed|omitted|left out",
    r"disregard|discard(?:ed|ing)?|ignore (?:that|this|the)|retract|withdraw",
    r"rul(?:e|ed|ing) (?:it |that |this )?out|extraneous",
)
# In the same sentence these make a correction conditional: it leaves the answer open.
_OPEN = (
    r"\b(?:if|unless|in case|otherwise|maybe|perhaps|possibly|might|could|either|alternatively"
    r"|(?:not|un)[ -]?sure|torn|depending|should (?:that|this|it|i|my|the)|failing that|backup"
    r"|fallback|assuming|suppose|provided|whether)\b"
)
_OPEN_SENTENCE = re.compile(_OPEN, re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$|[$*)])|\n\n|[。！？]")
_NOT_WRONG = re.compile(
    r"\b(?:no|without(?: any)?|not (?:a|an|any)?|nothing)[ \t]*$", re.IGNORECASE
)

# Right before an answer: it is none.
NOT_BEFORE = re.compile(
    r"(?:\bnot|n['’]t|\brather than|\binstead of)[ \t]*+(?:\$\$?|\\\(|\\\[)?[ \t]*+$",
    re.IGNORECASE,
)
# Right before an answer, behind another: both are offered.
OR_BEFORE = re.compile(
    r"\b(?:or|alternatively|maybe|perhaps|possibly|otherwise|else)[,:]?[ \t]*+"
    r"(?:maybe|perhaps|possibly|even|else|it is|it's)?[ \t]*+(?:\$\$?|\\\(|\\\[)?[ \t]*+$",
    re.IGNORECASE,
)
# Behind an answer: another one is offered.
OR_AFTER = re.compile(
    r"[ \t$*_`)\]\\]{0,8}+[.,;(]?[ \t]*+(?:but[ \t]++)?(?:\(?[ \t]*+or,?|\balternatively,?"
    r"|\bmaybe|\bperhaps|\bpossibly|\botherwise,?"
    r"|\b(?:it |that )?(?:might|could|may)(?: also| well)?(?: be)?)[ \t]++"
    r"(?:maybe |perhaps |possibly |even |else |also |it is |it's |it could be |it might be "
    r"|it may be |be |could be |might be )?",
    re.IGNORECASE,
)
# In what stands for one answer: another one is offered, or a bound and no value.
OFFERS = re.compile(
    r"\b(?:or|maybe|perhaps|possibly|otherwise|might|could)\b[^\n]{0,30}?\d"
    r"|\bor (?:more|less|fewer|greater|above|below)\b"
    r"|\b(?:but|though|although|unless)\b\D{0,300}+\d"
    r"|\bat (?:least|most)\b|\b(?:more|less|fewer|greater) than\b",
    re.IGNORECASE | re.DOTALL,
)
# "5 or equivalently 10/2", "or about 3.1": the same value in other words, no other answer.
SAME_VALUE = re.compile(
    r"(?:equivalently|simply|approximately|approx\.?|about|roughly|in |around|less|more|fewer"
    r"|better|so\b|rather|≈|\\approx)",
    re.IGNORECASE,
)

# Only behind a correction: "it should be 32", "it is 6". Behind a fault also "that yields $7$".
_LEADS = (
    r"should be|should have been|must be|it is|it['’]s|is actually|make that|makes? it"
    r"|brings it to|i meant?|rather|correction:|(?:correct|right|true) (?:value|one|number) is"
)
_MORE_LEADS = (
    r"|that is|that['’]s|is|are|becomes|gives(?: us)?|yields|get|obtain|makes|equals|have|by"
)
CORRECTED_TO = re.compile(rf"\b(?:{_LEADS})[ \t]*:?[ \t]*(?:\*\*|__)?", re.IGNORECASE)
FAULT_CORRECTED_TO = re.compile(
    rf"(?:\b(?:{_LEADS}{_MORE_LEADS})|=)[ \t]*:?[ \t]*(?:\*\*|__)?", re.IGNORECASE
)

# What ends a plain answer: the rest explains it.
EXPLAINS = re.compile(
    r",?(?<![ \t])[ \t]++\(?(?:because|since|which|so(?: that)?|where|when|after|if"
    r"|as (?:we|the|it|there|required|desired|expected|shown|stated|above|before|was)"
    r"|in (?:total|all)|altogether"
    r"|overall|remaining|left|each|given|by|obtained|found|under|i\.e|that is|namely|from|using"
    r"|rounded|due|thus|hence|therefore|and not|not|instead of|rather than|but)\b"
    r"|(?<![ \t])[ \t]*+\(i\.e"
    r"|,[ \t]++(?:it|he|she|they|this|that|we|as|for)\b|(?<![ \t])[ \t]++(?:[—–][ \t]"
    r"|\((?!or\b|and\b|mod\b)[A-Za-z][a-z]{2,}[^()]*+\)[ \t]*+$"
    r"|--?[ \t]++(?=[A-Za-z]{2})|for (?=the|all|any|this|each|\w{4}))",
    re.IGNORECASE,
)
FILLERS = re.compile(
    r"(?:thus|therefore|simply|just|exactly|clearly|then|equal to|given by|as follows|indeed|now"
    r"|option|choice|letter|both|either|hence|precisely|the number|the value|approximately|about"
    r"|approx\.?|around|roughly|nearly)\b[ \t]*[:,]?[ \t]*",
    re.IGNORECASE,
)
NEGATED = re.compile(
    r"(?:not|n['’]t|neither|never|no longer|unlikely|unknown|unclear|obviously not)\b",
    re.IGNORECASE,
)
NOT_BUT = re.compile(r"\b(?:but(?: rather)?|it is|it['’]s|rather|instead)[ \t]+", re.IGNORECASE)
PLACEHOLDER = re.compile(
    r"[\s.…?_\-\[\]<>()*]*+(?:\\(?:text|ldots|dots|cdots|ast)\b[\s{}]*+)?"
    r"(?:(?:your|the|final|insert|put|my|a|an|numeric(?:al)?|correct)[ _]++)*+"
    r"(?:answer|number|value|result|solution|expression|letter|option)?(?:[ _]?here)?"
    r"[\s.…?_\-\[\]<>()}*]*",
    re.IGNORECASE,
)


def own_phrases(phrases: Sequence[str]) -> re.Pattern[str] | None:
    """The pattern of phrases that lead to an answer, as an option names them; None for none."""
    if not phrases:
        return None
    words = "|".join(re.escape(p) for p in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?:{words})[ \t]*[:：=]?", re.IGNORECASE)


class Corrections:
    """Tells whether a text between two answers takes the first back.

    Args:
        own: Words and phrases beside those of the tables.
    """

    def __init__(self, own: Sequence[str] = ()) -> None:
        faults = "|".join([*FAULTS, *map(re.escape, own)])
        words = "|".join(DOUBTS)
        self._cue = re.compile(rf"(?<!\w)(?:(?P<fault>{faults})|{words})(?!\w)", re.IGNORECASE)

    def first_in(self, text: str) -> re.Match[str] | None:
        """The first correction; its group "fault" is there if it finds a fault."""
        return next(self.all_in(text), None)

    def all_in(self, text: str) -> Iterator[re.Match[str]]:
        """All corrections."""
        for cue in self._cue.finditer(text):
            if cue["fault"] and _NOT_WRONG.search(text, max(0, cue.start() - 20), cue.start()):
                continue
            if not _is_open(text, cue.start(), cue.end()):
                yield cue


def _is_open(text: str, start: int, end: int) -> bool:
    """True if the sentence around a cue says "if", "maybe" or the like."""
    low = max(0, start - 120)
    for mark in _SENTENCE_END.finditer(text, low, start):
        low = mark.end()
    mark_after = _SENTENCE_END.search(text, end, end + 120)
    high = mark_after.start() if mark_after else min(len(text), end + 120)
    return _OPEN_SENTENCE.search(text, low, high) is not None
