"""Attempts to get out, each with its own way; the canaries of the package are tested elsewhere."""

import os
import socket
import sysconfig
import textwrap
import threading

import pytest
from grpo_reward_code.sandbox import packages, syscalls
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program

HEAD = """
import ctypes, errno, fcntl, os, resource, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    passed = [a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *passed)
    return result if result >= 0 else -ctypes.get_errno()
def refused(number, *arguments):
    code = call(number, *arguments)
    print("refused" if code in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES) else code)
"""


@pytest.fixture
def attack(run):
    def attack(source):
        return run(HEAD + textwrap.dedent(source))

    return attack


CHECKED_BY_ARGUMENTS = {
    syscalls.MMAP, syscalls.IOCTL, syscalls.SOCKETPAIR, syscalls.CLONE, syscalls.KILL,
    syscalls.FCNTL, syscalls.TRUNCATE, syscalls.PRCTL, syscalls.TGKILL, syscalls.PRLIMIT64,
    syscalls.SETSOCKOPT, syscalls.GETSOCKOPT,
}  # fmt: skip


def test_every_system_call_that_is_not_on_the_list_is_refused(attack):
    allowed = {*syscalls.FREE.values(), *CHECKED_BY_ARGUMENTS}
    # uretprobe and uprobe are passed by the kernel itself, and end a program that makes them up.
    numbers = [n for n in range(600) if n not in {*allowed, 335, 336}]
    ran = attack(f"""
        wrong = [n for n in {numbers} if call(n, 0, 0, 0, 0, 0, 0) not in (-1, -38)]
        print(wrong)
    """)
    assert ran.stdout == b"[]\n"


@pytest.mark.parametrize(
    "code",
    [
        b"\xb8\x14\x00\x00\x00\xcd\x80\xc3",  # mov eax, 20; int 0x80: getpid by the 32-bit table
        b"\xb8\x02\x00\x00\x00\xcd\x80\xc3",  # fork by it
        b"\xb8\x27\x00\x00\x40\x0f\x05\xc3",  # mov eax, 0x40000027; syscall: getpid of x32
    ],
)
def test_another_table_of_system_calls_ends_the_program(attack, code):
    ran = attack(f"""
        import mmap
        m = mmap.mmap(-1, 4096, prot=7)
        m.write({code!r})
        at = ctypes.addressof(ctypes.c_char.from_buffer(m))
        print("came back", ctypes.CFUNCTYPE(ctypes.c_int)(at)())
    """)
    assert (ran.stdout, ran.signal) == (b"", 31)


