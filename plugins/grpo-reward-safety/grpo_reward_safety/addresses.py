"""Addresses of people and their machines: e-mail, IPv4, IPv6."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator

Span = tuple[int, int]

# What stands behind the last dot in code (a@b.shape) and in names of files (icon@2x.png); more
# than 1,000 other words are ends of domains.
_CODE = frozenset(
    (
        "grad shape mean sum data weight weights bias dot inv conj real imag reshape view "
        "size matrix values numpy transpose item flatten copy astype permute clone detach "
        "cuda cpu float half double eye ones zeros array tensor vec norm var std min max png "
        "jpg jpeg gif svg webp json html css txt csv pdf xml yaml yml toml lock log tar zip "
        "dylib exe dll jar"
    ).split()
)
_COUNTRIES = frozenset(
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs "
    "bt bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee "
    "eg er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk "
    "hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la "
    "lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my "
    "mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro "
    "rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk "
    "tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw".split()
)
_DOMAIN = re.compile(
    r"@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8})([^\W\d_]{2,24}|xn--[\w-]{2,40})(?![\w(-])"
)
_LOCAL_PART = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}$")
_LOCAL_STRIPPED = "'`*{|}=!?&/.#"
_SPELT_OUT = re.compile(
    r"[\[({<] ?(?:at|@) ?[\])}>] ?"
    r"((?:[\w-]{1,63} ?(?:\.|[\[({<] ?(?:dot|\.) ?[\])}>]) ?){1,5})([a-z]{2,24})\b",
    re.IGNORECASE,
)
_BRACKETED_DOT = re.compile(
    r"@((?:[\w-]{1,63}(?:\.|\[(?:\.|dot)\]|\((?:\.|dot)\))){1,5})([a-z]{2,24})\b", re.IGNORECASE
)
# Few ends, since "at the dot product" is no address.
_IN_WORDS = re.compile(
    r" at ((?:[\w-]{1,63} dot ){1,4})(com|org|net|edu|gov|io|info|de|uk|fr|eu)\b", re.IGNORECASE
)

_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\w|\.[0-9]|-\w{0,20}[a-z])")
_NO_ADDRESS = re.compile(
    r"(?:\bv|\bver|versions?|release|rel|build|revision|sections?|sec|chapter|§|clause|figure|fig"
    r"|table|appendix|step|article|paragraph|firmware|driver|update|upgrade to"
    r"|(?:up|down)graded? from|\boid|\.net|[=<>~!]=|[A-Za-z]-)"
    r"[\s.:#*\"'`=(]{0,4}(?:is |of |number |to )?[\"'`]?$",
    re.IGNORECASE,
)
_AND = re.compile(r"[`\"']?(?:,|\s?-)?\s?(?:and|or|to|through|vs)?\s?[`\"'v]?")
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|ff[0-9a-f]{2})(?:::?[0-9a-f]{1,4}){1,7}(?:::)?(?![\w:])",
    re.IGNORECASE,
)
# What each of them holds; it begins with a sign that is rare, so it is found fast.
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_DOCUMENTATION = [
    ipaddress.ip_network(n)
    for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")
]

IP_RANGES = ("loopback", "private", "documentation")


def emails(text: str) -> Iterator[Span]:
    """Places of e-mail addresses, also with [at] and [.]; a server's users are none."""
    for match in _DOMAIN.finditer(text):
        at = match.start()
        before = _LOCAL_PART.search(text[max(0, at - 64) : at])
        # Behind the last stroke, since most of those are of a path.
        local = before.group().rpartition("/")[2].lstrip(_LOCAL_STRIPPED) if before else ""
        start = at - len(local)
        if local and _is_end(match[2]) and not _is_of_a_server(text, start, match.end(), local):
            yield start, match.end()
    for match in _spelt_out(text):
        before = _LOCAL_PART.search(text[max(0, match.start() - 64) : match.start()].rstrip(" "))
        if before and _is_end(match[2]):
            blanks = text[match.start() - 1] == " "
            yield match.start() - blanks - len(before.group()), match.end()


def _spelt_out(text: str) -> Iterator[re.Match[str]]:
    """Domains that are not written as domains are; each pattern only where it can match."""
    if any(sign in text for sign in "[({<"):
        yield from _SPELT_OUT.finditer(text)
        for match in _BRACKETED_DOT.finditer(text) if "@" in text else ():
            if "[" in match[1] or "(" in match[1]:
                yield match
    if " dot " in text or " DOT " in text:
        yield from _IN_WORDS.finditer(text)


def _is_end(end: str) -> bool:
    end = end.lower()
    if not end.isascii():
        return True
    return end in _COUNTRIES if len(end) == 2 else end not in _CODE


def _is_of_a_server(text: str, start: int, end: int, local: str) -> bool:
    """git@host:path, and what stands behind :// up to the @."""
    if local == "git" and text[end : end + 1] in ":/":
        return True
    _, sign, user = text[max(0, start - 100) : start].rpartition("://")
    return bool(sign) and not any(c in user for c in " \n\t?&/")


def ipv4s(text: str, ignored: Collection[str]) -> Iterator[Span]:
    """Places of IPv4 addresses, but for versions and numbers of sections.

    Args:
        text: The text.
        ignored: Of `IP_RANGES`, those that are nobody's.
    """
    no_address = -1  # where the last one ended that is a version or the like
    for match in _IPV4.finditer(text):
        before = text[match.start() - 1] if match.start() else " "
        if before.isalnum() or before in "_." or not _is_ipv4(match.group()):
            continue
        if _is_ignored(match.group(), ignored):
            continue
        if _NO_ADDRESS.search(text[max(0, match.start() - 24) : match.start()]) or (
            no_address >= 0 and _AND.fullmatch(text, no_address, match.start())
        ):
            no_address = match.end()
            continue
        yield match.span()


def _is_ipv4(written: str) -> bool:
    return all(int(octet) < 256 and str(int(octet)) == octet for octet in written.split("."))


def ipv6s(text: str, ignored: Collection[str]) -> Iterator[Span]:
    """Places of IPv6 addresses that can be somebody's.

    Args:
        text: The text.
        ignored: Of `IP_RANGES`, those that are nobody's.
    """
    if not _COLONS.search(text):
        return
    for match in _IPV6.finditer(text):
        try:
            skip = _is_ignored(match.group(), ignored)
        except ValueError:
            continue
        if not skip:
            yield match.span()


def _is_ignored(written: str, ignored: Collection[str]) -> bool:
    address = ipaddress.ip_address(written)
    if "loopback" in ignored and (
        address.is_loopback or address.is_unspecified or written.startswith(("255.", "0."))
    ):
        return True
    if any(address.version == n.version and address in n for n in _DOCUMENTATION):
        return "documentation" in ignored
    return "private" in ignored and address.is_private
