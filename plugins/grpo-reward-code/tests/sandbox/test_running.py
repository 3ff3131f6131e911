"""A program runs as it would from a file: its streams, its end, what it finds."""

import textwrap

import pytest


def dedent(text):
    return textwrap.dedent(text).lstrip()


@pytest.mark.parametrize(
    ("source", "stdin", "stdout"),
    [
        ("print(int(input()) ** 2)", b"12\n", b"144\n"),
        ("import sys; print(len(sys.stdin.buffer.read()))", b"abc", b"3\n"),
        ("print(open(0).read().split())", b"1 2\n", b"['1', '2']\n"),
        ("import os; print(os.read(0, 5))", b"xyz", b"b'xyz'\n"),
        ("import sys; print([l for l in sys.stdin])", b"a\nb", b"['a\\n', 'b']\n"),
        ("try:\n input()\nexcept EOFError: print('end')", b"", b"end\n"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\x00')", b"", b"\xff\x00"),
        ("import os; os.write(1, b'raw')", b"", b"raw"),
        ("print('kept without a flush', end='')", b"", b"kept without a flush"),
        ("print('ä', ascii(input()))", "ß".encode(), "ä '\\xdf'\n".encode()),
        ("print(__name__, __file__)", b"", b"__main__ program.py\n"),
        ("import sys; print(sys.argv)", b"", b"['program.py']\n"),
        ("import __main__; x = 5; print(__main__.x)", b"", b"5\n"),
        ("def f():\n global g\n g = 3\nf(); print(g)", b"", b"3\n"),
        ("import os; print(dict(os.environ))", b"", b"{}\n"),
        ("# -*- coding: latin-1 -*-\nprint(len('\xe4'))".encode("latin-1"), b"", b"1\n"),
        (b"\xef\xbb\xbfprint('mark')", b"", b"mark\n"),
        ("import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)",
         b"", b"A\n"),
    ],
)  # fmt: skip
def test_a_program_reads_and_writes(run, source, stdin, stdout):
    ran = run(source, stdin)
    assert (ran.stdout, ran.stderr, ran.exit_code, ran.limit) == (stdout, b"", 0, "")


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("exit()", 0),
        ("quit(3)", 3),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit(256 + 4)", 4),
        ("import sys; sys.exit('words')", 1),
        ("raise SystemExit", 0),
        ("import os; os._exit(9)", 9),
        ("1 / 0", 1),
        ("def f(:", 1),
        ("raise KeyboardInterrupt", 1),
        ("print(1)\0", 1),
        ("x = '\ud83d'", 1),
        ("print('\\ud83d')", 1),
        ("import sys; sys.stdout.close()", 0),
    ],
)
def test_a_program_ends_with_a_status(run, source, status):
    assert run(source).exit_code == status


def test_a_traceback_begins_with_the_program(run):
    text = run("def f():\n    return 1 / 0\nf()\n").stderr.decode()
    assert text.splitlines()[:2] == [
        "Traceback (most recent call last):",
        '  File "program.py", line 3, in <module>',
    ]
    assert text.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_signal_is_told(run):
    assert run("import ctypes; ctypes.string_at(0)").signal == 11
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)").signal == 15
    assert run("import os; os.abort()").signal == 6


def test_threads_that_are_left_are_waited_for(run):
    source = dedent("""
        import threading, time
        def late():
            time.sleep(0.1)
            print("late")
        threading.Thread(target=late).start()
        print("early")
    """)
    assert run(source).stdout == b"early\nlate\n"


def test_what_is_registered_for_the_end_is_run(run):
    assert run("import atexit; atexit.register(print, 'last')\nprint(1)").stdout == b"1\nlast\n"


def test_the_idiom_for_deep_recursion(run):
    source = dedent("""
        import resource, sys, threading
        resource.setrlimit(resource.RLIMIT_STACK, (-1, -1))
        threading.stack_size(64 << 20)
        sys.setrecursionlimit(1 << 20)
        class Deep:
            def __repr__(self):
                return repr(self.inner)
        def work():
            d = Deep(); d.inner = 5
            for _ in range(20000):
                e = Deep(); e.inner = d; d = e
            print(repr(d))
        t = threading.Thread(target=work)
        t.start()
        t.join()
    """)
    assert run(source).stdout == b"5\n"


def test_threads_and_an_event_loop(run):
    source = dedent("""
        import asyncio, concurrent.futures
        async def one(n):
            await asyncio.sleep(0.01)
            return n
        async def all():
            loop = asyncio.get_running_loop()
            in_thread = await loop.run_in_executor(None, sum, [1, 2])
            return await asyncio.gather(*map(one, range(3))), in_thread
        print(asyncio.run(all()))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(abs, range(-9, 0))))
    """)
    assert run(source).stdout == b"([0, 1, 2], 3)\n45\n"


def test_files_of_its_own(run):
    source = dedent("""
        import json, os, pathlib, shutil, sqlite3, tempfile
        with open("a.txt", "w") as f: f.write("text")
        print(open("a.txt").read(), os.listdir("."))
        os.makedirs("x/y"); os.rename("a.txt", "x/y/b.txt"); shutil.rmtree("x")
        with tempfile.NamedTemporaryFile("w+") as f:
            f.write("more"); f.seek(0); print(f.read())
        with tempfile.TemporaryDirectory() as d: pathlib.Path(d, "z").write_text("z")
        pathlib.Path("m.py").write_text("v = 8")
        import m
        print(m.v)
        with open("r", "w+b") as f:
            f.write(b"12345"); f.truncate(2)
        print(os.path.getsize("r")); os.truncate("r", 1); print(os.path.getsize("r"))
        db = sqlite3.connect(":memory:"); print(db.execute("select 2 + 2").fetchall())
    """)
    ran = run(source)
    assert (ran.stdout, ran.stderr) == (b"text ['a.txt']\nmore\n8\n2\n1\n[(4,)]\n", b"")


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess; subprocess.run(['ls'])",
        "import os; os.fork()",
        "import os; os.execv('/bin/sh', ['sh'])",
        "import os; os.posix_spawn('/bin/sh', ['sh'], {})",
        "import multiprocessing as m; m.get_context('fork').Process(target=print).start()",
        "import socket; socket.socket()",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1')",
        "import os; os.chmod('.', 0o777)",
    ],
)
def test_what_is_refused_raises_in_the_program(run, source):
    ran = run(source)
    assert ran.exit_code == 1
    assert b"Operation not permitted" in ran.stderr


def test_many_modules_can_be_imported(run):
    names = "numbers fractions decimal json re html csv zlib bz2 lzma hashlib hmac secrets uuid "
    names += "statistics graphlib textwrap argparse logging unittest doctest pickle ctypes "
    names += "xml.etree.ElementTree difflib calendar zoneinfo locale gettext selectors ssl email"
    ran = run("".join(f"import {name}\n" for name in names.split()) + "print('all')")
    assert (ran.stdout, ran.stderr) == (b"all\n", b"")


def test_sets_have_one_order(run):
    first = run("print({str(n) for n in range(50)})").stdout
    assert run("print({str(n) for n in range(50)})").stdout == first


def test_random_numbers_differ(run):
    source = "import random; print(random.random())"
    assert run(source).stdout != run(source).stdout


def test_standard_input_has_its_name(run):
    assert run("print(open('/dev/stdin').read(), open(0).read())", b"12").stdout == b"12 12\n"
