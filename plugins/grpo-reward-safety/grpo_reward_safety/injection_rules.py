"""Rules of what speaks to a judge: their form, and those of languages other than English."""

from __future__ import annotations

import re
from typing import NamedTuple

from grpo_reward_safety.folding import Fold

# How a text is read before the rules see it.
FOLD = Fold(["nfkc", "casefold", "zero_width", "marks", "confusables"])


class Rule(NamedTuple):
    """One rule.

    Attributes:
        category: What a hit is called.
        stems: One of these must stand in a text for the pattern to be tried at all.
        pattern: What is looked for.
    """

    category: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]


def rule(category: str, stems: str, pattern: str) -> Rule:
    """A rule of stems with | between them, and a pattern; both are folded as a text is."""
    return Rule(category, tuple(FOLD(stems).split("|")), re.compile(FOLD(pattern), re.MULTILINE))


OTHER_LANGUAGES = (
    # German
    rule(
        "override",
        "anweisung|instruktion|vorgabe",
        r"\b(?:ignorier\w{0,3}|missacht\w{0,3}|vergiss|vergesst)\s(?:\w{1,12}\s){0,3}"
        r"(?:vorherige|obige|bisherige|vorige|frühere|andere)\w?\s(?:anweisung|instruktion|vorgabe)",
    ),
    rule(
        "asks_for_marks",
        "punkt|note",
        r"\b(?:gib|gebt|vergib|bewerte)\s(?:\w{1,12}\s){0,4}(?:voll|maximal|höchst|best)\w{0,2}\s(?:punkt|note)",
    ),
    # French
    rule(
        "override",
        "instructions|consignes",
        r"\b(?:ignore[zr]?|oublie[zr]?)\s(?:\w{1,8}\s){0,3}(?:instructions|consignes)\s"
        r"(?:précédent|antérieur|ci-dessus|initial)",
    ),
    rule(
        "asks_for_marks",
        "note|point",
        r"\b(?:donne[zr]?|attribue[zr]?|mets|mettez)\s(?:\w{1,12}\s){0,5}(?:note|points?)\s(?:maxima|parfaite|complète)",
    ),
    # Spanish, Portuguese, Italian
    rule(
        "override",
        "instruccion|instrucoes|istruzion",
        r"\b(?:ignor|olvid|esque[cç]|dimentic)\w{1,4}\s(?:\w{1,8}\s){0,3}"
        r"(?:instrucciones|instruções|istruzioni)\s(?:anterior|previa|precedent|di\ssopra|acima)",
    ),
    rule(
        "asks_for_marks",
        "puntuacion|pontuacao|punteggio|calificacion|nota",
        r"\b(?:da|dame|dale|dá|dê|dai|assegna|asigna|otorga)\s(?:\w{1,12}\s){0,4}"
        r"(?:máxim[ao]|massimo)\s(?:puntuación|pontuação|punteggio|calificación|nota)",
    ),
    # Russian
    rule(
        "override",
        "инструкц|указани",
        r"\b(?:игнорируй|проигнорируй|забудь)\w{0,2}\s(?:\w{1,12}\s){0,2}(?:предыдущ|прежн)\w{1,4}\s(?:инструкц|указани)",
    ),
    rule(
        "asks_for_marks",
        "балл|оценк",
        r"\b(?:поставь|дай|присвой)\w{0,2}\s(?:\w{1,12}\s){0,3}(?:максимальн|высш)\w{1,4}\s(?:балл|оценк)",
    ),
    # Chinese, Japanese, Korean
    rule(
        "override",
        "忽略|无视|無視|忘记",
        r"(?:忽略|无视|無視|忘记)[^。\n]{0,6}(?:之前|以上|上述|先前|前面)[^。\n]{0,6}(?:指示|指令|提示|规则|規則)",
    ),
    rule(
        "asks_for_marks",
        "满分|滿分",
        r"(?:^|[,。!:;\n请請]\s?)(?:给|給|打)(?:我|这个?|本|此|该)?(?:答案|回答)?(?:打)?(?:满分|滿分)",
    ),
    rule(
        "override",
        "無視",
        r"(?:これまで|以前|今まで|上記|前|すべて)の(?:すべての)?(?:指示|命令|プロンプト)"
        r"を?(?:すべて|全て)?無視",
    ),
    rule(
        "asks_for_marks",
        "満点",
        r"満点(?:を|に)(?:つけ|付け|与え|して)(?:て)?(?:ください|下さい|くれ)",
    ),
    rule(
        "override",
        "무시|잊",
        r"(?:이전|앞|위)(?:의)?\s?(?:모든\s)?(?:지시|지침|명령)\w{0,3}\s?(?:모두\s)?(?:무시|잊)",
    ),
)  # fmt: skip
