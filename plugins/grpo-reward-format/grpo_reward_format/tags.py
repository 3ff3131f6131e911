"""The reward `format/tags`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from grpo_core import Completion, Score, reward
from grpo_reward_format.blocks import Contract, EmptyBody, Layout, OutsideText, Tail, judge
from grpo_reward_format.fences import MAX_FENCE_LINES, mask_fences

# The signature of `Tags` spells these out, because error messages show it.
_CHOICES = {
    "mode": ("strict", "soft"),
    "outside_text": get_args(OutsideText),
    "layout": get_args(Layout),
    "prefix_policy": ("exact", "lenient"),
    "empty_body": get_args(EmptyBody),
    "tail": get_args(Tail),
}
_N_FAULTS_SHOWN = 3
# White space that no suffix holds, so that blanking one suffix cannot make up another.
_BLANK = "\x1c"


@reward(range=(0.0, 1.0))
class Tags:
    r"""1.0 if the text is the required blocks, each once, in order, filled, and nothing else.

    With `tags = ["think", "answer"]` that is `<think>…</think><answer>…</answer>`. Tags are
    matched letter by letter: `<Think>`, `< think>`, `<think/>` and `<thinking>` are plain text.
    Deterministic; time grows with the length of the text times the number of tags, no faster.
    Line ends `\r\n` count as `\n`.

    | check                           | how many           | made                               |
    |---------------------------------|--------------------|------------------------------------|
    | tag: once and in its place      | 2 per block        | always; a closing tag needs its    |
    |                                 |                    | opening tag right                  |
    | body: a visible character in it | 1 per block        | where both its tags are right;     |
    |                                 |                    | never with `empty_body = "allow"`  |
    | no text outside the blocks      | 1                  | once all of the above are right;   |
    |                                 |                    | never with `outside_text = "allow"`|
    | each tag alone on its line      | 1                  | likewise, if `layout = "lines"`    |
    | text after the last block       | 1                  | likewise, if `tail = "require"`    |

    `mode = "strict"` pays 1.0 if all pass, else 0.0. `mode = "soft"` pays the share passed, in
    which a check that is not made counts as not passed: no tags, no pay, and 1.0 exactly where
    strict pays it. Tags that the prompt had already opened are required, but not paid for.

    How a lazy model could cheat: one character is a body (`<think>.</think>`), and the text in
    the blocks may be anything; pair this reward with one for what the blocks say. In soft mode
    empty blocks earn the tags' share. With `outside_text = "allow"` the reply may stand outside.

    Args:
        tags: Names of the required blocks, in order.
        mode: "strict" pays all or nothing, "soft" the share of the checks passed.
        outside_text: Text outside the blocks: "forbid", "allow_after" the last one, or "allow".
            White space is always free.
        layout: "lines": each tag stands alone on its line; "any": line breaks do not matter.
        prompt_prefix: What the prompt had already written of the reply, put in front of the
            completion; None takes what the chat template is known to have opened.
        prefix_policy: A completion that repeats the prefix at its start is scored without it
            under "lenient"; under "exact" its tags are there twice.
        empty_body: "reject": a body needs a visible character; "allow": it does not.
        tail: "require": a visible character must follow the last block.
        ignore_code_fences: True makes tags inside fenced code (``` or ~~~) plain text. A fence
            that is never closed runs to the end. Over 10,000 lines of fences score 0.0.
        strip_suffixes: Special tokens cut off the end first, as often as they stand there.

    Raises:
        ValueError: An option is not one of these, or no text could satisfy them together.
    """

    def __init__(
        self,
        *,
        tags: Sequence[str] = ("think", "answer"),
        mode: Literal["strict", "soft"] = "strict",
        outside_text: Literal["forbid", "allow_after", "allow"] = "forbid",
        layout: Literal["any", "lines"] = "any",
        prompt_prefix: str | None = None,
        prefix_policy: Literal["exact", "lenient"] = "exact",
        empty_body: Literal["reject", "allow"] = "reject",
        tail: Literal["optional", "require"] = "optional",
        ignore_code_fences: bool = False,
        strip_suffixes: Sequence[str] = (),
    ) -> None:
        _check_tags(tags)
        _check_choices(
            mode=mode,
            outside_text=outside_text,
            layout=layout,
            prefix_policy=prefix_policy,
            empty_body=empty_body,
            tail=tail,
        )
        if tail == "require" and outside_text == "forbid":
            raise ValueError(
                "tail = 'require' wants text after the last block, which outside_text = 'forbid' "
                "rejects; set outside_text to 'allow_after', or leave tail out"
            )
        self._contract = Contract(tuple(tags), outside_text, layout, empty_body, tail)
        _check_suffixes(strip_suffixes, self._contract)
        self._soft = mode == "soft"
        self._prefix = None if prompt_prefix is None else _with_line_feeds(prompt_prefix)
        self._lenient = prefix_policy == "lenient"
        self._ignore_code_fences = ignore_code_fences
        # Longest first: one suffix may be the end of another.
        self._suffixes = sorted(map(_with_line_feeds, strip_suffixes), key=len, reverse=True)

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion; the reason names the first checks that fail."""
        written = _without_suffixes(_with_line_feeds(completion.text), self._suffixes)
        prefix = self._prefix
        if prefix is None:
            prefix = _with_line_feeds(completion.prefill)
        if self._lenient and _repeats(written, prefix):
            prefix = ""
        text: str | None = prefix + written
        if self._ignore_code_fences:
            text = mask_fences(prefix + written)
        if text is None:
            reason = f"limit: more than {MAX_FENCE_LINES} lines that look like code fences"
            return Score(0.0, reason=reason)

        verdict = judge(text, self._contract, prefix)

        value = verdict.share if self._soft else float(not verdict.faults)
        return Score(value, reason=_summary(verdict.faults))


def _summary(faults: Sequence[str]) -> str:
    n_more = len(faults) - _N_FAULTS_SHOWN
    return "; ".join([*faults[:_N_FAULTS_SHOWN], *([f"{n_more} more"] if n_more > 0 else [])])


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


def _without_suffixes(text: str, suffixes: Sequence[str]) -> str:
    """Cuts suffixes and the white space between them off the end, in any order and number.

    Blanking them out and asking where the blank end begins is one pass each; cutting them one by
    one copies the text as often as there are suffixes.
    """
    if not suffixes:
        return text
    stripped = text.rstrip()
    if not stripped.endswith(tuple(suffix.rstrip() for suffix in suffixes)):
        return stripped
    blanked = text
    for suffix in suffixes:
        blanked = blanked.replace(suffix, _BLANK * len(suffix))
    return text[: len(blanked.rstrip())]


def _repeats(written: str, prefix: str) -> bool:
    """True if the completion begins with the prefix, white space around it aside."""
    core = prefix.strip()
    return bool(core) and written.lstrip().startswith(core)


def _check_choices(**chosen: str) -> None:
    for option, value in chosen.items():
        if value not in _CHOICES[option]:
            allowed = ", ".join(map(repr, _CHOICES[option]))
            raise ValueError(f"{option} must be one of {allowed}, got {value!r}")


def _check_tags(tags: Sequence[str]) -> None:
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


def _check_suffixes(suffixes: Sequence[str], contract: Contract) -> None:
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
