"""Namespaces: a worker that has its own users, processes, network and files, entered once.

The root of its files is an empty tmpfs into which what an interpreter reads is bound read-only, so
that not even the names of other files are there.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator, Sequence
from typing import NoReturn

from grpo_reward_code.sandbox import identity, syscalls

# The user of programs, as they see it.
INSIDE_UID = 1000
_MOST_INODES = 2000
_STAGE = "/tmp"
# As on every Linux: some programs open("/dev/stdin").
_STREAMS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
)

_NEW_NS, _NEW_CGROUP, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (
    0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = (
    1, 2, 4, 8, 32, 4096, 16384, 1 << 18,
)  # fmt: skip
_DETACH = 2
# Flags of a mount that a user namespace may not take off, as statvfs and mount(2) name them.
_LOCKED = ((4, _NODEV), (8, _NOEXEC), (1024, 1024), (2048, 2048))  # noatime, nodiratime


@contextlib.contextmanager
def _step(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        code = error.errno or 0
        raise OSError(code, f"{name}: {os.strerror(code)}") from error


def enter(uid_of_programs: int, trainer: int, other: int) -> None:
    """Enters new namespaces; returns in a process that is the first one in them.

    The process that called stays outside, and ends the inner one when the trainer is gone.

    Args:
        uid_of_programs: User outside that programs are to be, where this process is root.
        trainer: Descriptor of the trainer's process.
        other: Descriptor that the outer process must not hold.

    Raises:
        OSError: The kernel refused; the text names the step.
    """
    with _step("unshare of the user namespace"):
        _new_user(uid_of_programs)
    with _step("unshare of the namespaces of processes, network, files and IPC"):
        flags = _NEW_PID | _NEW_NS | _NEW_NET | _NEW_IPC | _NEW_UTS | _NEW_CGROUP
        syscalls.call(syscalls.UNSHARE, flags)
    pid = os.fork()
    if pid:
        os.close(other)
        _keep(pid, trainer)
    identity.die_with_parent(signal.SIGKILL)


def _new_user(uid_of_programs: int) -> None:
    """A user namespace; of root, one with a second user, which programs are."""
    uid, gid = os.getuid(), os.getgid()
    inside = INSIDE_UID if uid else 0
    told, tell = os.pipe()
    me = os.getpid()
    # Only a process outside may map more than its own user.
    helper = os.fork() if uid == 0 else 0
    if uid == 0 and helper == 0:
        with contextlib.suppress(OSError):
            os.close(tell)
            os.read(told, 1)
            for kind in ("uid", "gid"):
                _write(f"/proc/{me}/{kind}_map", f"0 0 1\n{INSIDE_UID} {uid_of_programs} 1")
            os._exit(0)
        os._exit(1)
    os.close(told)
    try:
        syscalls.call(syscalls.UNSHARE, _NEW_USER)
    finally:
        os.close(tell)
        status = os.waitpid(helper, 0)[1] if helper else 1
    if status != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{inside} {uid} 1")
        _write("/proc/self/gid_map", f"{inside} {gid} 1")


def _write(path: str, text: str) -> None:
    # One write: the kernel takes a map only whole.
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _keep(pid: int, trainer: int) -> NoReturn:
    """Waits for the inner process; ends it when the trainer is gone."""
    inner = syscalls.pidfd_open(pid)
    poller = select.poll()
    poller.register(inner, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    if any(fd == trainer for fd, _ in poller.poll()):
        syscalls.kill(inner)
    os.waitpid(pid, 0)
    os._exit(0)


def new_root(paths: Sequence[str], hidden: Sequence[str], scratch: str) -> None:
    """Leaves only these paths, read-only, an empty folder for scratch and an own /proc.

    Args:
        paths: What is there.
        hidden: Folders beneath them that are empty.
        scratch: The folder for scratch.

    Raises:
        OSError: The kernel refused; the text names the step.
    """
    with _step("mount of a private root"):
        _mount(None, "/", None, _REC | _PRIVATE)
        _mount("tmpfs", _STAGE, "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m,nr_inodes=2000")
        os.mkdir(f"{_STAGE}/old")
    with _step("pivot_root"):
        syscalls.call(syscalls.PIVOT_ROOT, _STAGE.encode(), f"{_STAGE}/old".encode())
        os.chdir("/")
    found = {path: real for path in paths if (real := _resolved(path))}
    # A folder before what is in it, which then is there already.
    for real in sorted(set(found.values())):
        with _step(f"bind of {real}"):
            _bind(real)
    for path, real in found.items():
        if path != real and not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(real, path)
    for folder in hidden:
        if os.path.isdir(folder):
            with _step(f"cover of {folder}"):
                flags = _RDONLY | _NOSUID | _NODEV | _NOEXEC
                _mount("tmpfs", folder, "tmpfs", flags, "mode=755,size=4k,nr_inodes=2")
    os.makedirs("/dev", exist_ok=True)
    for name, target in _STREAMS:
        if not os.path.lexists(f"/dev/{name}"):
            os.symlink(target, f"/dev/{name}")
    os.makedirs(scratch, exist_ok=True)
    os.makedirs("/proc", exist_ok=True)
    # Containers that hide parts of /proc refuse a new one; only threads are counted with it.
    with contextlib.suppress(OSError):
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    with _step("umount of the old root"):
        _umount("/old")
        os.rmdir("/old")
        _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _bind(real: str) -> None:
    """Binds a path of the old root at the same place, read-only."""
    if os.path.lexists(real):
        return
    source = f"/old{real}"
    os.makedirs(os.path.dirname(real), exist_ok=True)
    if os.path.isdir(source):
        os.mkdir(real)
    else:
        os.close(os.open(real, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, real, None, _BIND | _REC)
    held = os.statvfs(real).f_flag
    flags = sum(flag for seen, flag in _LOCKED if held & seen)
    _mount(None, real, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | flags)


def _resolved(path: str) -> str | None:
    """Where a path of the old root leads, seen from there; None if nowhere."""
    left, at = [part for part in path.split("/") if part], ""
    for _ in range(200):
        if not left:
            return at
        part = left.pop(0)
        if part == "..":
            at = os.path.dirname(at)
            continue
        here = f"{at}/{part}"
        try:
            target = os.readlink(f"/old{here}")
        except OSError:
            if not os.path.lexists(f"/old{here}"):
                return None
            at = here
            continue
        parts = [p for p in target.split("/") if p not in ("", ".")]
        left = parts + left
        if target.startswith("/"):
            at = ""
    return None


def new_scratch(folder: str, size: int) -> None:
    """Mounts an empty folder of at most this many bytes."""
    _mount(
        "tmpfs", folder, "tmpfs", _NOSUID | _NODEV | _NOEXEC,
        f"mode=1777,size={size},nr_inodes={_MOST_INODES}",
    )  # fmt: skip


def drop_scratch(folder: str) -> None:
    """Takes the folder's mount away, with all that is in it."""
    _umount(folder)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    syscalls.call(
        syscalls.MOUNT,
        source.encode() if source else None,
        target.encode(),
        kind.encode() if kind else None,
        flags,
        data.encode() if data else None,
    )


def _umount(target: str) -> None:
    syscalls.call(syscalls.UMOUNT2, target.encode(), _DETACH)
