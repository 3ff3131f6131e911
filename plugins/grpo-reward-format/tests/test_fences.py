from __future__ import annotations

import random

import pytest
from grpo_reward_format.fences import MAX_FENCE_LINES, mask_fences


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("a <b>\n", "a <b>\n", id="no fence"),
        pytest.param("```\n<a>\n```\n<b>", "```\n(a>\n```\n<b>", id="backticks"),
        pytest.param("~~~\n<a>\n~~~\n<b>", "~~~\n(a>\n~~~\n<b>", id="tildes"),
        pytest.param("```py <x>\n<a>\n```\n<b>", "```py (x>\n(a>\n```\n<b>", id="info string"),
        pytest.param("~~~ a`b ~~~\n<a>\n~~~\n<b>", "~~~ a`b ~~~\n(a>\n~~~\n<b>", id="tilde info"),
        pytest.param("```\n<a>\n~~~\n<b>", "```\n(a>\n~~~\n(b>", id="other mark does not close"),
        pytest.param("````\n```\n<a>\n````\n<b>", "````\n```\n(a>\n````\n<b>", id="longer fence"),
        pytest.param("```\n<a>\n`````\n<b>", "```\n(a>\n`````\n<b>", id="longer closes shorter"),
        pytest.param("```\n``` x\n<a>\n```\n<b>", "```\n``` x\n(a>\n```\n<b>", id="text behind"),
        pytest.param("```\n``` ```\n<a>", "```\n``` ```\n(a>", id="two runs do not close"),
        pytest.param("```\n<a>\n``` \t\n<b>", "```\n(a>\n``` \t\n<b>", id="blanks behind"),
        pytest.param("```\n<a>", "```\n(a>", id="unclosed"),
        pytest.param("```", "```", id="nothing but a fence"),
        pytest.param("```\n<a>\n```", "```\n(a>\n```", id="closed by the last line"),
        pytest.param("```\n```\n<a>", "```\n```\n<a>", id="closing one opens nothing"),
        pytest.param("```\n```\n```\n<a>", "```\n```\n```\n(a>", id="third one opens"),
        pytest.param("   ```\n<a>\n  ```\n<b>", "```\n(a>\n```\n<b>", id="indented by three"),
        pytest.param("    ```\n<a>", " ```\n<a>", id="indented by four"),
        pytest.param("```\n    ```\n<a>", "```\n ```\n(a>", id="closing one indented by four"),
        pytest.param("a ```\n<a>", "a ```\n<a>", id="not at the start of a line"),
        pytest.param("```x```\n<a>", "```x```\n<a>", id="code within a line"),
        pytest.param("``\n<a>\n``", "``\n<a>\n``", id="two backticks"),
        pytest.param("~~~\n```\n~~~\n<a>\n```\n<b>", "~~~\n```\n~~~\n<a>\n```\n(b>", id="both"),
    ],
)
def test_mask_fences_masks_tags_in_fences_only(text: str, masked: str) -> None:
    assert mask_fences(text) == masked


def test_mask_fences_most_lines_allowed_are_read() -> None:
    text = "```\n" * MAX_FENCE_LINES + "<a>"

    assert mask_fences(text) == text


def test_mask_fences_one_line_more_is_refused() -> None:
    assert mask_fences("```\n" * (MAX_FENCE_LINES + 1)) is None


@pytest.mark.parametrize("seed", range(300))
def test_mask_fences_random_lines_agree_with_commonmark(seed: int) -> None:
    markdown = pytest.importorskip("markdown_it", reason="rich brings it; compares with CommonMark")
    generator = random.Random(seed)
    lines = ["```", "````", "~~~", "~~~~ ", "``` x", "```x`", "~~~ `", "   ```", "    ~~~", "a", ""]
    chosen = generator.choices(lines, k=generator.randint(1, 14))
    text = "\n".join(chosen)
    tokens = markdown.MarkdownIt("commonmark").parse(text)
    fenced = {number for token in tokens if token.type == "fence" for number in range(*token.map)}

    masked = mask_fences(
        "\n".join(f"{line}<" if line == "a" else line for line in text.split("\n"))
    )

    assert masked is not None
    hidden = {number for number, line in enumerate(masked.split("\n")) if line == "a("}
    assert hidden == {n for n in fenced if chosen[n] == "a"}, f"seed {seed}: {text!r}"
