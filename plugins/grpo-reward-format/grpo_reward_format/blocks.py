"""Where the required tags of a text stand and which checks they pass: pure text, no reward.

Everything is `str.find` and `str.count`: the time grows with the length of the text times the
number of tags, and no pattern can be made to backtrack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

OutsideText = Literal["forbid", "allow_after", "allow"]
Layout = Literal["any", "lines"]
EmptyBody = Literal["reject", "allow"]
Tail = Literal["optional", "require"]

EXCERPT_CHARS = 30


def _characters(*ranges: tuple[int, int]) -> str:
    return "".join(chr(c) for first, last in ranges for c in range(first, last + 1))


# White space, control characters and what Unicode calls default-ignorable, up to U+FFFF, with the
# blank letters of Hangul and Braille: a body of these looks empty. Frequent ones come first.
INVISIBLE = " \n\t\r" + _characters(
    *((0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0xA0), (0xAD, 0xAD), (0x034F, 0x034F)),
    *((0x061C, 0x061C), (0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
)


class Block(NamedTuple):
    """A required block: its name and its two tags."""

    name: str
    opener: str
    closer: str


@dataclass(frozen=True)
class Contract:
    """What a text must look like; the values are those of the options of `format/tags`."""

    tags: tuple[str, ...]
    outside_text: OutsideText = "forbid"
    layout: Layout = "any"
    empty_body: EmptyBody = "reject"
    tail: Tail = "optional"

    @property
    def blocks(self) -> list[Block]:
        """The required blocks in order."""
        return [Block(name, f"<{name}>", f"</{name}>") for name in self.tags]


@dataclass(frozen=True)
class Verdict:
    """Which checks a text passes.

    Attributes:
        passed: Number of checks passed that the writer of the completion had to earn.
        checks: Number of all such checks, passed or not; more than `passed` if there are faults.
        faults: What is wrong, in the order of the text's contract; empty if the text is right.
    """

    passed: int
    checks: int
    faults: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the checks passed: 1.0 exactly if the text is right, 0.0 without any tag."""
        return self.passed / self.checks if self.faults else 1.0


class _Chain(NamedTuple):
    """Tags that stand in the required order, with the bodies between them.

    Attributes:
        end: Where the last tag of the chain ends.
        passed: Names of the checks passed: a tag's text, or a block's name for its body.
        points: Number of checks passed that count, then of those that the prefix gave.
    """

    end: int
    passed: tuple[str, ...]
    points: tuple[int, int]


def judge(text: str, contract: Contract, prefix: str = "") -> Verdict:
    """Checks a text against a contract.

    A tag is right if it occurs exactly once and stands in the longest chain of tags in order; a
    closing tag also needs its opening tag right. A body is checked where both its tags are right.
    Outside text, layout and tail are checked once all tags and bodies are right. So no check is
    passed for want of something to check, and taking tags or bodies away never adds to the share.

    Args:
        text: The text, the prefix included; lines end in a line feed.
        contract: What it must look like.
        prefix: The part in front that the completion's writer did not write. Tags in it are
            required as all others, but passing them is no merit.
    """
    blocks = contract.blocks
    counts, at = tags_of(text, contract)
    given = {tag for tag in counts if tag in prefix}
    given |= {block.name for block in blocks if given.issuperset(block[1:])}
    needed = [*counts, *(contract.tags if contract.empty_body == "reject" else ())]

    present = tuple(tag for tag, count in counts.items() if count)
    chain = _longest_chain(text, contract, at, given, present)

    passed = chain.points[0]
    missed = set(needed).difference(chain.passed)
    if missed:
        faults = [f for b in blocks for f in _block_faults(b, missed, counts, at, given)]
    else:
        last = _last_checks(text, contract, at)
        faults = [fault for fault in last if fault]
        passed += last.count("")
    checks = sum(check not in given for check in needed) + _n_last_checks(contract)
    # Spoiling a tag that was given is no check of its own, but it must cost something.
    checks += not given.isdisjoint(missed)
    return Verdict(passed, checks, tuple(faults))


def tags_of(text: str, contract: Contract) -> tuple[dict[str, int], dict[str, int]]:
    """How often each required tag occurs, in their order, and where those that occur once stand."""
    first = {tag: text.find(tag) for block in contract.blocks for tag in block[1:]}
    # Counted from the first one on: the text is searched once for each tag, not twice.
    counts = {tag: text.count(tag, at) if at >= 0 else 0 for tag, at in first.items()}
    return counts, {tag: first[tag] for tag, count in counts.items() if count == 1}


