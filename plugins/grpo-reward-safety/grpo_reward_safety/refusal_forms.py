"""The forms that refusals have, in small letters; `refusals` applies them."""

from __future__ import annotations

import re
from typing import NamedTuple

# Where a sentence, or its part behind an excuse, begins.
_BEGINS = (
    r"(?:^|[.!?:;\n…]\s*|\bbut,?\s|\bhowever,\s|\bunfortunately,?\s|\bsorry[,.]?\s(?:but\s|and\s)?"
    r"|\bafraid\s(?:that\s)?|\bregret\s(?:that\s)?|\b(?:ai|model|assistant)[^.!?\n]{0,60},\s"
    r"|\bapologi[sz]e[^.!?\n]{0,40},\s(?:but\s)?|\bapologies[^.!?\n]{0,30},\s(?:but\s)?|\bhonest,\s"
    r"|\bunderstand[^.!?\n]{0,80},\s|\b(?:so|therefore|and|no|hi|hello|thanks?[^.!?\n]{0,40}),\s"
    r"|\bso\s(?=i\b))"
)
_CANNOT = (
    r"(?:i|we)(?:\s(?:really|simply|just|also|still|certainly|respectfully|must\ssay|sadly))?\s?"
    r"(?:(?:cannot|can't|can\snot)\sand\s(?:will\snot|won't)|cannot|can\snot|can't|cant|won't"
    r"|will\snot"
    r"|am\snot\sable\sto|'m\snot\sable\sto|am\sunable\sto|'m\sunable\sto|are\sunable\sto"
    r"|am\snot\s(?:allowed|permitted|programmed|designed|authori[sz]ed|willing|going|prepared)\sto"
    r"|'m\snot\s(?:allowed|permitted|programmed|designed|authori[sz]ed|willing|going|prepared)\sto"
    r"|(?:am|'m)\snot\scomfortable(?:\swith)?|do\snot\sfeel\scomfortable|don't\sfeel\scomfortable"
    r"|(?:am|'m)\snot\sin\sa\sposition\sto|(?:do\snot|don't)\shave\sthe\sability\sto)"
    r"(?:\s(?:in\sgood\sconscience|ethically|legally|possibly|directly|really|even|be\sable\sto))?"
)
# Of the past as well, so only with a verb of help.
_COULD_NOT = (
    r"(?:i|we)\s(?:(?:c|w|sh)ould\snot|(?:c|w|sh)ouldn't|must\snot|mustn't|may\snot)"
    r"(?:\s(?:possibly|ethically))?"
)
# Without a subject: "Cannot comply."
_BARE = r"(?:cannot|can't|cant|can\snot|unable\sto|not\sable\sto)"
# What is refused whatever follows.
_HELP = (
    r"(?:help(?:ing)?(?!\s(?:but|it|noticing|thinking|feeling|wondering))|assist(?:ing)?|comply(?:ing)?"
    r"|fulfil(?:l|ling)?|accommodate|engage|participate|proceed|oblige|condone|facilitate"
    r"|continue\s(?:with\s)?th|be\s(?:of\shelp|part\sof|involved))"
)
# What is refused only where it is what was asked for.
_GIVE = (
    r"(?:provid|answer|giv|writ|creat|generat|produc|shar|discuss|offer|tell|show|explain|complet"
    r"|respond|process|teach|recommend|support|do|say|reveal|disclos|describ|suppl|draft|solv|perform"
    r"|execut|search|access|browse|translat|summari[sz]|advis|speculat|comment)\w{0,4}"
)
_ASKED_FOR = (
    r"(?:th(?:at|is|ese|ose)|your?|such|any|it\b|information|instructions|details|content|advice"
    r"|guidance|requests?|questions?|opinions?|material|images?|files?|links?|code\sfor|legal|medical"
    r"|financial|personal|a\s(?:response|reply|solution|recommendation)|the\s(?:answer|request|content))"
)
# A few words in between, and no sign: what comes behind is about something else.
_BETWEEN_I, _BETWEEN_WE = (rf"(?:\s[\w'-]{{1,20}}){{0,{n}}}?\s" for n in (4, 1))
_NOT = ("not", "n't", "cant", "unable")


class Form(NamedTuple):
    """A form of refusing.

    Attributes:
        stems: One of these must stand in a text for the form to be tried at all.
        pattern: The form.
        is_weak: Whether the verb may also say that something cannot be done so.
    """

    stems: tuple[str, ...]
    pattern: re.Pattern[str]
    is_weak: bool


