"""Random programs: no exception in the caller, nothing left, and the next program is right."""

import random

import pytest
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program, Ran

WORDS = (
    "import os\n", "while True:\n", " pass\n", "print(", ")", "'x'*", "10**8", "\n", "os.", "0",
    "fork()", "_exit(", "1/0\n", "def f(:", "\x00", "\ud800", "é", "exec(", "input()", "raise ",
    "[0]*", "open('f','w').write(", "__import__('ctypes').string_at(0)", "sys.exit(", "lambda: ",
    "#", '"""', "import threading\n", "(" * 300, "for i in range(9):\n ", "del ", "__builtins__",
    "\r", "\t",
)  # fmt: skip
LIMITS = Limits(cpu_s=0.2, wall_factor=2, memory_mb=128, output_bytes=10_000)


def program(rng):
    kind = rng.random()
    if kind < 0.4:
        return rng.randbytes(rng.randrange(200))
    if kind < 0.8:
        return "".join(rng.choices(WORDS, k=rng.randrange(1, 20)))
    return bytes(rng.choices(b"abc ()\n:=0+'\"\\", k=rng.randrange(100)))


def fuzz(boxes, number, seed):
    rng = random.Random(seed)
    for n in range(number):
        source = program(rng)
        ran = boxes.run(Program(source, rng.randbytes(20)), LIMITS)
        assert isinstance(ran, Ran), source
        assert (ran.exit_code is None) != (ran.signal is None), source
        if n % 50 == 0:
            assert boxes.run(Program("print(sum([1, 2]))"), Limits()).stdout == b"3\n", source


def test_random_programs(boxes):
    fuzz(boxes, 150, 1)


@pytest.mark.slow
def test_two_thousand_random_programs(boxes):
    fuzz(boxes, 2000, 2)
