"""The contract of grpo-core for every reward of the plugin."""

from __future__ import annotations

from grpo_core.testing import RewardContract

SQUARE = [
    {"type": "stdin_stdout", "input": "3\n", "output": "9\n"},
    {"type": "stdin_stdout", "input": "-2\n", "output": "4\n"},
]
GOOD = (
    "```python\nprint(int(input()) ** 2)\n```",
    "<think>```python\nno\n```</think>\nSo:\n```py\nn = int(input())\nprint(n * n)\n```\n",
)
BAD = (
    "",
    "9",
    "```python\nprint(9)\n```",
    "```python\nprint(int(input()) ** 2\n```",
    "```java\nclass A {}\n```",
    "<think>```python\nprint(int(input()) ** 2)\n```",
)
ATTACKS = (
    "```python\nimport os\nos._exit(0)\n```",
    "```python\nprint(9, 4)\n```",
    "```python\n" + "(" * 5000 + "\n```",
    "```python\nprint(1)\0\n```",
    "```python\nprint('\ud800')\n```",
)


class TestTestsPass(RewardContract):
    reward = "code/tests_pass"
    inputs = {"tests": SQUARE}
    good = GOOD
    bad = BAD
    attacks = ATTACKS


class TestTestsPassAll(RewardContract):
    reward = "code/tests_pass"
    options = {"mode": "all"}
    inputs = {"tests": ["assert f(3) == 9", "assert f(-2) == 4"]}
    good = ("```python\ndef f(n):\n    return n * n\n```",)
    bad = (*BAD, "```python\ndef f(n):\n    return 9\n```", "```python\nf = 9\n```")
    attacks = (
        *ATTACKS,
        "```python\nclass f(int):\n    __eq__ = lambda a, b: True\n```",
        "```python\ndef f(n):\n    raise SystemExit\n```",
    )


class TestCompiles(RewardContract):
    reward = "code/compiles"
    good = ("```python\nx = 1\n```", "```python\nimport nowhere\n```")
    bad = ("", "so it is", "```python\nx =\n```", "```c\nint x;\n```")
    attacks = ATTACKS[2:4]


class TestRuns(RewardContract):
    reward = "code/runs"
    good = ("```python\nx = 1\n```",)
    bad = ("", "so it is", "```python\nimport nowhere\n```", "```python\nexit(3)\n```")
    attacks = ATTACKS[2:]