@pytest.mark.parametrize(
    "line",
    [
        "refused(425, 8, 0)  # io_uring_setup",
        "refused(323, 0)  # userfaultfd",
        "refused(319, b'x', 0)  # memfd_create",
        "refused(322, 0, b'', 0, 0, 0x1000)  # execveat",
        "refused(101, 0, 0, 0, 0)  # ptrace: trace me",
        "refused(310, os.getppid(), 0, 0, 0, 0, 0)  # process_vm_readv",
        "refused(321, 0, 0, 0)  # bpf",
        "refused(250, 0, 0, 0, 0)  # keyctl",
        "refused(298, 0, 0, -1, -1, 0)  # perf_event_open",
        "refused(434, os.getppid(), 0)  # pidfd_open",
        "refused(424, 3, 9, 0, 0)  # pidfd_send_signal",
        "refused(438, 3, 0, 0)  # pidfd_getfd",
        "refused(297, os.getpid(), 0, 9, 0)  # rt_tgsigqueueinfo",
        "refused(129, os.getppid(), 9, 0)  # rt_sigqueueinfo",
        "refused(200, os.getppid(), 9)  # tkill",
        "refused(234, os.getppid(), os.getppid(), 9)  # tgkill",
        "refused(62, os.getppid(), 9)  # kill",
        "refused(62, -1, 9)  # kill all",
        "refused(62, 0, 9)  # kill the group",
        "refused(62, -os.getppid(), 9)  # kill another group",
        "refused(157, 1, 0, 0, 0, 0)  # prctl: outlive the worker",
        "refused(157, 4, 1, 0, 0, 0)  # prctl: dumpable",
        "refused(157, 36, 1, 0, 0, 0)  # prctl: adopt orphans",
        "refused(158, 0x1012, 0)  # arch_prctl: CPUID faulting",
        "refused(135, 0x0040000)  # personality: no address randomisation",
        "refused(141, 0, 0, -20)  # setpriority",
        "refused(203, 0, 8, 0)  # sched_setaffinity",
        "refused(144, 0, 1, 0)  # sched_setscheduler",
        "refused(251, 1, 0, 0)  # ioprio_set",
        "refused(240, b'/q', 0o102, 0o600, 0)  # mq_open",
        "refused(29, 5, 4096, 0o1600)  # shmget",
        "refused(68, 5, 0o1600)  # msgget",
        "refused(64, 5, 1, 0o1600)  # semget",
        "refused(294, 0)  # inotify_init1",
        "refused(300, 0, 0)  # fanotify_init",
        "refused(133, b'fifo', 0o10600, 0)  # mknod",
        "refused(161, b'.')  # chroot",
        "refused(303, -100, b'.', 0, 0, 0)  # name_to_handle_at",
        "refused(304, -100, 0, 0)  # open_by_handle_at",
        "refused(165, b'proc', b'/proc', b'proc', 0, 0)  # mount",
        "refused(430, b'tmpfs', 0)  # fsopen",
        "refused(428, -100, b'/', 1)  # open_tree",
        "refused(272, 0x10000000)  # unshare",
        "refused(308, 0, 0)  # setns",
        "refused(435, 0, 88)  # clone3",
        "refused(56, 0x11, 0, 0, 0, 0)  # clone: a process",
        "refused(56, 0x3d0f00 | 0x40000000, 0, 0, 0, 0)  # clone: thread with a namespace",
        "refused(57)  # fork",
        "refused(58)  # vfork",
        "refused(105, 0)  # setuid",
        "refused(126, 0, 0)  # capset",
        "refused(317, 1, 0, 0)  # seccomp",
        "refused(446, 3, 0)  # landlock_restrict_self",
        "refused(41, 2, 1, 0)  # socket: TCP",
        "refused(41, 40, 1, 0)  # socket: virtual machines",
        "refused(41, 16, 3, 0)  # socket: netlink",
        "refused(41, 38, 5, 0)  # socket: kernel crypto",
        "refused(53, 1, 2, 0, 0)  # socketpair of datagrams",
        "refused(53, 1, 5, 0, 0)  # socketpair of packets",
        "refused(46, 0, 0, 0)  # sendmsg: descriptors to somebody",
        "refused(47, 0, 0, 0)  # recvmsg",
        "refused(49, 0, b'x', 1)  # bind",
        "refused(42, 0, b'x', 1)  # connect",
        "refused(275, 0, 0, 1, 0, 1, 0)  # splice",
        "refused(278, 1, 0, 0, 0)  # vmsplice",
        "refused(285, 1, 0, 0, 1 << 40)  # fallocate",
        "refused(9, 0, 4096, 3, 0x40022, -1, 0)  # mmap of huge pages",
        "refused(149, 0, 4096)  # mlock",
        "refused(256, 0, 0, 0, 0)  # migrate_pages",
        "refused(237, 0, 0, 0, 0, 0)  # mbind",
        "refused(72, 1, 8, os.getppid())  # fcntl: F_SETOWN",
        "refused(72, 1, 10, 9)  # fcntl: F_SETSIG",
        "refused(72, 1, 1024, 0)  # fcntl: F_SETLEASE",
        "refused(72, 1, 1026, 1)  # fcntl: F_NOTIFY",
        "refused(72, 1, 1031, 1 << 20)  # fcntl: F_SETPIPE_SZ",
        "refused(302, os.getppid(), 0, 0, 0)  # prlimit of another process",
        "refused(312, os.getpid(), os.getppid(), 0, 0, 0)  # kcmp",
        "refused(163, b'x')  # acct",
        "refused(169, 0xfee1dead, 672274793, 0, 0)  # reboot",
        "refused(175, 0, 0, b'')  # init_module",
        "refused(172, 3)  # iopl",
        "refused(222, 1, 0, 0)  # timer_create",
    ],
)
def test_a_way_out_is_refused(attack, line):
    assert attack(line).stdout == b"refused\n", line


