"""Secrets without a form of their own: what stands beside a word such as password or token."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grpo_reward_safety.folding import NO_BLANKS, Fold
from grpo_reward_safety.placeholders import entropy, is_placeholder

# Beginnings of the words, in small letters, and whether a person chooses what stands beside them.
_STEMS = {
    "passw": True,
    "passphrase": True,
    "_pass": True,
    "pwd": True,
    "secret": False,
    "token": False,
    "apikey": False,
    "api_key": False,
    "api-key": False,
    "api key": False,
    "access_key": False,
    "access key": False,
    "accesskey": False,
    "auth_key": False,
    "private_key": False,
    "account_key": False,
    "encryption_key": False,
    "signing_key": False,
    "credential": False,
    "bearer": False,
    # In the form that folding gives them.
    **dict.fromkeys(
        map(
            Fold(["nfkc", "casefold", "marks", "confusables"]),
            (
                "mot de passe",
                "contraseña",
                "senha",
                "пароль",
                "密码",
                "密碼",
                "パスワード",
                "비밀번호",
            ),
        ),
        True,
    ),
}
_ASSIGNED = re.compile(
    r"""[\w.\-]{0,30}(?:\ key)?["'\]`)*]{0,4}[ \t]{0,4}
    (?P<sign>=>|:=|={1,3}|:|\b(?:is|was|lautet|ist|est|es)\b|[是は]|(?<=bearer)(?=\s))\s{0,4}
    (?P<quote>["'`]?)(?P<value>[^\s"'`<>,;NO_BLANKS]{6,200})""".replace("NO_BLANKS", NO_BLANKS),
    re.VERBOSE,
)
_HASH = re.compile(r"hash|sha\d|sha-\d|md5|digest|checksum|commit|fingerprint|csrf_?name")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)\w+)+")
_URL_PASSWORD = re.compile(r"[^\s:/@'\"<>?#]{0,64}:(?P<value>[^\s/?'\"<>]{1,128})@[\w.\[-]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}$")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_CODE = frozenset("()[]{}")
_MIN_BITS = 3.0
_MIN_CHARS = 16
_MIN_PASSWORD = 6


def find_assigned(text: str) -> Iterator[tuple[int, int]]:
    """Places of values that stand beside a word for secrets and look like one."""
    small = text.lower()
    if len(small) != len(text):  # one letter of all grows when it is made small
        small = text.replace("\u0130", "I").lower()
    until = 0
    for stem, at in _stems(small):
        if at < until:
            continue
        match = _ASSIGNED.match(small, at + len(stem))
        if not match:
            continue
        start, end = match.span("value")
        value = text[start:end]
        quoted = bool(match["quote"])
        if not quoted and match["sign"].startswith("=="):
            continue  # compared with a variable
        if not quoted:
            value = value.rstrip(".,:!?)]}*_")
        around = small[max(0, at - 30) : start]
        if _is_secret(value, _STEMS[stem], quoted) and not _HASH.search(around):
            until = end
            yield start, start + len(value)


def find_in_urls(text: str) -> Iterator[tuple[int, int]]:
    """Places of the passwords in addresses such as postgres://user:password@host."""
    at = text.find("://")
    while at >= 0:
        match = _URL_PASSWORD.match(text, at + 3)
        if match and _SCHEME.search(text[max(0, at - 21) : at]):
            value = match["value"]
            if not is_placeholder(value) and value[0] not in "$%{":
                yield match.start("value"), match.end("value")
        at = text.find("://", at + 3)


def _stems(small: str) -> list[tuple[str, int]]:
    found = []
    has_key = "key" in small
    for stem in _STEMS:
        if not has_key and stem.endswith("key"):
            continue
        at = small.find(stem)
        while at >= 0:
            found.append((stem, at))
            at = small.find(stem, at + len(stem))
    found.sort(key=lambda one: one[1])
    return found


def _names_one(value: str) -> bool:
    """Whether a reference such as settings.API_KEY_V1 says itself what it refers to."""
    return any(map(value.lower().__contains__, _STEMS))


def _is_secret(value: str, chosen: bool, quoted: bool) -> bool:
    has_letter = _LETTER.search(value) is not None
    has_digit = _DIGIT.search(value) is not None
    if chosen:
        has_sign = any(not c.isalnum() and c not in "_-.:/\\" for c in value)
        if not (has_letter and (has_digit or (has_sign and quoted))):
            return False
    elif len(value) < _MIN_CHARS or not (has_letter and has_digit):
        return False
    if not quoted and not _CODE.isdisjoint(value):
        return False
    if value.startswith(("/", "./", "../", "~/")) or "://" in value:
        return False
    if _REFERENCE.fullmatch(value) and not (has_digit and (quoted or not _names_one(value))):
        return False
    if len(value) < _MIN_PASSWORD or is_placeholder(value) or _UUID.fullmatch(value):
        return False
    return chosen or entropy(value) >= _MIN_BITS
