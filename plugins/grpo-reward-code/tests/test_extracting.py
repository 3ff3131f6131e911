"""The program in a completion."""

from __future__ import annotations

import contextlib
import time

import pytest
from grpo_reward_code.extracting import NoProgram, program_of

PYTHON = "```python\nx = 1\n```"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PYTHON, "x = 1\n"),
        (f"First.\n{PYTHON}\nThen.\n```py\ny = 2\n```\nDone.", "y = 2\n"),
        (f"{PYTHON}\n```bash\nls\n```\n```\n1\n```", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("~~~Python3\nx = 1\n~~~", "x = 1\n"),
        ('````python\ns = """\n```\n"""\n````', 's = """\n```\n"""\n'),
        ("- so:\n  ```python\n  if x:\n    y\n  ```", "if x:\n  y\n"),
        ("```python\nx = 1", "x = 1\n"),
        ("x = 1", "x = 1"),
        (f"<think>\n```python\nno\n```\n</think>\n{PYTHON}", "x = 1\n"),
        ("```{.python}\nx = 1\n```", "x = 1\n"),
    ],
)
def test_program(text, code):
    assert program_of(text) == code


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        ("", {}, "the completion holds no code"),
        ("```python\n\n```", {}, "the completion holds no code"),
        ("x = 1", {"extract": "fence"}, "the completion has no code fence"),
        ("```java\nx\n```", {}, "the code is in another language: java"),
        ("<think>\n" + PYTHON, {}, "the completion ends inside <think>"),
        (PYTHON + "\n" + PYTHON, {"pick": "only"}, 'pick = "only", and there are 2 code fences'),
    ],
)
def test_no_program(text, options, why):
    with pytest.raises(NoProgram) as caught:
        program_of(text, **options)
    assert str(caught.value) == why


def test_options():
    two = "```python\na\n```\n```python\nb\n```"
    assert program_of(two, pick="first") == "a\n"
    assert program_of(two, extract="whole") == two
    assert program_of("<think>\n" + PYTHON, after_tag="") == "x = 1\n"


@pytest.mark.parametrize(
    "line",
    ["~" * 40_000 + "`", "```" + " " * 40_000 + "`", " " * 40_000 + "`", "```," + "a," * 40_000],
)
def test_time_grows_with_the_length_of_the_text(line):
    before = time.process_time()
    with contextlib.suppress(NoProgram):
        program_of(line)
    assert time.process_time() - before < 1.0  # with its square: above 4 s
