"""Which required tags of a text stand in their place: pure text, no reward.

Linear in the length of the text times the number of tags, like `blocks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from grpo_reward_format.blocks import (
    EXCERPT_CHARS,
    INVISIBLE,
    Block,
    Contract,
    is_alone,
    tags_of,
    without_tags,
)


@dataclass(frozen=True)
class Places:
    """How many of the required tags stand in their place.

    Attributes:
        right: Tags in their place that the writer of the completion wrote.
        total: Tags the writer had to write, and one more if a tag of the prompt was spoilt.
        alone: Share of the tags that stand alone on their line; 0.0 unless all are in place.
        faults: What is wrong, in the order of the blocks; empty if every tag is in its place.
        crowded: The first tag in place that is not alone on its line, or "".
    """

    right: int
    total: int
    alone: float
    faults: tuple[str, ...]
    crowded: str = ""

    @property
    def share(self) -> float:
        """Share of the tags in their place: 1.0 exactly if all are, 0.0 without any tag."""
        return self.right / self.total if self.faults else 1.0


class _Chain(NamedTuple):
    """Tags that stand in the required order, each once.

    Attributes:
        end: Where the last tag ends.
        tags: The tags.
        right: Those in their place, whatever follows.
        hoped: The last tag, if what follows decides: an opening tag needs a filled body, the
            last closing tag needs no text behind it. Else "".
    """

    end: int
    tags: tuple[str, ...]
    right: tuple[str, ...]
    hoped: str


class _Judge:
    """Finds the chain with most tags in their place."""

    def __init__(
        self,
        text: str,
        contract: Contract,
        counts: Mapping[str, int],
        at: Mapping[str, int],
        given: set[str],
    ) -> None:
        self.contract = contract
        self.order = list(counts)
        self.at = at
        self.given = given
        # A tag too many is one fault, not also text outside, and does not fill a body.
        self.blanked = without_tags(text, tuple(tag for tag, count in counts.items() if count))
        ends = [0, *(position + len(tag) for tag, position in at.items())]
        self.visible = _next_visible(self.blanked, ends, INVISIBLE)
        self.solid = _next_visible(self.blanked, ends, None)

    def best(self) -> _Chain:
        """The best of all chains, so that taking a tag away never frees a better one."""
        chains = [_Chain(0, (), (), "")]
        for block in self.contract.blocks:
            start = self.at.get(block.opener, -1)
            if start < 0:
                continue
            opened = self._fittest(
                self._with_opener(c, block.opener, start) for c in chains if c.end <= start
            )
            chains += opened
            stop = self.at.get(block.closer, -1)
            if stop >= start:
                chains += self._fittest(self._with_closer(c, block.closer, stop) for c in opened)
        return max(map(self._ended, chains), key=self._worth)

    def _worth(self, chain: _Chain) -> tuple[int, int, int]:
        """The writer's tags first, then those of the prompt; the length only decides ties."""
        n_given = sum(tag in self.given for tag in chain.right)
        return len(chain.right) - n_given, n_given, len(chain.tags)

    def _fittest(self, chains: Iterable[_Chain]) -> list[_Chain]:
        """The best chain with and the best without hope: which one wins shows later."""
        best: dict[str, _Chain] = {}
        for chain in chains:
            if chain.hoped not in best or self._worth(chain) > self._worth(best[chain.hoped]):
                best[chain.hoped] = chain
        return list(best.values())

    def _with_opener(self, chain: _Chain, opener: str, start: int) -> _Chain:
        previous = self.order[: self.order.index(opener)][-1:]
        is_next = list(chain.tags[-1:]) == previous
        clean = self.contract.outside_text == "allow" or self.solid[chain.end] >= start
        right = self._settled(chain, start)
        hoped = opener if clean or not is_next else ""
        return _Chain(start + len(opener), (*chain.tags, opener), right, hoped)

    def _with_closer(self, chain: _Chain, closer: str, stop: int) -> _Chain:
        hoped = closer if self._is_filled(chain, stop) else ""
        right = self._settled(chain, stop)
        return _Chain(stop + len(closer), (*chain.tags, closer), right, hoped)

    def _ended(self, chain: _Chain) -> _Chain:
        is_spoilt = (
            chain.hoped == self.order[-1]
            and self.contract.outside_text == "forbid"
            and self.solid[chain.end] < len(self.blanked)
        )
        right = chain.right if is_spoilt else self._settled(chain, len(self.blanked))
        return chain._replace(right=right)

    def _settled(self, chain: _Chain, next_tag: int) -> tuple[str, ...]:
        """The tags in their place, once it is known where the next one stands."""
        is_closer = chain.hoped.startswith("</")
        if chain.hoped and (is_closer or self._is_filled(chain, next_tag)):
            return (*chain.right, chain.hoped)
        return chain.right

    def _is_filled(self, chain: _Chain, next_tag: int) -> bool:
        return self.contract.empty_body == "allow" or self.visible[chain.end] < next_tag

    def faults_of(self, chain: _Chain, counts: Mapping[str, int]) -> list[str]:
        """What is wrong with each tag that is not in its place."""
        faults: list[str] = []
        for block in self.contract.blocks:
            for tag in block[1:]:
                fault = "" if tag in chain.right else self._fault(block, tag, chain, counts)
                if fault and fault not in faults:
                    faults.append(fault)
        return faults

    def _fault(self, block: Block, tag: str, chain: _Chain, counts: Mapping[str, int]) -> str:
        if counts[tag] == 0:
            return f"no {tag}"
        if counts[tag] > 1:
            by_prompt = ", one of them in the prompt" if tag in self.given else ""
            return f"{counts[tag]} times {tag}{by_prompt}"
        if tag in chain.tags:
            inner = self.at[block.opener] + len(block.opener)
            behind = chain.tags[chain.tags.index(block.opener) + 1 :]
            stop = self.at[behind[0]] if behind else len(self.blanked)
            if self.contract.empty_body == "reject" and self.visible[inner] >= stop:
                return f"{block.opener} is empty"
            return self._outside_fault(tag, chain)
        if tag == block.closer and block.opener not in chain.tags:
            return f"{tag} without a right {block.opener}"
        return f"{tag} out of order"

    def _outside_fault(self, tag: str, chain: _Chain) -> str:
        if tag.startswith("</"):
            side, stray = "after", self.blanked[self.at[tag] + len(tag) :]
        else:
            before = chain.tags[: chain.tags.index(tag)][-1:]
            end = self.at[before[0]] + len(before[0]) if before else 0
            side, stray = "before", self.blanked[end : self.at[tag]]
        return f"text {side} {tag}: {stray.strip()[:EXCERPT_CHARS]!r}"