def _longest_chain(
    text: str,
    contract: Contract,
    at: Mapping[str, int],
    given: set[str],
    present: tuple[str, ...],
) -> _Chain:
    """The chain that passes most checks.

    The best one, not the first one: else taking a tag away could free a better chain, and pay.
    """
    blanked = ""
    chains = [_Chain(0, (), (0, 0))]
    for name, opener, closer in contract.blocks:
        start = at.get(opener, -1)
        if start < 0:
            continue
        before = max((c for c in chains if c.end <= start), key=lambda c: c.points)
        inner = start + len(opener)
        chains.append(_extended(before, inner, (opener,), given))
        stop = at.get(closer, -1)
        if stop >= inner:
            body = text[inner:stop].lstrip(INVISIBLE)
            # Blanking searches the text once for each tag: only where a tag could fill the body.
            if body.startswith(present) and contract.empty_body == "reject":
                blanked = blanked or without_tags(text, present)
                body = blanked[inner:stop].lstrip(INVISIBLE)
            is_empty = not body or contract.empty_body == "allow"
            passed = (opener, closer) if is_empty else (opener, closer, name)
            chains.append(_extended(before, stop + len(closer), passed, given))
    return max(chains, key=lambda c: c.points)


def _extended(chain: _Chain, end: int, passed: tuple[str, ...], given: set[str]) -> _Chain:
    n_given = sum(check in given for check in passed)
    own, of_prefix = chain.points
    points = (own + len(passed) - n_given, of_prefix + n_given)
    return _Chain(end, chain.passed + passed, points)


def without_tags(text: str, tags: tuple[str, ...]) -> str:
    """The text with the tags blanked out: more of them must not fill a body."""
    for tag in tags:
        text = text.replace(tag, " " * len(tag))
    return text


def _looks_empty(text: str) -> bool:
    """True if the text has no visible character: white space and zero-width ones are none."""
    return not text.lstrip(INVISIBLE)


def _block_faults(
    block: Block,
    missed: set[str],
    counts: Mapping[str, int],
    at: Mapping[str, int],
    given: set[str],
) -> list[str]:
    """What is wrong with the tags of a block, else with its body."""
    faults = []
    for tag in block[1:]:
        if tag not in missed:
            continue
        if counts[tag] == 0:
            faults.append(f"no {tag}")
        elif counts[tag] > 1:
            twice = f"{counts[tag]} times {tag}"
            faults.append(f"{twice}, one of them in the prompt" if tag in given else twice)
        elif tag == block.closer and at[tag] < at.get(block.opener, -1):
            faults.append(f"{tag} before {block.opener}")
        elif tag == block.closer and block.opener in missed:
            faults.append(f"{tag} without a right {block.opener}")
        else:
            faults.append(f"{tag} out of order")
    if not faults and block.name in missed:
        by_prompt = ", and the prompt wrote it so" if block.name in given else ""
        faults.append(f"{block.opener} is empty{by_prompt}")
    return faults


def _n_last_checks(contract: Contract) -> int:
    outside = contract.outside_text != "allow"
    return outside + (contract.layout == "lines") + (contract.tail == "require")


def _last_checks(text: str, contract: Contract, at: Mapping[str, int]) -> list[str]:
    """What is wrong per check of `_n_last_checks`, "" where nothing is; all tags are right."""
    faults = []
    if contract.outside_text != "allow":
        faults.append(_outside_fault(text, contract, at))
    if contract.layout == "lines":
        crowded = [tag for tag, position in at.items() if not is_alone(text, position, tag)]
        faults.append(f"{crowded[0]} is not alone on its line" if crowded else "")
    if contract.tail == "require":
        closer = contract.blocks[-1].closer
        tail = text[at[closer] + len(closer) :]
        faults.append(f"no text after {closer}" if _looks_empty(tail) else "")
    return faults


def _outside_fault(text: str, contract: Contract, at: Mapping[str, int]) -> str:
    end = 0
    for block in contract.blocks:
        if stray := text[end : at[block.opener]].strip():
            return f"text before {block.opener}: {stray[:EXCERPT_CHARS]!r}"
        end = at[block.closer] + len(block.closer)
    if contract.outside_text == "forbid" and (stray := text[end:].strip()):
        return f"text after {contract.blocks[-1].closer}: {stray[:EXCERPT_CHARS]!r}"
    return ""


def is_alone(text: str, position: int, tag: str) -> bool:
    """True if nothing but white space stands beside the tag on its line."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : None if end < 0 else end].strip() == tag
