"""Normal text to tokens, in one pass: numbers, letters, words, commands and single signs."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from grpo_reward_math import units
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.normal import closing
from grpo_reward_math.rules import Rules


class Token(NamedTuple):
    """A piece of the text.

    Attributes:
        kind: "num", "based", "sym", "cmd", "text", "sep", "op" or "end".
        text: The sign, name, word or digits.
        value: Of a number, its value.
        spaced: Whether a blank stands before it.
        start: Where it begins in the text.
    """

    kind: str
    text: str
    value: Fraction | None
    spaced: bool
    start: int


_BLANK = r"\\[,;:! >]|\\(?:quad|qquad|enspace|thinspace|medspace|hfill|hspace)(?![A-Za-z])|[\s~]"
_GROUP = r"(?:\\[,;! ]|\s?\{\s?,\\?!?\s?\}\s?|,\\!\s?|[ ~])"
_WORDS_OF_BASES = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "twelve": 12, "sixteen": 16,
}  # fmt: skip
_SCANNER = re.compile(
    rf"""(?P<blank>(?:{_BLANK})+)
    |(?P<based>(?=[A-F]{{0,20}}[0-9])[0-9A-F]{{1,200}}(?:\.[0-9A-F]{{1,60}})?)
        \s*_\s*(?:\{{\s*(?:\\(?:text|mathrm|textrm)\s*\{{)?\s*(?:base\s*)?
            (?P<base>\d{{1,2}}|[a-z]{{3,7}})\s*\}}?\s*\}}|(?P<base1>[2-9]))(?![0-9])
    |(?P<sci>\d+(?:\.\d*)?[eE][+-]?\d+)(?![\d.A-Za-z])
    |(?P<num>
        [1-9]\d{{0,2}}(?:{_GROUP}\d{{3}})+(?![\d])(?!\s*\\?/)(?:\.\d+)?
        |[1-9]\d{{0,2}}(?P<commas>(?:,\d{{3}})+)(?!,?\d)(?:\.\d+)?
        |\d+(?:\.\d*)?|\.\d+)
        (?P<repeat>\\overline\s*\{{\s*\d+\s*\}}|\\bar\s*(?:\{{\s*\d+\s*\}}|\d)
            |\\dot\s*\{{?\d\}}?(?:\d*\\dot\s*\{{?\d\}}?)?|(?<=[.\d])\(\d+\)(?=\D|$)
            |\s?(?:\\[lc]?dots(?![A-Za-z])|\.\.\.+))?
    |(?P<cmd>\\[A-Za-z]+\*?|\\.|\\$)
    |(?P<word>[ap]\.m\b\.?|[A-Za-z]+)
    |(?P<sign><=|>=|!=|==|\*\*|=>|->|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_TEXT_COMMANDS = {
    "text", "textbf", "textit", "textrm", "textsf", "texttt", "textnormal", "mbox", "hbox", "emph",
    "mathrm", "rm", "operatorname", "operatorname*", "mathit", "mathsf", "mathtt", "mathcal",
    "mathnormal", "bold", "textup",
}  # fmt: skip
# Commands that change only the look: what follows them is read as if they were not there.
_DROPPED = {
    "left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr",
    "Biggl", "Biggr", "middle", "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits",
    "mathbf", "boldsymbol", "bm", "pmb", "boxed", "fbox", "mathop", "mathord", "strut", "bf", "it",
    "vec", "overrightarrow", "hline", "ensuremath", "underline", "mathstrut", "bigm",
    "tt", "sf", "cal", "null", "relax", "noindent", "centering", "small", "large", "Large", "hat",
    "widehat", "tilde", "mathbin", "mathrel", "nobreak", "kern", "allowbreak",
}  # fmt: skip
# Commands whose argument does not show, or is no part of the value.
_SKIPPED = {
    "color", "textcolor", "label", "tag", "tag*", "vspace", "ref", "phantom", "hphantom",
    "vphantom",
}  # fmt: skip
_RENAMED = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "sfrac": "frac", "nicefrac": "frac",
    "dbinom": "binom", "tbinom": "binom", "leq": "le", "geq": "ge", "leqslant": "le",
    "geqslant": "ge", "neq": "ne", "lt": "<", "gt": ">", "varnothing": "emptyset",
    "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "varrho": "rho", "ast": "*",
    "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "vert": "|", "lvert": "|",
    "rvert": "|", "Vert": "\\|", "lVert": "\\|", "rVert": "\\|", "mid": "|", "colon": ":",
    "dots": "ldots", "cdots": "ldots", "dotsc": "ldots", "dotsb": "ldots", "bullet": "cdot",
    "degree": "degree", "lor": "or", "vee": "or", "land": "and", "wedge": "and",
    "bigcup": "cup", "bigcap": "cap", "backslash": "setminus",
    "smallsetminus": "setminus", "thickapprox": "approx", "simeq": "approx", "Longrightarrow":
    "Rightarrow", "implies": "Rightarrow", "rightarrow": "to", "dollar": "$", "arcosh": "arccosh",
    "slash": "/", "textdegree": "degree", "sqrtsign": "sqrt",
    "R": "reals",
}  # fmt: skip
FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "tg": "tan", "cot": "cot", "ctg": "cot", "sec": "sec",
    "csc": "csc", "cosec": "csc", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctg": "atan", "arccot": "acot", "arcsec": "asec", "arccsc": "acsc", "asin": "asin",
    "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "coth": "coth",
    "sech": "sech", "csch": "csch", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "arsinh": "asinh", "artanh": "atanh",
    "ln": "ln", "log": "log", "lg": "lg", "exp": "exp", "max": "max", "min": "min", "gcd": "gcd",
    "lcm": "lcm", "det": "det", "Re": "re", "Im": "im", "abs": "abs", "floor": "floor",
    "ceil": "ceil", "cis": "cis", "sgn": "sign", "sign": "sign", "Gamma": "gamma", "arg": "arg",
}  # fmt: skip
GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega "
    "ell hbar".split()
)
_WORD_COMMANDS = (
    {name: name for name in FUNCTIONS if name not in ("Gamma", "Re", "Im", "sign", "arg", "det")}
    | {name: name for name in GREEK if name.islower() and name not in ("xi", "nu", "mu", "ell")}
    | {
        "sqrt": "sqrt", "cbrt": "ucbrt", "pi": "pi", "Pi": "pi", "infinity": "infty",
        "infty": "infty", "inf": "infty", "oo": "infty", "mod": "bmod", "union": "cup",
        "intersect": "cap", "choose": "choose", "frac": "frac", "dfrac": "frac", "le": "le",
        "sum": "sum", "percent": "%",
        "pct": "%", "percentage": "%", "binom": "binom", "emptyset": "emptyset", "cdot": "cdot",
        "times": "times", "pm": "pm", "in": "in",
    }
)  # fmt: skip
_PREFIXES = tuple(sorted(("sin", "cos", "tan", "cot", "sec", "csc", "ln", "log", "sqrt", "pi")))
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_SCALES |= {"trillion": 10**12, "lakh": 10**5, "crore": 10**7, "dozen": 12}
_LONGEST_NAME = 8
_BEFORE_CONDITIONS = {"if", "when", "for", "where", "as", "for all", "with"}
_SIGNS_IN_WORDS = {"minus": "-", "negative": "-", "rs": "₹", "rs.": "₹", "inr": "₹", "usd": "$"}
# Countries before the sign of a currency.
_COUNTRIES = {"US", "USD", "CA", "AU", "NZ", "HK", "A", "C"}
_DOLLAR_AHEAD = re.compile(r"\s*\\?\$\s*\d")
_ORDINALS = {"st", "nd", "rd", "th"}
_OHMS = re.compile(r"(?:[kMGmnp]|\\mu)?\s*\\Omega")
# What follows a prefix of a unit: `k` in `\text{k}\Omega`, `\mu` in `\mu\text{m}`.
_UNIT_AHEAD = re.compile(
    r"\s*(?:\\Omega|\\(?:text|mathrm)\s*\{\s*(?:[A-Za-z]{1,3}|\\Omega)\s*\})\s*$"
)
_PREFIXES_OF_UNITS = frozenset("kMGmnp")
# How many children {}_5C_2 are: choices and arrangements with the numbers around the letter.
_COUNTED = re.compile(
    r"(?:\{\s*\}\s*|(?<![^=+*/(\s-]))[_^]\s*(?:\{\s*(\d{1,6})\s*\}|(\d))\s*"
    r"(?:\\(?:mathrm|text|mathbf)\s*\{\s*)?([CP])(?:\s*\})?\s*_\s*(?:\{\s*(\d{1,6})\s*\}|(\d))"
)
_LONE_UNITS = frozenset("msghLNJWV")
_DRESSING = re.compile(r"\\[,;: ]|~|\\(?:text|mathrm|quad)(?![A-Za-z])")
_SEPARATOR = re.compile(r"^[\s,]*(and|or)[\s,]*$", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_LOOSE_COMMA = re.compile(r",(?:\s|\\[,; ])")
_DIGITS = re.compile(r"[0-9]+")
_NO_DIGIT = re.compile(r"[^\d.]")
_VALUE_ENDS = {")", "]", "}", "!", "'", "|"}


def tokens(text: str, rules: Rules) -> list[Token]:
    """The tokens of normal `text`, an "end" last."""
    text = text.replace("{:}", ":")
    if "_" in text:
        text = _COUNTED.sub(_counted, text)
    scan = _Scan(text, rules)
    scan.run(0, len(text))
    scan.found.append(Token("end", "", None, False, len(text)))
    return scan.found


class _Scan:
    """One pass over one text."""

    def __init__(self, text: str, rules: Rules) -> None:
        self.text = text
        self.rules = rules
        self.found: list[Token] = []
        self.spaced = False
        self.depth = 0
        self.nesting = 0
        self.loose_commas = bool(_LOOSE_COMMA.search(text))

    def add(self, kind: str, text: str, start: int, value: Fraction | None = None) -> None:
        self.found.append(Token(kind, text, value, self.spaced, start))
        self.spaced = False

    def after_value(self) -> bool:
        if not self.found:
            return False
        last = self.found[-1]
        return last.kind in ("num", "based") or (
            last.kind in ("op", "cmd") and last.text in _VALUE_ENDS | {"pi", "\\}", "rangle"}
        )

    def starts_term(self) -> bool:
        """Whether nothing stands before, or only a sign that a value follows."""
        return not self.found or self.found[-1].text in ("=", "(", ",", "[", "\\{")

    def spaced_after_value(self) -> bool:
        """Whether a blank and before it a value stand here: where a unit may follow."""
        return self.spaced and self.after_value()

    def run(self, start: int, end: int) -> None:
        while start < end:
            match = _SCANNER.match(self.text, start, end)
            if match is None:
                raise Unreadable(f"nothing can be read at character {start}")
            start = match.end()
            if match["blank"]:
                self.spaced = True
            elif match["based"]:
                start = self.based(match)
            elif match["sci"]:
                self.add("num", match["sci"], match.start(), self.scientific(match["sci"]))
            elif match["num"]:
                start = self.number(match)
            elif match["cmd"]:
                start = self.command(match["cmd"][1:], match.start(), match.end(), end)
            elif match["word"]:
                self.word(match["word"], match.start())
            else:
                self.sign(match[0], match.start())

    def based(self, match: re.Match[str]) -> int:
        name = match["base"] or match["base1"]
        base = _WORDS_OF_BASES.get(name) or (int(name) if name.isdigit() else 0)
        digits = match["based"]
        if not 2 <= base <= 36 or not _fits(digits, base):
            if digits.isdigit():
                raise Unreadable(f"{digits} is not a number in base {name}")
            if number := _DIGITS.match(digits):  # 5C_1: five times a symbol
                self.add("num", number[0], match.start(), Fraction(int(number[0])))
                return match.start() + number.end()
            self.word(digits, match.start())
            return match.start() + len(digits)
        self.found.append(Token("based", digits, Fraction(base), self.spaced, match.start()))
        self.spaced = False
        return match.end()

    def scientific(self, digits: str) -> Fraction:
        mantissa, _, exponent = digits.lower().partition("e")
        if len(exponent) > 6 or abs(int(exponent)) > self.rules.max_digits:
            raise LimitHit(f"an exponent of more than {self.rules.max_digits}")
        return Fraction(mantissa.rstrip(".")) * Fraction(10) ** int(exponent)

    def number(self, match: re.Match[str]) -> int:
        digits, start, end = match["num"], match.start(), match.end()
        if match["commas"]:
            before = self.text[max(0, start - 2) : start]
            is_list = (self.depth > 0 and not self.loose_commas) or (
                len(before) == 2 and before[0].isdigit() and before[1] == ","
            )
            if is_list:
                digits = digits.split(",")[0]
                self.add("num", digits, start, Fraction(int(digits)))
                return start + len(digits)
        repeat = match["repeat"]
        plain = _NO_DIGIT.sub("", digits) if not digits.isdigit() else digits
        if repeat and "." not in plain:
            repeat, end = None, match.end("num")
        if len(plain) > self.rules.max_digits:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        if plain.isdigit():
            value = Fraction(int(plain))
        else:
            value = Fraction(plain if plain[-1] != "." else plain[:-1])
        if repeat:
            value = _repeating(plain, repeat)
        self.add("num", plain, start, value)
        return end

    def command(self, name: str, start: int, after: int, end: int) -> int:
        if name in _TEXT_COMMANDS:
            return self.wrapped(name, after, end)
        if name in _DROPPED:
            while self.text[after : after + 1] == " ":
                after += 1
            if name in ("left", "right", "middle") and self.text[after : after + 1] == ".":
                after += 1
            return after
        if name in _SKIPPED:
            return _skip_group(self.text, after)
        name = _RENAMED.get(name, name)
        if name == "Omega" and self.is_last_unit(after):
            self.add("text", name, start)
        elif name == "mu" and self.after_value() and _UNIT_AHEAD.match(self.text, after):
            self.add("text", name, start)
        elif name in ("or", "and"):
            self.add("sep", name, start)
        elif name in ("{", "}"):
            self.depth += 1 if name == "{" else -1
            self.add("op", "\\" + name, start)
        elif name in ("<", ">", "|", "[", "]", "*", ":", "/", "%", "$", "&", "#", "_"):
            self.sign(name, start, escaped=True)
        elif name in ("langle", "lfloor", "lceil"):
            self.depth += 1
            self.add("cmd", name, start)
        elif name in ("rangle", "rfloor", "rceil"):
            self.depth -= 1
            self.add("cmd", name, start)
        elif name == "i" or name == "j":
            self.add("sym", name, start)
        else:
            self.add("cmd", name, start)
        return after

    def is_last_unit(self, after: int) -> bool:
        """Whether a sign of which nothing follows is the unit of the one number before it."""
        before = self.found[-2:]
        measured = self.after_value() or (bool(before) and before[-1].kind == "text")
        values = [t for t in self.found if t.kind not in ("num", "text") and t.text != "-"]
        return measured and not values and not self.text[after:].strip(" })")

    def wrapped(self, name: str, after: int, end: int) -> int:
        r"""What stands in `\text{…}` and its like, as words or as the maths it is."""
        while after < end and self.text[after] == " ":
            after += 1
        if after >= end or self.text[after] != "{":
            return after
        last = closing(self.text, after)
        if last < 0 or last >= end:
            raise Unreadable("a brace is not closed")
        body = self.text[after + 1 : last]
        stripped = body.strip()
        joiner = _SEPARATOR.match(body)
        if stripped.lower() in _SCALES and self.after_value():
            self.word(stripped, after)
        elif joiner:
            self.add("sep", joiner[1].lower(), after)
        elif stripped in ("e", "i", "d") and name in ("mathrm", "rm", "operatorname", "text"):
            self.add("sym", stripped, after)
        elif stripped in _PREFIXES_OF_UNITS and _UNIT_AHEAD.match(self.text, last + 1):
            self.add("text", stripped, after)
        elif stripped in ("pi", "percent") and self.after_value():
            self.word(stripped, after)
        elif stripped == "mod":
            self.add("cmd", "bmod", after)
        elif stripped.lower() in _SIGNS_IN_WORDS and self.starts_term():
            self.add("op", _SIGNS_IN_WORDS[stripped.lower()], after)
        elif stripped in _COUNTRIES and _DOLLAR_AHEAD.match(self.text, last + 1):
            return last + 1
        elif stripped == "min" and self.after_value() and self.text[last + 1 : last + 2] != "(":
            self.add("text", stripped, after)
        elif stripped in FUNCTIONS and name != "textbf":
            self.add("cmd", stripped, after)
        elif self.is_words(stripped, name, last + 1):
            self.spaced = self.spaced or body != stripped
            plain = _DRESSING.sub(" ", stripped.replace("\\cdot", "*"))
            self.add("text", " ".join(plain.split()), after)
        else:
            self.nesting += 1
            if self.nesting > self.rules.max_depth:
                raise LimitHit(f"more than {self.rules.max_depth} levels of brackets")
            self.run(after + 1, last)
            self.nesting -= 1
        return last + 1

    def is_words(self, body: str, name: str, end: int) -> bool:
        measured = self.after_value() or any(t.kind == "text" for t in self.found[-5:])
        if measured and (body in ("€", "£", "¢") or units.is_formula(body)):
            return True
        if measured and _OHMS.fullmatch(body):
            return True
        if len(body) == 1 and body.isupper() and name != "mathbf" and self.is_last_unit(end):
            return True  # a unit that is not in the table
        if "\\frac" in body or "\\sqrt" in body or "$" in body or "=" in body:
            return False
        letters = _LETTERS.findall(body)
        if not letters:
            return False
        return name not in ("mathbf", "mathit", "mathcal") or len(letters[0]) > 3

    def word(self, word: str, start: int) -> None:
        lowered = word.lower()
        last = self.found[-1] if self.found else None
        if lowered in ("and", "or"):
            self.add("sep", lowered, start)
        elif word in _COUNTRIES and _DOLLAR_AHEAD.match(self.text, start + len(word)):
            return
        elif lowered in _ORDINALS and last and last.kind == "num" and not self.spaced:
            return
        elif lowered in _ORDINALS and last and last.text == "{":
            self.add("text", lowered, start)
        elif lowered in _SCALES and self.after_value():
            self.add("op", "*", start)
            self.add("num", str(_SCALES[lowered]), start, Fraction(_SCALES[lowered]))
        elif len(word) == 1:
            self.letter(word, start)
        elif "." in word:
            self.add("text", word, start)
        elif (lowered in units.SHORT or units.is_word(word)) and self.after_value():
            self.add("text", word, start)
        elif word in _WORD_COMMANDS:
            self.add("cmd", _WORD_COMMANDS[word], start)
        elif self.spaced and last and last.kind == "text":
            self.add("text", word, start)
        elif word in GREEK:
            self.add("cmd", word, start)
        elif 2 < len(word) <= _LONGEST_NAME and word.isupper() and not self.spaced_after_value():
            self.add("sym", word, start)  # HTT: in this order, no product
        elif len(word) <= 3 and not (self.spaced_after_value() and word not in _KNOWN):
            for offset, letter in enumerate(word):
                self.letter(letter, start + offset)
        else:
            for prefix in _PREFIXES:
                if word.startswith(prefix) and len(word) <= len(prefix) + 3:
                    self.add("cmd", prefix, start)
                    self.word(word[len(prefix) :], start + len(prefix))
                    return
            self.add("text", word, start)

    def letter(self, letter: str, start: int) -> None:
        ahead = self.text[start + 1 : start + 4].lstrip()
        if letter == "x" and self.spaced and self.found and self.found[-1].kind == "num":
            if ahead.startswith("10"):  # 1.5 x 10^3
                self.add("op", "*", start)
                return
        if letter == "U" and self.after_value() and ahead[:1] in ("(", "[", "{", "\\"):
            self.add("cmd", "cup", start)
        elif letter in units.SINGLE and self.spaced and self.is_unit(letter, start):
            self.add("text", letter, start)
        else:
            self.add("sym", letter, start)

    def is_unit(self, letter: str, start: int) -> bool:
        """Whether a letter after a blank is a unit: in `6 m` and `8 m/s`, not in `6m`."""
        if self.found and self.found[-1].kind == "text":
            return self.found[-1].text.lower() not in _BEFORE_CONDITIONS
        rest = self.text[start:]
        plain = len(self.found) == 1 or "/" in rest
        known = plain and letter in _LONE_UNITS and self.after_value()
        return known and units.is_formula(rest)

    def sign(self, sign: str, start: int, *, escaped: bool = False) -> None:
        if sign in ("(", "["):
            self.depth += 1
        elif sign in (")", "]"):
            self.depth -= 1
        elif sign == ";":
            self.add("sep", ",", start)
            return
        elif sign == "$" and not escaped and not self.is_currency(start):
            return
        elif sign == "\n":
            self.spaced = True
            return
        renamed = {"**": "^", "<=": "le", ">=": "ge", "!=": "ne", "==": "=", "...": "ldots"}
        renamed |= {"=>": "Rightarrow", "->": "to"}
        name = renamed.get(sign, sign)
        self.add("cmd" if name.isalpha() else "op", name, start)

    def is_currency(self, start: int) -> bool:
        return self.text[start + 1 : start + 2].isdigit() and self.text.count("$") == 1


_KNOWN = frozenset(
    {
        "ab",
        "bc",
        "ac",
        "xy",
        "xz",
        "yz",
        "abc",
        "xyz",
        "mn",
        "nm",
        "rs",
        "rh",
        "bh",
        "lw",
        "wh",
        "lh",
        "rt",
        "vt",
        "kx",
        "mv",
    }
)


def _counted(match: re.Match[str]) -> str:
    total, chosen = match[1] or match[2], match[4] or match[5]
    binomial = f"\\binom{{{total}}}{{{chosen}}}"
    return binomial if match[3] == "C" else f"({binomial} \\cdot {chosen}!)"


def _fits(digits: str, base: int) -> bool:
    return all(d == "." or int(d, 36) < base for d in digits)


def _skip_group(text: str, start: int) -> int:
    while start < len(text) and text[start] == " ":
        start += 1
    if start < len(text) and text[start] == "{":
        end = closing(text, start)
        return end + 1 if end >= 0 else start
    return start


def _repeating(plain: str, repeat: str) -> Fraction:
    """The value of the decimal `plain` followed by the mark `repeat` of its period."""
    whole, _, shown = plain.partition(".")
    if "dots" in repeat or "..." in repeat:
        period = _period_shown(shown)
        shown = shown[: len(shown) - len(period)]
    else:
        period = _NO_DIGIT.sub("", repeat)
    fixed = Fraction(int((whole or "0") + shown), 10 ** len(shown))
    return fixed + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(shown))


def _period_shown(shown: str) -> str:
    """The period of digits that end in points: `666` and `1666` show 6, `142857142857` all six."""
    for size in (1, 2, 3, 6):
        times = 3 if size == 1 else 2
        block = shown[-size:]
        if len(shown) >= size * times and shown.endswith(block * times):
            return block
    raise Unreadable("a decimal that goes on is not one value")
