"""Escape attempts: a layer is in force only if none of them gets out of it here.

They are run, not looked up: some hosts let one step succeed and refuse the next, and a version
number says nothing of what a container's own filter does.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program
from grpo_reward_code.sandbox.worker import Worker

_LIMITS = Limits(cpu_s=5.0, wall_factor=6.0)

# What the program does. Each attempt returns something true if it got out; none does harm then.
_ATTEMPTS = """
import ctypes, json, os, resource, socket, sys, threading

told = json.loads(sys.stdin.read())
libc = ctypes.CDLL(None, use_errno=True)

def system_call(number, *arguments):
    return libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0

def writes_outside():
    open(told["folder"] + "/written", "w").close()
    return True

def reads_a_file():
    return open(told["folder"] + "/secret").read()

def reads_a_package():
    for hidden in told["hidden"]:
        for folder, _, names in os.walk(hidden):
            for name in names[:20]:
                try:
                    open(os.path.join(folder, name), "rb").close()
                    return True
                except OSError:
                    pass
            if folder.count("/") > hidden.count("/"):
                break

def lists_a_folder():
    return os.listdir(told["folder"])

def reads_an_environment():
    return open("/proc/%d/environ" % told["trainer"], "rb").read()

def reads_memory():
    return open("/proc/%d/mem" % os.getppid(), "rb")

def changes_a_mode():
    os.chmod(told["folder"] + "/secret", 0o600)
    return True

def makes_a_link():
    os.link(told["folder"] + "/secret", "link")
    return True

def connects():
    return socket.create_connection(("127.0.0.1", told["port"]), timeout=1)

def sends_a_datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", told["port"]))
    return True

def connects_by_name():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0" + told["name"])
    return True

def sends_by_name():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b"x", "\\0" + told["name"] + "d")
    return True

def forks():
    if os.fork() == 0:
        os._exit(0)
    return True

def executes():
    said = json.dumps({"ran": ["executes", "a thread"], "out": ["executes"]})
    os.execv(sys.executable, [sys.executable, "-c", f"print({said!r})"])

def signals_the_trainer():
    os.kill(told["trainer"], 0)
    return True

def signals_the_worker():
    os.kill(os.getppid(), 0)
    return True

def signals_all():
    return system_call(62, -1, 0)

def has_a_signal_sent():
    import fcntl
    a, b = socket.socketpair()
    fcntl.fcntl(a, fcntl.F_SETOWN, os.getppid())
    return True

def raises_a_limit():
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard + (1 << 30), hard + (1 << 30)))
    return True

def becomes_root():
    os.setuid(0)
    return os.getuid() == 0 and told["uid"] != 0

def outlives():
    return system_call(157, 1, 0, 0, 0, 0)

def makes_a_namespace():
    return system_call(272, 0x10000000)

def traces():
    return system_call(101, 16, os.getppid(), 0, 0)

def reads_by_number():
    return system_call(310, os.getppid(), 0, 0, 0, 0, 0) or system_call(438, 0, 0, 0)

def uses_the_kernels_rings():
    return system_call(425, 4, 0) or system_call(321, 0, 0, 0) or system_call(323, 0)

def uses_another_table():
    return system_call(0x40000000 + 39)

ran = []
out = []
for name, attempt in list(globals().items()):
    if name in told["attempts"]:
        ran.append(name)
        try:
            if attempt():
                out.append(name)
        except BaseException:
            pass
thread = threading.Thread(target=ran.append, args=("a thread",))
thread.start()
thread.join()
with open("scratch", "w") as file:
    file.write("x" * 1000)
print(json.dumps({"ran": ran, "out": out}))
"""
# Each in a process of its own: one where it gets out, one where it does not, would end the others.
_ALONE = ("executes", "uses_another_table")


def attempts() -> list[str]:
    """Returns the names of all attempts, in their order."""
    # Those are the functions without arguments.
    lines = _ATTEMPTS.splitlines()
    return [line[4:-3] for line in lines if line.startswith("def ") and line.endswith("():")]


@dataclass(frozen=True)
class _Outside:
    """What the attempts are made on: a folder, a port, names of sockets."""

    folder: str
    port: int
    name: str
    sockets: tuple[socket.socket, ...]

    def seen(self) -> list[str]:
        """What can be seen from outside of attempts that got out."""
        seen = []
        if sorted(os.listdir(self.folder)) != ["secret"]:
            seen.append("writes_outside")
        if os.stat(f"{self.folder}/secret").st_mode & 0o777 != 0o666:
            seen.append("changes_a_mode")
        for place, name in zip(
            self.sockets,
            ("connects", "sends_a_datagram", "connects_by_name", "sends_by_name"),
            strict=True,
        ):
            place.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                if place.type == socket.SOCK_STREAM:
                    place.accept()[0].close()
                else:
                    place.recv(1)
                seen.append(name)
        return seen


@contextlib.contextmanager
def _outside() -> Iterator[_Outside]:
    folder = tempfile.mkdtemp(prefix="grpo-canary-")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o777)
        with open(f"{folder}/secret", "w", encoding="ascii") as file:
            file.write("secret")
        os.chmod(f"{folder}/secret", 0o666)
        name = f"grpo-canary-{secrets.token_hex(8)}"
        made = []
        for family, kind in (
            (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_INET, socket.SOCK_DGRAM),
            (socket.AF_UNIX, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_DGRAM),
        ):
            made.append(stack.enter_context(socket.socket(family, kind)))
        made[0].bind(("127.0.0.1", 0))
        port = made[0].getsockname()[1]
        with contextlib.suppress(OSError):
            made[1].bind(("127.0.0.1", port))
        made[2].bind(f"\0{name}")
        made[3].bind(f"\0{name}d")
        made[0].listen(5)
        made[2].listen(5)
        yield _Outside(folder, port, name, tuple(made))


def escapes(worker: Worker) -> list[str]:
    """Returns the attempts that got out of a worker's walls; empty if it holds.

    Raises:
        BoxFailed: The worker does not work at all.
    """
    every = attempts()
    with _outside() as outside:
        told = {
            "folder": outside.folder,
            "port": outside.port,
            "name": outside.name,
            "trainer": os.getpid(),
            "uid": os.getuid(),
            "hidden": worker.hidden,
        }
        out: list[str] = []
        together = [name for name in every if name not in _ALONE]
        for names in (together, *([name] for name in _ALONE)):
            stdin = json.dumps({**told, "attempts": names}).encode()
            ran = worker.run(Program(_ATTEMPTS, stdin, "canaries.py"), _LIMITS).ran
            if names == ["uses_another_table"] and ran.signal is not None:
                continue
            try:
                said = json.loads(ran.stdout)
                if said["ran"] != [*names, "a thread"]:
                    raise ValueError(said["ran"])
                out += said["out"]
            except (ValueError, KeyError, TypeError):
                text = ran.stderr.decode(errors="replace").strip()[-300:]
                out.append(f"the attempts did not come to their end ({text or ran.limit})")
        return list(dict.fromkeys([*out, *outside.seen()]))
