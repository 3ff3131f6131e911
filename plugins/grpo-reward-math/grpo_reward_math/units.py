"""Units: how they are written, and which spellings name the same one. Nothing is converted."""

from __future__ import annotations

import re

# canonical name: other spellings. A plural "s" is taken off before the look-up.
_TABLE = {
    "m": "meter metre", "cm": "centimeter centimetre", "mm": "millimeter millimetre",
    "km": "kilometer kilometre", "nm": "nanometer nanometre", "dm": "decimeter decimetre",
    "in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile",
    "g": "gram gramme gm", "kg": "kilogram kilogramme kilo", "mg": "milligram", "t": "ton tonne",
    "lb": "pound", "oz": "ounce", "L": "liter litre l", "mL": "milliliter millilitre ml",
    "gal": "gallon", "s": "second sec", "min": "minute", "h": "hour hr", "day": "",
    "week": "wk", "month": "", "year": "yr", "ms": "millisecond",
    "N": "newton", "J": "joule", "kJ": "kilojoule", "W": "watt", "kW": "kilowatt", "V": "volt",
    "A": "ampere amp", "K": "kelvin", "Pa": "pascal", "kPa": "kilopascal", "Hz": "hertz",
    "mol": "mole", "M": "molar", "eV": "electronvolt", "C": "coulomb", "T": "tesla",
    "ohm": "Omega", "atm": "atmosphere", "cal": "calorie", "kcal": "kilocalorie",
    "degree": "deg degrees", "rad": "radian", "celsius": "degC", "fahrenheit": "degF",
    "$": "dollar usd buck", "€": "euro eur", "£": "gbp", "¥": "yen yuan",
    "cent": "¢ penny pennies", "rupee": "₹ rs", "unit": "", "person": "people", "child": "children",
    "man": "men", "woman": "women", "mouse": "mice", "hectare": "ha", "acre": "", "way": "",
    "am": "a.m. a.m", "pm": "p.m. p.m", "mph": "", "kph": "kmph",
}  # fmt: skip
_SQUARED = {"square", "sq", "squared"}
_CUBED = {"cubic", "cu", "cubed"}
_SQUARED_BEHIND = {"squared", "cubed"}
_SIGNS_BEHIND = {"negative", "positive"}
_COMPOUND = {"mph": "mi*h^-1", "kph": "km*h^-1", "cc": "cm^3"}
# Words that say nothing about the unit.
_FILLER = {"of", "a", "an", "the", "in", "total", "each", "per", "and", "approximately", "about"}
_FILLER |= {"exactly", "only", "away", "left", "more", "long", "old", "altogether", "remaining"}