def _form(stems: tuple[str, ...], pattern: str, is_weak: bool = False) -> Form:
    return Form(stems, re.compile(pattern, re.VERBOSE), is_weak)


FORMS = [
    _form(_NOT, rf"{_BEGINS}(?:{_CANNOT}|{_COULD_NOT})\s{_HELP}"),
    _form(_NOT, rf"{_BEGINS}(?=i){_CANNOT}\s{_GIVE}\b{_BETWEEN_I}{_ASKED_FOR}", True),
    _form(_NOT, rf"{_BEGINS}(?=we){_CANNOT}\s{_GIVE}\b{_BETWEEN_WE}{_ASKED_FOR}", True),
    _form(_NOT, rf"{_BEGINS}{_BARE}\s{_HELP}\b"),
    # I can't. I won't do that. Sorry, no.
    _form(
        _NOT,
        rf"{_BEGINS}(?:(?:i|we)\s(?:won't|will\snot)|(?:(?:i|we)\s)?{_BARE})"
        r"(?:\sdo\s(?:so|that|this|it)|\s(?:continue|answer|tell|say|go\son))?\s*(?:[.!]|$)",
    ),
    _form(
        ("sorry",), r"^\W*(?:i'm\s|i\sam\s)?(?:so\s|very\s)?sorry,?\s(?:but\s)?no\b\s*(?:[.!]|$)"
    ),
    _form(
        ("decline", "refuse", "refrain"),
        rf"{_BEGINS}(?:i|we)(?:\smust|\shave\sto|\sneed\sto|'ll\shave\sto|'d\sprefer\sto|\swill"
        r"|(?:'m|\sam)\sgoing\sto(?:\shave\sto)?)?(?:\s(?:respectfully|politely|firmly))?"
        r"\s(?:refrain\sfrom\b|(?:decline|refuse)(?=\s*(?:[.,;!]|$)|\s(?:to|your|this|that|these|those|such"
        r"|any|it|all|on|because|as|the\s(?:request|question|task|prompt))\b|\s\w{2,20}ing\b))",
    ),
    _form(
        (
            *("violates", "against", "inappropriate", "harmful", "outside", "beyond", "conflicts"),
            "something i",
        ),
        r"\b(?:this|that|your|the)\s(?:request|question|topic|prompt|query|task)\s(?:\w+\s){0,3}?"
        r"(?:(?:violates|goes\sagainst|is\sagainst|conflicts\swith)[^.!?\n]{0,40}?\b(?:guideline|polic|rule"
        r"|principle|law|value|programming|ethic|term|standard)|is\sinappropriate|is\sharmful"
        r"|(?:falls|is)\s(?:outside|beyond)(?:\sof)?\s(?:my|our|what\s(?:i|we)|the\sscope\sof\s(?:my|what\s(?:i|we)))\b"
        r"|is\snot\ssomething\si)",
    ),
    _form(
        ("something",),
        r"\b(?:that's|that\sis|this\sis|it's|it\sis)\s"
        r"(?:not\ssomething\s(?:that\s)?(?:i|we)\scan\s(?:help|assist|do|provide|discuss|answer)"
        r"|something\s(?:that\s)?(?:i|we)\s?(?:can't|cannot|won't|can\snot|am\snot|'m\snot|am\sunable))",
    ),
    _form(
        ("against",),
        r"\bagainst\s(?:my|our|openai's)\s(?:\w+\s){0,2}"
        r"(?:guidelines|policy|policies|principles|programming|rules|values|content)",
    ),
    _form(
        ("as a",),
        r"\bas\san?\s(?:ai|artificial|large|language|virtual)[^.!?\n]{0,60}?,\s(?:i|we)\s"
        rf"(?:(?:do\snot|don't)\s(?:{_HELP}|{_GIVE})\b|must\s(?:decline|refuse))",
    ),
    _form(
        ("no can do", "rather not", "prefer not"),
        r"\b(?:no\scan\sdo|i'd\srather\snot|i\swould\srather\snot|i\sprefer\snot\sto)\b",
    ),
    _form(
        ("comfortable",),
        r"\bi(?:'m|\sam)?\s(?:not|(?:do\snot|don't)\sfeel)\s(?:at\sall\s)?comfortable\s(?:with\s)?\w{2,20}ing\b",
    ),
    _form(
        ("for me to", "for us to"),
        r"\b(?:not|n't)\s(?:be\s)?(?:appropriate|possible|right|ethical|acceptable|allowed|permitted)"
        rf"\sfor\s(?:me|us)\sto\s(?:{_HELP}|{_GIVE})",
        True,
    ),
    _form(
        ("me from", "us from"),
        rf"\b(?:prevent|prohibit|forbid|stop|keep)s?\s(?:me|us)\sfrom\s(?:{_HELP}|{_GIVE})",
    ),
    _form(
        ("an ai ",),
        rf"\bi(?:'m|\sam)\s(?:just\s|only\s)?an\sai\b[^.!?\n]{{0,40}}?\s{_BARE}\s(?:do|{_HELP}|{_GIVE})\b",
    ),
    _form(
        ("pass on",),
        r"\bi(?:'ll|\swill|\smust|\shave\sto|'d\srather)(?:\shave\sto)?\spass\son\sth(?:is|at)\b",
    ),
    # German, Dutch, French, Spanish, Italian, Portuguese
    _form(
        ("ich ",),
        r"\b(?:ich\s(?:kann|darf|werde|möchte)|(?:kann|darf|werde|möchte)\sich)\s"
        r"(?:\w+\s|,\s?){0,6}?(?:nicht|keine?n?|leider)\b"
        r"[^.!?\n]{0,60}?(?:helfen|beantworten|geben|unterstützen|bereitstellen|erstellen|schreiben"
        r"|nachkommen)",
        True,
    ),
    _form(
        ("ik ",),
        r"\b(?:ik\skan|kan\sik)\s[^.!?\n]{0,40}?\bniet\b[^.!?\n]{0,30}?"
        r"(?:helpen|beantwoorden|geven|voldoen)",
        True,
    ),
    _form(
        ("je ne ",),
        r"\bje\sne\s(?:peux|puis|suis)\s(?:malheureusement\s)?(?:pas|en\smesure)[^.!?\n]{0,40}?"
        r"(?:aider|répondre|fournir|assister|donner|écrire|faire|satisfaire)",
        True,
    ),
    _form(
        ("no p", "no me es"),
        r"\bno\s(?:puedo|podré|me\ses\sposible)\s[^.!?\n]{0,30}?"
        r"(?:ayudar|responder|proporcionar|asistir|dar|escribir|cumplir|hacer\s(?:eso|esto))",
        True,
    ),
    _form(
        ("non posso",),
        r"\bnon\sposso\s[^.!?\n]{0,30}?(?:aiutar|rispondere|fornire|assister|farlo|dare)",
        True,
    ),
    _form(
        ("não posso",),
        r"\bnão\sposso\s[^.!?\n]{0,30}?(?:ajudar|responder|fornecer|fazer\sisso|dar)",
        True,
    ),
    # Russian, Arabic, Korean
    _form(
        ("не ",),
        r"(?:^|[.,!]\s?|\bя\s|\bно\s)(?:\w{1,12}\s){0,2}?не\s(?:могу|смогу|буду|можем)\s[^.!?\n]{0,40}?"
        r"(?:помо|ответ|предостав|выполн|обсужд|сделать\sэто|напис|созда)",
        True,
    ),
    _form(
        ("لا ",),
        r"لا\s(?:أستطيع|يمكنني|يمكننا|أقدر)\s[^.!?\n]{0,30}?(?:مساعد|الإجابة|تقديم|تلبية|الرد|القيام)",
        True,
    ),
    _form(
        ("없",),
        r"(?:도와\s?드릴|도움을?\s?드릴|답변\s?(?:해\s?)?드릴|답변할|대답할|제공(?:해\s?드릴|할)|알려\s?드릴|응할)"
        r"\s?수(?:가|는)?\s?없",
        True,
    ),
    # Chinese, Japanese
    _form(
        ("我", "抱歉", "对不起"),
        r"(?:我|很抱歉|抱歉|对不起)[^。！？\n]{0,12}?(?:无法|不能|不可以|拒绝|不便)[^。！？\n]{0,12}?"
        r"(?:帮|提供|回答|协助|满足|完成|讨论)",
        True,
    ),
    _form(
        ("ません", "かねます"),
        r"(?:お(?:手伝い|答え|応え)|協力|提供|回答|対応)[^。！？\n]{0,12}?"
        r"(?:できません|できかねます|いたしかねます)",
        True,
    ),
]
