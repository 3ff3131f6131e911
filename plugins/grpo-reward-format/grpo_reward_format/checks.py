"""Checks of the options that name tags: what is wrong with them, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from grpo_reward_format.blocks import Contract, EmptyBody, Layout, OutsideText, Tail

# The signatures of the rewards spell these out, because error messages show them.
_CHOICES = {
    "mode": ("strict", "soft"),
    "outside_text": get_args(OutsideText),
    "layout": get_args(Layout),
    "prefix_policy": ("exact", "lenient"),
    "empty_body": get_args(EmptyBody),
    "tail": get_args(Tail),
}


def check_choices(**chosen: str) -> None:
    """Raises ValueError if an option has none of its values."""
    for option, value in chosen.items():
        if value not in _CHOICES[option]:
            allowed = ", ".join(map(repr, _CHOICES[option]))
            raise ValueError(f"{option} must be one of {allowed}, got {value!r}")


def check_tags(tags: Sequence[str]) -> None:
    """Raises ValueError if these are no names of tags, each once."""
    example = "write for example tags = ['think', 'answer']"
    if isinstance(tags, str):
        raise ValueError(f"tags must be a list of names, got the text {tags!r}; {example}")
    if not tags:
        raise ValueError(f"tags must name at least one block, got an empty list; {example}")
    for position, name in enumerate(tags):
        if not _is_tag_name(name):
            bare = str(name).strip("</> \t\n")
            advice = f"write {bare!r}" if bare != name and _is_tag_name(bare) else "rename it"
            raise ValueError(
                f"tags[{position}] must be the bare name of a tag (letters, digits, '_', '-', '.' "
                f"and ':', the first a letter or '_'), got {name!r}; {advice}"
            )
        if name in tags[:position]:
            raise ValueError(
                f"tags[{position}] is {name!r} again; each block stands exactly once, so give "
                f"each name once"
            )


def _is_tag_name(name: object) -> bool:
    if not isinstance(name, str) or name.startswith(("-", ".", ":")):
        return False
    return name.replace("-", "_").replace(".", "_").replace(":", "_").isidentifier()


def check_suffixes(suffixes: Sequence[str], contract: Contract) -> None:
    """Raises ValueError if a suffix is blank or would cut into a required tag."""
    if isinstance(suffixes, str):
        raise ValueError(
            f"strip_suffixes must be a list of texts, got the text {suffixes!r}; "
            f"write strip_suffixes = [{suffixes!r}]"
        )
    for position, suffix in enumerate(suffixes):
        if not suffix.strip():
            raise ValueError(
                f"strip_suffixes[{position}] must hold more than white space, got {suffix!r}; "
                f"leave it out: white space at the end is free"
            )
        for block in contract.blocks:
            if _overlaps(block.closer, suffix):
                raise ValueError(
                    f"strip_suffixes[{position}] is {suffix!r}, which would cut into the required "
                    f"{block.closer!r}; leave it out"
                )


def _overlaps(closer: str, suffix: str) -> bool:
    """True if cutting the suffix can take a part of the closing tag along."""
    starts = (suffix[:length] for length in range(1, len(suffix) + 1))
    return closer in suffix or any(map(closer.endswith, starts))
