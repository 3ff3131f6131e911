"""The words that take an answer back, and those that say what it should be: tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grpo_reward_math.phrases import SENTENCE_END

# Between two answers: the first is taken back. All of these are said by the writer about the answer
# itself; "a common error", "no values were left out" and "we reject the negative root" are not.
_IT = (
    r"(?:(?<!\w)(?=[a-z])(?:that|this|it|which|(?:(?:the|my|our|that|this|previous|earlier|first"
    r"|above) ){1,3}"
    r"(?:answer|result|value|solution|number|total|sum|count|calculation|reasoning|step|above|one"
    r"|approach|formula))|\}[$ *.\\)\]]{0,6})"
)
_RE = (
    r"re-?(?:do|check|comput|calculat|consider|count|examin|work|visit|think|read|evaluat)"
    r"(?:e|ed|ing|ne)?"
)
# At the beginning of a sentence or clause.
_CALLS = (
    r"wait|hold on|actually|oops|whoops|hmm+|sorry|my (?:bad|apologies|mistake|error)"
    r"|apologies|nope"
    r"|i apologi[sz]e|no(?=[,.!;:]| wait\b)"
    r"|on (?:second thoughts?|reflection)|(?:on a )?second look|look(?:ing)? (?:again|back|closer)"
    r"|scratch (?:that|this)|strike that|never ?mind|correction|disregard (?:that|this|the above)"
    r"|ignore (?:that|this|the (?:above|previous|first))|instead(?=,)|once more|but then"
    r"|(?:let(?:['’]s| me| us)|(?:i|we)(?:['’]ll| will| should| must| need to| have to)?)"
    rf" (?:\w{{1,20}} )?(?:{_RE}|correct|fix|revise|update|amend|try again|start (?:over|again))"
    rf"|{_RE}|try(?:ing)? (?:it )?again|start(?:ing)? over|(?:so|and) (?:we|i) {_RE}"
    r"|(?:revised|updated|corrected|amended|correcting|updating|revising)"
)
_MADE = (
    r"(?:made|make|see|spot(?:ted)?|found|find|notice[d]?|was|is|had|with|due to|because of|after)"
    r" (?:a|an|one|my|the|some|that) (?:\w{1,20} )?"
    r"(?:mistakes?|errors?|blunder|slip|typo)(?! to\b)"
)
_OWN_FAULT = (
    r"(?:i|we)(?:['’]ve| have| had)? (?:\w{1,20} )?"
    r"(?:forgot(?:ten)?|overlooked|neglected|missed|omitted|left out|dropped|meant"
    r"|retract|withdraw|should have|was wrong|were wrong|stand corrected"
    r"|failed to|mis(?:read|counted|calculated|took|placed|applied|understood|stated|interpreted"
    r"|copied)|(?:over|double|under)-?[ ]?counted|counted \w{1,20} twice"
    r"|(?:need|have|must|want|wish|like) (?:to )?(?:correct|revise|amend|update|retract|withdraw))"
    rf"|(?:i|we|there(?:['’]s)?|my|our)(?: \w{{1,20}}){{0,3}} {_MADE}"
    r"|there(?:['’]s| is| was) (?:a|an|my) (?:\w{1,20} )?(?:mistake|error|slip|typo)"
    r"|mis(?:read|counted|calculated|took|placed|applied|understood|interpreted|copied)"
    r" (?:the|that|this|it|my|a)"
)
_WRONG = (
    r"(?:is|was|['’]s|are|seems|looks)(?: \w{1,20}ly| just| still| clearly)?"
    r" (?:wrong|incorrect|invalid|mistaken|erroneous|off(?: by)?\b|impossible|extraneous"
    r"|(?:only )?(?:half|part) of|one too (?:many|few)|too (?:big|small|large|many|few|high|low)"
    r"|not (?:quite |actually )?(?:right|correct|true|valid|possible|allowed|it\b"
    r"|(?:the|my|our|an?) (?:final |correct |right )?(?:answer|solution)))"
    r"|(?:is|was)n['’]t (?:quite )?(?:right|correct|true|valid|possible|allowed|the answer)"
    r"|can ?not be(?: right| correct| true)?|can['’]t be|fails?\b|failed|violates|contradicts"
    r"|(?:does|did)(?: not|n['’]t) (?:work|fit|satisfy|hold|check out|add up|make sense|count)"
    r"|should (?:be|have been|read)|double[- ]counts|overcounts|undercounts|counts \w{1,20} twice"
    r"|(?:is|was) a (?:mistake|typo|slip)(?! to\b)"
)
_REJECTS = (
    r"(?:reject(?:ed|ing)?|discard(?:ed|ing)?|disregard|ignore|rul(?:e|ed|ing) out"
    r"|withdraw|retract)"
    r" (?:it|that|this)\b|rul(?:e|ed|ing) (?:it|that|this) out"
    r"|(?:contradiction|impossible|not allowed)(?=[.!;,])"
)
CUES = (
    r"(?<=[.!?;:,(\n*—–\-])[\s*_(\])}$\\]{0,12}+(?=[a-z])"
    r"(?:(?:but|so|oh|ah|and|hmm|ok|okay|no|well|hold on)[,.…]{0,4}\s{1,4}){0,2}"
    rf"(?:{_CALLS})",
    rf"(?<!\w)(?=[a-z])(?:{_OWN_FAULT}|{_REJECTS})",
    rf"{_IT}[ \t]{{0,4}}(?:{_WRONG})",
)
# Words that take an answer back with nothing in its place.
TAKEN_BACK = re.compile(
    rf"{_IT}[ \t]{{0,4}}(?:{_WRONG})|scratch (?:that|this)|strike that|disregard (?:that|this)",
    re.IGNORECASE,
)
# Behind such words: they took nothing back.
KEPT = re.compile(
    r"\?[\s*]{0,8}(?:yes|yep|yeah|right|indeed)\b"
    r"|(?<!not )(?<!n['’]t )\b(?:that|this|it|everything|all"
    r"|(?:the|my|our)(?: \w{1,20})? (?:answer|result|value|calculation|reasoning))"
    r"(?:['’]s| is| was| seems| looks| are)(?: all| indeed| still| actually)?"
    r" (?:right|correct|fine|good|ok(?:ay)?|true|valid)\b"
    r"|\bchecks? out\b|\b(?:still|indeed) holds\b|\bconfirmed\b|\ball good\b",
    re.IGNORECASE,
)
# Right before an answer: it is that of another part of the question.
NEXT_PART = re.compile(
    r"(?:\b(?:second|third|fourth|next|last|other) (?:part|question|sub-?question|problem)"
    r"|\bpart \(?(?:[b-h]|[2-9]|i[iv]+|v)\b|(?<![\w$])\([b-h]\))[^.!?\n]{0,40}\Z",
    re.IGNORECASE,
)
# In the same sentence these make a correction conditional: it leaves the answer open.
_OPEN = (
    r"\b(?:if|unless|in case|otherwise|maybe|perhaps|possibly|might|could|either|alternatively"
    r"|(?:not|un)[ -]?sure|torn|depending|should (?:that|this|it|i|my|the)|failing that|backup"
    r"|fallback|assuming|suppose|provided|whether)\b"
)
_OPEN_SENTENCE = re.compile(_OPEN, re.IGNORECASE)
_NOT_WRONG = re.compile(
    r"\b(?:no|without(?: any)?|not (?:a|an|any)?|nothing)[ \t]*$", re.IGNORECASE
)
# Behind a correction, without a mark of its own: "it should be 32", "which makes it 6". What is
# merely worked out behind an answer ("which gives 24", "12 + 12 = 24") does not replace it.
CORRECTED_TO = re.compile(
    r"\b(?:(?:it|that|this|which|there"
    r"|(?:the|my)(?: \w{1,20})? (?:answer|result|value|total|sum|count|number))"
    r" (?:should(?: really| actually)? (?:be|have been)|must be)"
    r"|make that|(?:which|that|this) (?:makes (?:it|the \w{1,20})|brings (?:it|the \w{1,20}) to)"
    r"|i meant|correction:"
    r"|the (?:correct|right|true) (?:value|one|number|total|count|sum|result) is"
    r"|(?P<near>it is|it['’]s|it is actually|rather))[ \t]{0,4}:?[ \t]{0,4}(?:\*\*|__)?",
    re.IGNORECASE,
)
# Right before such words: they are about something else.
NOT_SAID = re.compile(
    r"\b(?:think(?:ing)?|thought|say(?:ing)?|claim\w{0,4}|believe|assum\w{1,4}|suppose|if"
    r"|whether|since|because"
    r"|as|when|where|while|unless|check|verify)[ \t]{1,4}(?:that[ \t]{1,4})?\Z",
    re.IGNORECASE,
)


class Corrections:
    """Tells whether a text between two answers takes the first back.

    Args:
        own: Words and phrases beside those of the tables.
    """

    def __init__(self, own: Sequence[str] = ()) -> None:
        words = "".join(rf"|(?<!\w){re.escape(word)}(?!\w)" for word in own)
        cues = "|".join(CUES)
        self._cue = re.compile(rf"(?:{cues})(?!\w){words}", re.IGNORECASE)

    def last_in(self, text: str) -> re.Match[str] | None:
        """The last correction that is not itself taken back, as in "Wait, is it? Yes."."""
        cues = list(self.all_in(text))
        last = cues[-1] if cues else None
        if last is None or KEPT.search(text, last.start()):
            return None
        return last

    def all_in(self, text: str) -> Iterator[re.Match[str]]:
        """All corrections."""
        for cue in self._cue.finditer(text):
            if _NOT_WRONG.search(text, max(0, cue.start() - 20), cue.start()):
                continue
            if not _is_open(text, cue.start(), cue.end()):
                yield cue


def _is_open(text: str, start: int, end: int) -> bool:
    """True if the sentence around a cue says "if", "maybe" or the like."""
    low = max(0, start - 120)
    for mark in SENTENCE_END.finditer(text, low, start):
        low = mark.end()
    mark_after = SENTENCE_END.search(text, end, end + 120)
    high = mark_after.start() if mark_after else min(len(text), end + 120)
    return _OPEN_SENTENCE.search(text, low, high) is not None