_MOST_WORDS = 6
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’-])*+")
_DIGIT_OF_ITS_OWN = re.compile(r"(?<![\^{\w-])\d")
# Words that never stand in the name of a thing or a unit.
_NO_UNITS = frozenset(
    "is are was were be been being isn't aren't wasn't not no nor never none neither nope "
    "or but and/or if unless though although however yet because since while whereas than then "
    "could can cannot can't may might must should would will won't does doesn't did didn't "
    "don't "
    "wrong incorrect incorrectly false true correct invalid impossible undefined mistaken "
    "mistake error guess guessed unsure unknown maybe perhaps possibly probably likely unlikely "
    "plausible almost nearly plus minus multiplied divided added subtracted modulo "
    "mod factorial base root power exponent pi half halves third thirds "
    "fourths fifths sixths sevenths eighths ninths tenths hundredth hundredths thousandth "
    "thousandths millionths zero two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty "
    "seventy eighty ninety hundred hundreds thousand thousands million millions billion billions "
    "trillion lakh lakhs crore crores dozens twice thrice double doubled triple tripled "
    "below above under over beyond less fewer greater bigger smaller except "
    "excluding besides without instead rather otherwise infinity infinite remainder choose "
    "unlike versus vs e.g i.e i we you he she they this that these those what which".split()
)
_NO_UNIT = re.compile(r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[a-z-]*")


def _names() -> dict[str, str]:
    names = {}
    for canonical, others in _TABLE.items():
        for name in (canonical, *others.split()):
            names[name] = canonical
    return names


_NAMES = _names()
# Spellings that are read as a unit when they stand right after a number, outside of \text.
SHORT = frozenset(
    "cm mm km nm dm in ft yd mi kg mg lb lbs oz mL ml gal sec min hr hrs kJ kW kPa Pa Hz mol eV "
    "mph kph deg am pm cc usd".split()
)
SINGLE = frozenset("m g s h L N J W V A K C t l T".split())
_FORMULA = re.compile(r"^(?:[A-Za-z/*^{}\d\s.()~-]|\\cdot(?![A-Za-z])|\\[,; ])+$")
_NAME = re.compile(r"[A-Za-z]+")
_PIECE = re.compile(r"[A-Za-z.'’-]+|[$€£¥¢₹]|\^\{?\s*(-?\d)\s*\}?|[/*·()]|\S")


def is_word(word: str) -> bool:
    """Whether `word` is the spelling of a unit of more than one letter."""
    return len(word) > 1 and _name(word) is not None


def is_formula(body: str) -> bool:
    """Whether `body` is made of known units alone, single letters among them: `m/s^2`."""
    if not _FORMULA.match(body):
        return False
    words = _NAME.findall(body.replace(r"\cdot", "*"))
    return bool(words) and all(w in SINGLE or (len(w) > 1 and _name(w)) for w in words)


def _name(word: str) -> str | None:
    for form in (word, word.lower(), word.removesuffix("s"), word.lower().removesuffix("s")):
        if form in _NAMES:
            return _NAMES[form]
    return None


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 2 else word


def may_be(text: str) -> bool:
    """Whether the words of `text` may say what was counted or measured: 8 red apples.

    Words that say something about the value itself (8 is wrong, 8 or nine, 8 cubed) may not.
    """
    words = [word.strip("'’-").lower() for word in _WORD.findall(text)]
    if len(words) > _MOST_WORDS or _DIGIT_OF_ITS_OWN.search(text):
        return False
    if words and (words[0] in _SQUARED_BEHIND or words[-1] in _SIGNS_BEHIND):
        return False
    return not any(word in _NO_UNITS or _NO_UNIT.fullmatch(word) for word in words)


def canonical(text: str) -> str:
    """The unit that `text` names, in one spelling for all that mean the same; "" for none.

    Known units become `cm^2` or `km*h^-1`; other words, such as what was counted, their singular.
    """
    powers: dict[str, int] = {}
    sign, next_power, last = 1, 1, ""
    for match in _PIECE.finditer(text):
        piece = match[0]
        if match[1]:
            if last:
                powers[last] += (int(match[1]) - 1) * (1 if powers[last] > 0 else -1)
            continue
        word = piece.strip(".-'’")
        lowered = word.lower()
        if piece == "/" or lowered == "per":
            sign = -1
        elif lowered in _SQUARED or lowered in _CUBED:
            power = 2 if lowered in _SQUARED else 3
            if lowered.endswith("ed") and last:
                powers[last] *= power
            else:
                next_power = power
        elif lowered in _FILLER and _plain_in(lowered, powers):
            continue
        elif word and (word[0].isalpha() or word in _NAMES):
            last = _name(piece) or _name(word) or _singular(lowered)
            powers[last] = powers.get(last, 0) + sign * next_power
            next_power = 1
    if "celsius" in powers or "fahrenheit" in powers:
        powers.pop("degree", None)
    parts = (name if power == 1 else f"{name}^{power}" for name, power in sorted(powers.items()))
    joined = "*".join(parts)
    return _COMPOUND.get(joined, joined)


def _plain_in(lowered: str, powers: dict[str, int]) -> bool:
    """Whether `in` is the word and not the inch: only after another unit."""
    return lowered != "in" or bool(powers)


def same(first: str, second: str) -> bool:
    """Whether two canonical units are one; of two counted things, the last word decides."""
    if first == second:
        return True
    mine, other = set(first.split("*")), set(second.split("*"))
    if any(name.split("^")[0] in _TABLE for name in mine ^ other):
        return False
    return mine <= other or other <= mine
