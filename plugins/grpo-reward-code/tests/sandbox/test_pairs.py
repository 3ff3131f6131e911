"""A submission and a judge side by side: what each holds, and how both end."""

from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program

ECHO = """
import os
while data := os.read(3, 100):
    os.write(3, data.upper())
"""
JUDGE = """
import os
os.write(3, b"hi")
os.write(4, os.read(3, 100))
"""


def judge(boxes, submission, tests, **limits):
    return boxes.judge(Program(submission), Program(tests), Limits(**{"cpu_s": 2.0, **limits}))


def test_they_talk_and_the_judge_reports(boxes):
    judged = judge(boxes, ECHO, JUDGE)
    assert judged.report == b"HI"
    assert judged.submission.is_clean
    assert judged.judge.is_clean


def test_a_report_larger_than_a_pipe(boxes):
    tests = "import os\nleft = 3_000_000\nwhile left: left -= os.write(4, b'x' * min(left, 70000))"
    assert len(judge(boxes, ECHO, tests).report) == 3_000_000


def test_the_submission_holds_no_end_of_the_report(boxes):
    submission = (
        """
import os
for fd in range(4, 64):
    try: os.write(fd, b"forged")
    except OSError: pass
"""
        + ECHO
    )
    assert judge(boxes, submission, JUDGE).report == b"HI"


def test_a_submission_that_is_gone_is_seen(boxes):
    tests = """
import os
try: print(os.read(3, 100))
except ConnectionResetError: print("reset")
os.write(4, b"seen")
"""
    for submission in ("import os; os._exit(0)", "raise SystemExit", "1 / 0"):
        assert judge(boxes, submission, tests).report == b"seen"


def test_a_submission_that_hangs_ends_with_its_judge(boxes):
    judged = judge(boxes, ECHO + "import time; time.sleep(60)", JUDGE, cpu_s=10.0)
    assert (judged.report, judged.submission.limit) == (b"HI", "")
    assert judged.submission.wall_s < 20


def test_a_submission_out_of_cpu_time_leaves_the_judge_its_word(boxes):
    tests = """
import os
try: got = os.read(3, 100)
except ConnectionResetError: got = b""
os.write(4, b"gone" if not got else b"here")
"""
    judged = judge(boxes, "while True: pass", tests, cpu_s=0.3, wall_factor=100)
    assert (judged.report, judged.submission.limit, judged.judge.limit) == (b"gone", "cpu", "")


def test_a_submission_that_sleeps_leaves_the_judge_its_word(boxes):
    tests = """
import os
try: got = os.read(3, 100)
except ConnectionResetError: got = b""
os.write(4, b"gone" if not got else b"here")
"""
    judged = judge(boxes, "import time; time.sleep(60)", tests, cpu_s=0.5)
    assert (judged.report, judged.submission.limit, judged.judge.limit) == (b"gone", "wall", "")


def test_a_judge_out_of_cpu_time(boxes):
    judged = judge(boxes, ECHO, "while True: pass", cpu_s=0.3, wall_factor=100)
    assert (judged.report, judged.judge.limit) == (b"", "cpu")


def test_a_judge_reads_no_file_of_the_submission(boxes):
    submission = """
import os
for name in ("json", "secrets", "colorsys", "sitecustomize"):
    with open(name + ".py", "w") as f: f.write("import os; os.write(4, b'forged')")
os.write(3, os.getcwd().encode())
os.read(3, 1)
"""
    tests = """
import os
folder = os.read(3, 1000).decode()
import colorsys, secrets
try: os.write(4, str(os.listdir(folder)).encode())
except OSError: os.write(4, b"refused")
os.write(3, b"x")
"""
    judged = judge(boxes, submission, tests)
    assert judged.report in (b"refused", b"[]")


def test_the_submission_does_not_hear_what_the_judge_is(boxes):
    submission = """
import gc, os
os.read(3, 1)
text = "".join(repr(o)[:2000] for o in gc.get_objects())
os.write(3, b"found" if "expected-%d" % (8430 + len("x")) in text else b"nothing")
"""
    tests = "import os\nsecret = 'expected-8431'\nos.write(3, b'x')\nos.write(4, os.read(3, 100))"
    assert judge(boxes, submission, tests).report == b"nothing"


def test_neither_reaches_the_other(boxes):
    submission = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
got = []
for pid in range(os.getpid() - 5, os.getpid() + 6):
    if pid != os.getpid():
        for number, last in ((62, 9), (101, 16), (310, 0), (424, 0)):
            if libc.syscall(ctypes.c_long(number), ctypes.c_long(pid), ctypes.c_long(last)) >= 0:
                got.append((number, pid))
os.write(3, str(got).encode())
"""
    tests = "import os, time\nos.write(4, os.read(3, 1000))"
    assert judge(boxes, submission, tests).report == b"[]"
