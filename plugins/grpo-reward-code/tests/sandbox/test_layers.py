"""Which layer is in force, on hosts of several kinds, and what is said where none holds."""

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from grpo_reward_code.sandbox import canaries, layers
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, NoIsolation, Program
from grpo_reward_code.sandbox.worker import Worker

HERE = Path(__file__).parent
REFUSING = str(HERE / "refusing.py")
SYSTEM_PYTHON = "/usr/bin/python3"

SCRIPT = """
import sys
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import NoIsolation, Program
try:
    boxes = Boxes(1, layer=sys.argv[1])
except NoIsolation as error:
    print(error)
    sys.exit(3)
ran = boxes.run(Program("open('f', 'w').write('x'); print(int(input()) + 1)", b"4"), Limits())
print(boxes.layer, ran.stdout, ran.exit_code, ran.stderr.decode())
boxes.close()
"""


def run_script(before=(), python=sys.executable, layer="auto", **env):
    return subprocess.run(
        [*before, python, "-c", SCRIPT, layer],
        capture_output=True,
        text=True,
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ} | env,
        cwd=env.get("PYTHONPATH"),
        timeout=300,
    )


def test_namespaces_are_chosen_where_there_are_any():
    ran = run_script()
    if ran.returncode == 3:
        pytest.skip(ran.stdout)
    assert ran.stdout.strip() in ("ns b'5\\n' 0", "lock b'5\\n' 0")


def test_where_namespaces_are_refused_the_lock_holds():
    ran = run_script([sys.executable, REFUSING])
    assert ran.stdout.strip() == "lock b'5\\n' 0", ran.stderr


def test_namespaces_that_are_asked_for_by_name_are_not_replaced():
    ran = run_script([sys.executable, REFUSING], layer="ns")
    assert ran.returncode == 3
    assert "ns: PermissionError: [Errno 1] unshare of the user namespace" in ran.stdout


def test_where_nothing_holds_the_error_says_what_was_tried_and_what_to_do():
    ran = run_script([sys.executable, REFUSING, "--landlock"])
    assert ran.returncode == 3
    lines = ran.stdout.splitlines()
    assert lines[0] == "no isolation for the programs of rewards; tried"
    assert lines[1].startswith("  ns: PermissionError: [Errno 1] unshare of the user namespace")
    assert lines[2].startswith("  lock: PermissionError: [Errno 1] system call 444")
    assert lines[3].startswith("Ways out: a kernel with Landlock")


def as_nobody(tmp_path):
    """A command line that drops to an unprivileged user, and its Python and path."""
    if os.getuid() != 0 or not shutil.which("setpriv") or not os.path.exists(SYSTEM_PYTHON):
        pytest.skip("needs root, setpriv and a Python that others may run")
    version = subprocess.run([SYSTEM_PYTHON, "-V"], capture_output=True, text=True).stdout.split()
    if tuple(map(int, version[1].split(".")[:2])) < (3, 11):
        pytest.skip("the system's Python is too old")
    # Others may not read the checkout.
    package = tmp_path / "grpo_reward_code"
    shutil.copytree(HERE.parents[1] / "grpo_reward_code" / "sandbox", package / "sandbox")
    (package / "__init__.py").touch()
    core = tmp_path / "grpo_core"
    core.mkdir()
    (core / "__init__.py").write_text("class GrpoError(Exception): pass\n")
    shutil.copy(REFUSING, tmp_path)
    for path in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(PermissionError):
            os.chmod(path, path.stat().st_mode | 0o055)
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], str(tmp_path)


@pytest.mark.parametrize(("is_refused", "layer"), [(False, "ns"), (False, "lock"), (True, "lock")])
def test_an_unprivileged_user(tmp_path, is_refused, layer):
    before, path = as_nobody(tmp_path)
    if is_refused:
        before += [SYSTEM_PYTHON, f"{path}/refusing.py"]
    ran = run_script(before, SYSTEM_PYTHON, "auto" if is_refused else layer, PYTHONPATH=path)
    assert ran.stdout.strip() == f"{layer} b'5\\n' 0", ran.stderr


def test_root_with_the_capabilities_of_a_container():
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    kept = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+mknod"
    ran = run_script(["setpriv", "--bounding-set", kept, sys.executable, REFUSING])
    assert ran.stdout.strip() == "lock b'5\\n' 0", ran.stderr


def test_a_program_of_root_is_not_root(boxes):
    ran = boxes.run(Program("import os; print(os.getuid(), os.getgid(), os.getgroups())"), Limits())
    uid = ran.stdout.split()[0]
    assert (uid == b"0") is False


def test_the_attempts_get_out_where_there_are_no_walls():
    with contextlib.closing(layers.start("unsafe", ())) as worker:
        out = canaries.escapes(worker)
    assert {
        "writes_outside", "reads_a_file", "lists_a_folder", "changes_a_mode", "connects",
        "sends_a_datagram", "connects_by_name", "forks", "executes", "signals_the_trainer",
        "signals_the_worker", "has_a_signal_sent", "outlives",
    } <= set(out)  # fmt: skip


def test_a_layer_with_a_hole_is_not_chosen(monkeypatch):
    monkeypatch.setattr(canaries, "escapes", lambda worker: ["forks"])
    with pytest.raises(NoIsolation, match="lock: it does not hold: forks"):
        Boxes(1)


def test_a_layer_in_which_programs_do_not_work_is_not_chosen(monkeypatch):
    monkeypatch.setattr(canaries, "_LIMITS", Limits(output_bytes=5))
    with pytest.raises(NoIsolation, match=r"the attempts did not come to their end .output."):
        Boxes(1, layer="lock")