def test_a_terminal_gets_no_input(attack):
    # TIOCSTI, FIOSETOWN, SIOCSPGRP: no such request, as for a file that is no terminal.
    ran = attack("""
        for request in (0x5412, 0x8901, 0x8902, 0x541C):
            print(call(16, 0, request, b"x"))
    """)
    assert ran.stdout == b"-25\n" * 4


def test_only_its_own_descriptors_are_open(attack):
    ran = attack("""
        print([n for n in range(1000) if call(72, n, 1, 0) >= 0])
    """)
    assert ran.stdout == b"[0, 1, 2]\n"


def test_nothing_of_the_host_is_read(attack, outside):
    ran = attack(f"""
        for path in ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/cmdline",
                     "/proc/self/mem", "/proc/self/maps", "/sys/kernel", "/dev/mem", "/dev/kmsg",
                     "/dev/shm", "/var", "/home", "/root", "/", "/run", "/dev/tty",
                     {str(outside / "secret")!r}, {str(outside)!r}, {__file__!r}]:
            try:
                print(path, os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(9))
            except OSError:
                pass
    """)
    assert (ran.stdout, ran.exit_code) == (b"", 0)


def test_nothing_of_the_host_is_written(attack, outside):
    ran = attack(f"""
        out = {str(outside)!r}
        def attempt(f):
            try:
                f()
                print("through")
            except OSError:
                pass
        attempt(lambda: open(out + "/new", "w"))
        attempt(lambda: open(out + "/secret", "a"))
        attempt(lambda: os.truncate(out + "/secret", 0))
        attempt(lambda: os.remove(out + "/secret"))
        attempt(lambda: os.mkdir(out + "/folder"))
        attempt(lambda: os.rename(out + "/secret", "taken"))
        attempt(lambda: os.link(out + "/secret", "linked"))
        attempt(lambda: os.chmod(out + "/secret", 0))
        attempt(lambda: os.utime(out + "/secret", (0, 0)))
        attempt(lambda: os.setxattr(out + "/secret", "user.x", b"y"))
        attempt(lambda: os.mkfifo(out + "/fifo"))
        os.symlink(out, "door")
        attempt(lambda: open("door/new", "w"))
        attempt(lambda: open(os.__file__, "a"))
        attempt(lambda: os.symlink("x", os.path.dirname(os.__file__) + "/x.py"))
    """)
    assert (ran.stdout, ran.stderr) == (b"", b"")
    assert [p.name for p in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"
    assert (outside / "secret").stat().st_mode & 0o777 == 0o666


def test_a_listener_of_the_host_hears_nothing(attack):
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as named:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        named.bind(f"\0heard-{os.getpid()}")
        named.listen()
        ran = attack(f"""
            for make in (lambda: socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]})),
                         lambda: socket.socket(socket.AF_UNIX).connect("\\0heard-{os.getpid()}"),
                         lambda: os.open("/dev/tcp", 2)):
                try:
                    make(); print("through")
                except OSError:
                    pass
        """)
        assert ran.stdout == b""
        for listener in (tcp, named):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_the_environment_of_the_trainer_is_nowhere(attack, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_TRAINER", "swordfish-1234")
    ran = attack("""
        import gc
        found = [o for o in gc.get_objects() if "swordfish" in repr(o)[:100000]
                 and "found" not in repr(o)[:200]]
        print(len([o for o in found if not isinstance(o, (dict, list, tuple))]))
        print(libc.getenv(b"SECRET_OF_THE_TRAINER"), dict(os.environ))
    """)
    assert ran.stdout.splitlines()[1:] == [b"0 {}"]


def test_what_the_worker_holds_is_no_secret_and_no_descriptor(attack):
    ran = attack("""
        names = []
        frame = sys._getframe()
        while frame:
            names += [k for k, v in frame.f_locals.items() if isinstance(v, socket.socket)]
            frame = frame.f_back
        print(names, [m for m in sys.modules if m.startswith("grpo_reward_code.")])
    """)
    assert ran.stdout == b"[] []\n"


@pytest.mark.parametrize(
    "before",
    [
        "import builtins; builtins.sum = lambda *a: 99; builtins.len = None",
        "import sys; sys.setrecursionlimit(50)",
        "import random; random.seed(1); random.random = lambda: 0.5",
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "import os; os.mkdir('d'); os.chdir('d'); os.umask(0o777); open('f', 'w')",
        "import os; os.environ['X'] = '1'",
        "import sys; sys.path.insert(0, 'x'); sys.modules['json'] = None",
        "open('json.py', 'w').write('1/0'); open('sitecustomize.py', 'w').write('1/0')",
        "import gc, threading; gc.disable(); threading.stack_size(1 << 20)",
        "import os\nfor n in range(700): os.mkdir('d'); os.chdir('d')",
        "import os; os.mkdir('x', 0); os.mkdir('y'); open('y/z', 'w'); os.symlink('/', 'l')",
    ],
)
def test_nothing_is_left_for_the_next_program(run, before):
    assert run(before).exit_code == 0
    source = """
import gc, json, os, random, signal, sys, threading
print(sum([1, 2]), len("ab"), sys.getrecursionlimit(), 0 < random.random() < 1, os.listdir("."),
      signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, dict(os.environ), "x" in sys.path,
      json.dumps(1), gc.isenabled(), threading.stack_size(), oct(os.umask(0)))
"""
    ran = run(source)
    assert ran.stdout == b"3 2 1000 True [] True {} False 1 True 8388608 0o22\n", ran.stderr


def test_two_programs_at_once_do_not_meet(boxes):
    from grpo_reward_code.sandbox.boxes import Boxes
    from grpo_reward_code.sandbox.program import Program

    both = Boxes(2, layer=boxes.layer)
    source = """
import os, time
open("mine", "w").write("x")
end = time.monotonic() + 0.5
seen = set()
while time.monotonic() < end:
    seen |= set(os.listdir("."))
    time.sleep(0.01)
print(seen)
"""
    told = []
    threads = [
        threading.Thread(target=lambda: told.append(both.run(Program(source), Limits()).stdout))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both.close()
    assert told == [b"{'mine'}\n"] * 2


def test_installed_packages_cannot_be_read_without_preload(run, boxes):
    folders = sysconfig.get_path("purelib"), os.path.dirname(os.path.dirname(pytest.__file__))
    ran = run(f"""
import os, sys
for folder in {folders!r}:
    for way in (lambda: open(folder + "/pytest/__init__.py"), lambda: open(folder + "/six.py")):
        try:
            way()
            print("read")
        except OSError:
            pass
    sys.path.append(folder)
try:
    import pytest
    print("imported")
except (ImportError, PermissionError):
    print("not found")
""")
    assert ran.stdout == b"not found\n", ran.stderr
    assert boxes.run(Program("import wave, xml.dom, curses, sqlite3"), Limits()).exit_code == 0


def test_hidden_folders_leave_all_else_readable(tmp_path):
    for name in ("lib/python3/site-packages/p", "lib/python3/json", "lib/x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lib/python3/os.py").touch()
    (tmp_path / "lib/python3.1").symlink_to("python3")
    lib = str(tmp_path / "lib")

    hidden = packages.hidden([lib], [])
    assert hidden == [f"{lib}/python3/site-packages"]
    read, listed = packages.without([lib], hidden)
    assert sorted(read) == [f"{lib}/python3/json", f"{lib}/python3/os.py", f"{lib}/x"]
    assert listed == [lib, f"{lib}/python3"]
    assert packages.hidden([lib], hidden) == []
    assert packages.without([lib], []) == ([lib], [])
