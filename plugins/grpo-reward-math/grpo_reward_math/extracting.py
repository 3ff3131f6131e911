"""From a completion's text to the candidates for its final answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from grpo_reward_math.boxes import boxes_of
from grpo_reward_math.candidates import (
    MAX_FOUND,
    Candidate,
    Extraction,
    ExtractOptions,
    Found,
    Tier,
)
from grpo_reward_math.choosing import decided
from grpo_reward_math.endings import conclusion, last_number, whole
from grpo_reward_math.marks import behind_hashes, behind_phrases, in_boxes, is_placeholder
from grpo_reward_math.phrases import ANSWER_IS, GIVES_UP, OFFERS
from grpo_reward_math.reply import without_fences
from grpo_reward_math.spans import in_sentence

__all__ = ["Candidate", "ExtractOptions", "Extraction", "extract"]

# Behind a tag: it is spoken of, not used.
_MENTION = re.compile(r"[`\"'”’]?[ \t]*(?:tags?|elements?|blocks?|and[ \t]*[`\"'“‘]?</)\b")


_FENCES = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[A-Za-z]{0,20}[ \t]*$", re.MULTILINE)


def extract(text: str, options: ExtractOptions, *, ended: bool = False) -> Extraction:
    """Finds the candidates for the final answer in a reply.

    Marks are looked for in this order, and the first that is there decides: answer tags, boxes,
    `####`, phrases such as "the answer is", a marked value that ends the last sentence, a reply
    that is nothing but a value, and the last number if it is asked for. Code fences are looked
    into only if there is nothing outside of them.

    Args:
        text: The reply, without reasoning.
        options: How it is looked for.
        ended: True if the reply is known to be whole. Then an answer tag that is never closed
            counts: its closing tag may have been what stopped the generation.
    """
    if not text.strip():
        return Extraction("", (), None, "no answer: the reply is empty")
    prose = without_fences(text)
    found = _extract(prose, options, ended)
    if not found.candidates and prose is not text and not GIVES_UP.search(prose):
        inside = _extract(text, options, ended)
        return inside if inside.candidates else found
    return found


def _extract(text: str, options: ExtractOptions, ended: bool) -> Extraction:
    tiers: list[tuple[str, Callable[[int], Tier]]] = [
        ("answer tag", lambda _: _in_tags(text, options, ended)),
        ("box", lambda start: in_boxes(text, start)),
        ("####", lambda start: Tier(behind_hashes(text, start))),
        ("phrase", lambda start: behind_phrases(text, options.phrases, start)),
    ]
    empty = ""
    for i, (name, find) in enumerate(tiers):
        tier = find(0)
        empty = empty or tier.empty
        if tier.found or tier.cut_off >= 0:
            found = list(tier.found)
            for _, find_more in tiers[i + 1 :]:
                # Only what stands behind the last one can add to it or take it back.
                more = find_more(found[-1].end if found else len(text))
                found += [f for f in more.found if f.is_strong]
                tier = tier if tier.cut_off >= 0 or more.cut_off < 0 else more
            if tier.cut_off >= 0:
                return Extraction(name, (), None, f"no answer: {tier.empty}")
            return decided(name, text, found, options)
    if empty:
        return Extraction("", (), None, f"no answer: {empty}")
    one = whole(text) or conclusion(text)
    if one is not None:
        return decided("end of the reply", text, [one], options)
    words = behind_phrases(text, options.phrases, of_words=True)
    if words.found:
        return decided("phrase", text, words.found, options)
    if words.n_marks:
        return Extraction("", (), None, "no answer: the phrase leads to none")
    if options.last_number and (one := last_number(text)):
        return decided("last number", text, [one], options)
    return Extraction("", (), None, "no answer: nothing in the reply marks one")


@lru_cache(maxsize=16)
def _tag_pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, tags))
    return re.compile(rf"<(/?)({names})>", re.IGNORECASE)


def _in_tags(text: str, options: ExtractOptions, ended: bool) -> Tier:
    if not options.tags or "<" not in text:
        return Tier(())
    spans: list[tuple[int, int, int, int]] = []
    opened: tuple[str, int, int] | None = None
    for tag in _tag_pattern(options.tags).finditer(text):
        if _MENTION.match(text, tag.end()):
            continue
        if not tag.group(1):
            opened = tag.group(2).lower(), tag.start(), tag.end()
        elif opened is not None and opened[0] == tag.group(2).lower():
            spans.append((opened[1], opened[2], tag.start(), tag.end()))
            opened = None
    if opened is not None and ended:
        spans.append((opened[1], opened[2], len(text), len(text)))
    held = [_held(text, *span, options) for span in spans[-MAX_FOUND:]]
    found = [one for each in held for one in each]
    if opened is not None and not ended and text[opened[2] :].strip():
        return Tier(found, opened[1], f"<{opened[0]}> is never closed")
    return Tier(found, -1, "the answer tag is empty" if held and not found else "")


def _held(
    text: str, start: int, begin: int, stop: int, end: int, options: ExtractOptions
) -> list[Found]:
    """What an answer tag holds: a bare answer, or the answer of the prose in it."""
    body = _FENCES.sub("", text[begin:stop])
    if not body.strip() or is_placeholder(body):
        return []
    boxes = boxes_of(body)
    if boxes.closed or boxes.cut_off >= 0 or "####" in body or ANSWER_IS.search(body):
        inner = _extract(body, ExtractOptions((), options.phrases, options.corrections), False)
        if inner.candidates:
            return [
                Found(begin + c.start, begin + c.end, c.text)
                for c in (inner.candidates if len(inner.candidates) > 1 else ())
            ] or [Found(start, end, inner.candidates[0].text)]
        if boxes.closed or boxes.cut_off >= 0:
            return []
    if not OFFERS.search(body) and (one := in_sentence(body) or conclusion(body)):
        return [Found(start, end, one.text)]
    return [Found(start, end, body)]
