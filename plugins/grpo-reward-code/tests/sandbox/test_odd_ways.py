"""Attacks that came to mind after the walls stood; each found something or might have."""

import os
import textwrap
import time

from grpo_reward_code.sandbox.limits import Limits


def test_a_main_thread_that_leaves_the_others_behind(run):
    source = """
import ctypes, threading, time
libc = ctypes.CDLL(None)
threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
threading.Thread(target=time.sleep, args=(60,)).start()
libc.syscall(60, 0)
"""
    ran = run(source, limits=Limits(cpu_s=0.4))
    assert ran.limit in ("cpu", "wall")
    assert ran.wall_s < 15


def test_a_program_that_stops_itself(run):
    ran = run("import os; os.kill(os.getpid(), 19)", limits=Limits(cpu_s=0.2))
    assert (ran.limit, ran.signal) == ("wall", 9)


def test_no_filter_and_no_name_of_the_peer_by_socket_options(run):
    source = """
import socket, struct
a, b = socket.socketpair()
for level, name in ((1, 26), (1, 50), (1, 51), (1, 52), (1, 16), (1, 76)):
    try:
        a.setsockopt(level, name, struct.pack("HxxxxxxQ", 1, 0)); print("set", name)
    except OSError: pass
for name in (17, 26, 31, 59, 77):
    try:
        a.getsockopt(1, name, 64); print("got", name)
    except OSError: pass
a.settimeout(0.1); a.setsockopt(1, 7, 9000)
print(a.getsockopt(1, 3), socket.socket(fileno=a.detach()).type)
"""
    assert run(source).stdout == b"1 1\n"


def test_a_link_to_a_file_that_cannot_be_read(run, outside):
    source = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for path in ("/etc/passwd", {str(outside / "secret")!r}):
    try:
        fd = os.open(path, os.O_PATH)
    except OSError:
        continue
    for old, flags in ((b"", 0x1000), (b"/proc/self/fd/%d" % fd, 0x400)):
        if libc.linkat(fd, old, -100, b"taken", flags) == 0:
            print("linked", open("taken").read())
    try: print(os.read(fd, 5))
    except OSError: pass
    try: print(os.fchmod(fd, 0))
    except OSError: pass
"""
    assert run(source).stdout == b""


def test_a_folder_by_descriptor_opens_nothing(run):
    source = """
import os
for path in ("/", "/etc", "/proc", "/root"):
    try:
        fd = os.open(path, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        continue
    for name in ("etc/passwd", "passwd", "self/maps", "1/environ", ".."):
        try: print(path, name, os.open(name, os.O_RDONLY, dir_fd=fd))
        except OSError: pass
    try: os.fchdir(fd); print(os.listdir("."))
    except OSError: pass
"""
    assert run(source).stdout == b""


def test_the_null_device_is_one(run):
    source = """
print(open("/dev/null", "w").write("x"), open("/dev/null").read())
print(len(open("/dev/urandom", "rb").read(3)))
"""
    assert run(source).stdout == b"1 \n3\n"


def test_a_flood_of_single_bytes_costs_the_caller_little(run):
    source = """
import os, threading
def flood():
    while True: os.write(1, b"z")
for _ in range(3): threading.Thread(target=flood).start()
"""
    before = time.process_time()
    run(source, limits=Limits(cpu_s=1.0, output_bytes=500_000))
    assert time.process_time() - before < 0.3


def test_signals_in_a_flood(run):
    source = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for _ in range(5000):
    try: os.kill(os.getpid(), 40)
    except OSError: pass
print("end")
"""
    assert run(source).stdout == b"end\n"


def test_memory_by_sockets_and_pipes(run):
    source = """
import os, socket
keep = []
total = 0
try:
    while True:
        pair = socket.socketpair()
        pair[0].setblocking(False)
        keep.append(pair)
        try:
            while True: total += pair[0].send(bytes(1 << 16))
        except BlockingIOError: pass
except OSError: pass
print(total < 40_000_000)
"""
    assert run(source).stdout == b"True\n"


def test_the_kernel_ends_programs_before_the_trainer_when_memory_is_short(boxes):
    from pathlib import Path

    def score(pid):
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    workers = [pid for pid in children if "zygote" in Path(f"/proc/{pid}/cmdline").read_text()]
    assert workers
    assert all(score(pid) > score("self") for pid in workers)


def test_a_worker_folder_is_not_followed_out_of_by_links(run, outside):
    os.chmod(outside / "secret", 0o644)
    source = f"""
import os
os.mkdir("a", 0); os.mkdir("b"); os.symlink({str(outside)!r}, "b/door")
os.symlink({str(outside / "secret")!r}, "b/file"); os.symlink({str(outside)!r}, "c")
os.mkdir("d"); os.symlink("..", "d/up")
"""
    assert run(source).exit_code == 0
    assert run("import os; print(os.listdir('.'))").stdout == b"[]\n"
    assert [p.name for p in outside.iterdir()] == ["secret"]
    assert (outside / "secret").stat().st_mode & 0o777 == 0o644
    assert outside.stat().st_mode & 0o777 == 0o777


def test_no_core_is_dumped(run):
    ran = run(
        "import ctypes, resource; print(resource.getrlimit(4), flush=True); ctypes.string_at(0)"
    )
    assert ran.stdout == b"(0, 0)\n"


def test_time_cannot_be_bought_by_sleeping_in_bursts(run):
    source = textwrap.dedent("""
        import time
        while True:
            end = time.perf_counter() + 0.002
            while time.perf_counter() < end: pass
            time.sleep(0.001)
    """)
    tries = [run(source, limits=Limits(cpu_s=0.3, wall_factor=100)) for _ in range(3)]
    assert {ran.limit for ran in tries} == {"cpu"}
    # Who watches may be given no time for once; then the kernel ends the program, at 2 s.
    assert min(ran.cpu_s for ran in tries) < 1.5