def test_unsafe_is_only_chosen_by_name_and_said_aloud(caplog, monkeypatch):
    with contextlib.closing(Boxes(1, layer="unsafe")) as boxes:
        assert boxes.layer == "unsafe"
        assert boxes.run(Program("print(1)"), Limits()).stdout == b"1\n"
    assert "NO isolation" in caplog.text
    monkeypatch.setenv(layers.VARIABLE, "unsafe")
    with contextlib.closing(Boxes(1)) as boxes:
        assert boxes.layer == "unsafe"
    with contextlib.closing(Boxes(1, layer="lock")) as boxes:
        assert boxes.layer == "lock"


def test_unsafe_leaves_no_processes():
    source = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        time.sleep(60)
print("done")
"""
    with contextlib.closing(Boxes(1, layer="unsafe")) as boxes:
        ran = boxes.run(Program(source), Limits())
        assert (ran.stdout, ran.exit_code) == (b"done\n", 0)
        assert ran.wall_s < 30  # of the 60 s that they take


def test_the_layer_is_logged(caplog):
    caplog.set_level("INFO", "grpo_reward_code")
    with contextlib.closing(Boxes(1, layer="lock")):
        assert "programs run in layer 'lock'" in caplog.text


@pytest.mark.parametrize("layer", ["", "docker", "NS"])
def test_a_layer_that_is_none(layer, monkeypatch):
    monkeypatch.delenv(layers.VARIABLE, raising=False)
    with pytest.raises(ValueError, match="expected one of auto, ns, lock, unsafe, got"):
        Boxes(1, layer=layer)
    monkeypatch.setenv(layers.VARIABLE, "docker")
    with pytest.raises(ValueError, match=f"environment variable {layers.VARIABLE}: expected one"):
        Boxes(1)


@pytest.mark.parametrize(
    ("system", "machine", "text"),
    [
        ("darwin", "arm64", "programs of rewards run on Linux only, this is"),
        ("win32", "AMD64", "programs of rewards run on Linux only, this is"),
        ("linux", "aarch64", "the filter of system calls is written for x86-64, this is"),
    ],
)
def test_other_machines_are_refused(monkeypatch, system, machine, text):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(NoIsolation, match=text):
        Boxes(1)


def test_slots_that_are_none():
    with pytest.raises(ValueError, match="slots: expected a number above 0, got 0"):
        Boxes(0)


def test_a_module_that_is_not_there():
    with pytest.raises(ValueError, match=r"preload: expected modules .* got 'no_such_module'"):
        Boxes(1, preload=["no_such_module"])


def test_libraries_of_the_interpreter_are_found(boxes, tmp_path, monkeypatch):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libx.so").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"relative::/:{tmp_path}/lib")
    source = f"import os; print(dict(os.environ), open('{tmp_path}/lib/libx.so').read())"
    with contextlib.closing(Boxes(1, layer=boxes.layer)) as own:
        assert own.run(Program(source), Limits()).stdout == b"{} no library\n"
        assert own.run(Program("open('/etc/passwd')"), Limits()).exit_code == 1


def test_preloaded_modules_are_there_and_whole(boxes):
    pytest.importorskip("numpy")
    source = textwrap.dedent("""
        import sys
        print("numpy" in sys.modules)
        import numpy as np
        print(np.arange(6).reshape(2, 3).sum(), np.linalg.inv(np.eye(3) * 2)[0, 0])
        import numpy.polynomial
        print(len(np.random.default_rng(1).normal(size=5)), float(np.zeros((1000, 1000)).sum()))
    """)
    with contextlib.closing(Boxes(1, layer=boxes.layer, preload=["numpy"])) as own:
        ran = own.run(Program(source), Limits())
        assert (ran.stdout, ran.stderr) == (b"True\n15 0.5\n5 0.0\n", b"")
        ran = own.run(Program("import numpy as np; np.ones(1 << 30)"), Limits())
        assert (ran.limit, ran.exit_code) == ("memory", 1)


def test_random_numbers_of_numpy_differ(boxes):
    pytest.importorskip("numpy")
    source = "import numpy as np; print(np.random.random())"
    with contextlib.closing(Boxes(1, layer=boxes.layer, preload=["numpy"])) as own:
        assert len({own.run(Program(source), Limits()).stdout for _ in range(4)}) == 4


def test_a_module_that_starts_a_thread_is_told(boxes, tmp_path, monkeypatch):
    (tmp_path / "threaded.py").write_text(
        "import threading as t, time\nt.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoIsolation, match="started a thread"):
        Boxes(1, layer=boxes.layer, preload=["threaded"])


def test_a_module_from_elsewhere(boxes, tmp_path, monkeypatch):
    (tmp_path / "of_mine.py").write_text("value = 5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with contextlib.closing(Boxes(1, layer=boxes.layer, preload=["of_mine"])) as own:
        assert own.run(Program("import of_mine; print(of_mine.value)"), Limits()).stdout == b"5\n"


def test_a_module_that_fails_is_told(boxes, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoIsolation, match="ZeroDivisionError"):
        Boxes(1, layer=boxes.layer, preload=["broken"])


def test_a_wall_that_cannot_be_built_is_no_verdict(monkeypatch):
    told = layers.settings("lock", ())
    os.rmdir(told["folder"])
    told["folder"] = "/no/such/folder"
    with pytest.raises(BoxFailed):
        Worker(told)
