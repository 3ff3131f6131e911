"""The words that lead to an answer or offer another one: tables, in English.

All can be extended by options. They are general: words of the language, not of a data set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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

SENTENCE_END = re.compile(r"[.!?](?=\s|$|[$*)])|\n\n|[。！？]")
# "If order mattered, the answer would be 24": what is not so.
WOULD_BE = re.compile(r"\bwould (?:have been|be|become|equal)\b", re.IGNORECASE)
WERE_IT_SO = re.compile(
    r"\b(?:if|had|were|without|otherwise|suppose|unless|in case|(?:wrong|incorrect|na[iï]ve)(?:ly)?"
    r"|common (?:mistake|error)|mistakenly)\b",
    re.IGNORECASE,
)
# Before "the answer is" these make it a supposition or a question.
SUPPOSED = re.compile(
    r"\b(?:if|whether|suppose|assume|assuming|unless|say|guess(?:ed)?(?: that)?|check(?: that)?"
    r"|verify(?: that)?|think|would be nice|not (?:clear|sure) (?:if|what|that))\W{1,3}"
    r"(?:that[ \t]++)?(?:the[ \t]++)?(?:final[ \t]++)?$"
    r"|\b(?:wrong|incorrect|false|common|tempting|na[iï]ve|partial|previous|earlier|initial)"
    r"[ \t]{1,8}$",
    re.IGNORECASE,
)

# The writer has no answer: what stands in code is none either.
GIVES_UP = re.compile(
    r"\b(?:i|we) (?:do not|don['’]t|can ?not|can['’]t|could not|couldn['’]t) (?:really |actually )?"
    r"(?:know|solve|determine|find|answer|figure)\b|\bno idea\b|\b(?:am|are|was|were) unable to\b",
    re.IGNORECASE,
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
# Behind an answer: "and also 6", "though 6 is also possible".
ALSO = re.compile(
    r"[ \t$*_`)\]\\]{0,8}+[.,;(]?[ \t]*+(?:and[ \t]++)?also[ \t]++(?=[$\d(\\*+−-])", re.IGNORECASE
)
MAY_BE = re.compile(
    r"\b(?:answer|it|result|value) (?:could|might|may)(?: also| well| equally| just as well)*+ be"
    r"(?: also)?[ \t]++(?=[$\d(\\*+−-])",
    re.IGNORECASE,
)
IS_POSSIBLE = re.compile(
    r"[ \t$*_`)\]\\]{0,8}+[.,;(]?[ \t]*+(?:but|though|although|and|however,?)[ \t]++"
    r"(?P<other>[$\d(\\*+−-][^\s;]{0,60}+)[ \t]++"
    r"(?:is|are|was|could|can|may|might|would|seems|works)(?: also| too| equally| well| be)*+"
    r" (?:possible|plausible|valid|acceptable|correct|right|an? (?:option|answer|solution))"
    r"[ \t]*+(?=[.,;!)]|$)",
    re.IGNORECASE | re.MULTILINE,
)
NUMBER_WORDS = {
    word: str(i)
    for i, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}
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
    r"(?:equivalently|simply|one (?:can|could|may|has)\b"
    r"|approximately|approx\.?|about|roughly|in |around|less|more|fewer"
    r"|better|so\b|rather|≈|\\approx)",
    re.IGNORECASE,
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