def place(text: str, contract: Contract, prefix: str = "") -> Places:
    """Finds which required tags stand in their place.

    A tag is in its place if it occurs exactly once, stands in the best chain of tags in order,
    and what is next to it is right. An opening tag needs text behind it and, unless text outside
    is allowed, none between it and the block before. A closing tag needs its opening tag in the
    chain and text between the two; the last one needs none behind it, if that is forbidden.
    What is next to a tag is not held against it where the neighbour in the contract is missing.

    Args:
        text: The text, the prefix included; lines end in a line feed.
        contract: What it must look like; its layout and tail are not read.
        prefix: The part in front that the completion's writer did not write.
    """
    counts, at = tags_of(text, contract)
    given = {tag for tag in counts if tag in prefix}
    judge = _Judge(text, contract, counts, at, given)
    chain = judge.best()

    right = set(chain.right)
    faults = judge.faults_of(chain, counts)
    own = [tag for tag in counts if tag not in given]
    # Spoiling a tag that was given is no tag of its own, but it must cost something.
    total = len(own) + (not given <= right)
    if faults:
        return Places(len(right - given), total, 0.0, tuple(faults))
    crowded = [tag for tag in own if not is_alone(text, at[tag], tag)]
    alone = 1 - len(crowded) / len(own) if own else 1.0
    return Places(len(own), total, alone, (), crowded[0] if crowded else "")


def _next_visible(text: str, starts: Iterable[int], blank: str | None) -> dict[int, int]:
    """Where, from each start on, the first character stands that is not blank.

    From the last start backwards, so that each character is looked at once.
    """
    found = {}
    stop = seen = len(text)
    for start in sorted(starts, reverse=True):
        if body := text[start:stop].lstrip(blank):
            seen = stop - len(body)
        found[start] = seen
        stop = start
    return found
