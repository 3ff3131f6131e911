"""Which walls there are here: the layers, and the strongest that holds."""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import platform
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from typing import Any

from grpo_reward_code.sandbox import canaries, packages
from grpo_reward_code.sandbox.program import BoxFailed, NoIsolation
from grpo_reward_code.sandbox.worker import Worker

LAYERS = ("auto", "ns", "lock", "unsafe")
"""`ns`: namespaces and all of `lock`. `lock`: Landlock, seccomp, resource limits. `unsafe`: limits
alone, never chosen by itself. `auto`: the first of `ns` and `lock` that holds."""
VARIABLE = "GRPO_REWARD_CODE_LAYER"
"""Environment variable that says what `auto` is."""

# A user that nobody is; the numbers of process and worker make it one that no other worker has.
_FIRST_UID = 1_500_000_000
_SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip
_SHARED, _LARGE = "/dev/shm", 1 << 30
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_WAYS_OUT = (
    "Ways out: a kernel with Landlock (5.13 or later, `landlock` among its security modules, which "
    "most distributions have); in a container, a seccomp profile that lets the landlock_* calls "
    "through; another machine for the rewards. For code "
    f'that you trust as your own, layer = "unsafe" or {VARIABLE}=unsafe runs it with limits only.'
)

_log = logging.getLogger("grpo_reward_code")
_numbers = itertools.count()


def asked(layer: str) -> str:
    """Returns the layer that is asked for, with the environment's say where that is `auto`.

    Raises:
        ValueError: There is no such layer.
    """
    where = "layer"
    if layer == "auto" and (said := os.environ.get(VARIABLE)):
        layer, where = said, f"environment variable {VARIABLE}"
    if layer not in LAYERS:
        raise ValueError(f"{where}: expected one of {', '.join(LAYERS)}, got {layer!r}")
    return layer


def choose(layer: str, preload: Sequence[str]) -> tuple[str, Worker]:
    """Returns the strongest layer that holds, and a worker of it.

    Args:
        layer: One of `LAYERS`.
        preload: Modules that workers import before the first program.

    Raises:
        ValueError: There is no such layer, or a module to preload cannot be imported.
        NoIsolation: None holds, or not on this kind of machine.
    """
    layer = asked(layer)
    _refuse_elsewhere(layer)
    _refuse_missing(preload)
    if layer == "unsafe":
        _log.warning(
            'layer "unsafe": programs run with resource limits and NO isolation; they can read '
            "and change whatever this user can"
        )
        return layer, start(layer, preload)
    tried = []
    for name in ("ns", "lock") if layer == "auto" else (layer,):
        try:
            worker = start(name, preload)
            out = canaries.escapes(worker)
        except BoxFailed as error:
            tried.append(f"{name}: {error}")
            continue
        if not out:
            _log.info("programs run in layer %r%s", name, _instead(tried))
            return name, worker
        worker.close()
        tried.append(f"{name}: it does not hold: {', '.join(out)}")
    lines = "".join(f"\n  {line}" for line in tried)
    raise NoIsolation(f"no isolation for the programs of rewards; tried{lines}\n{_WAYS_OUT}")


def start(layer: str, preload: Sequence[str]) -> Worker:
    """Returns a new worker of a layer.

    Raises:
        BoxFailed: It did not start; the text says which step failed.
    """
    return Worker(settings(layer, preload))


def settings(layer: str, preload: Sequence[str]) -> dict[str, Any]:
    """Returns what a locked process is told."""
    others = [name for name in preload if not _is_here(name)]
    kept = packages.on_path() if others else []
    interpreter = [
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        os.path.join(sys.base_prefix, "lib"),
    ]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    libraries = [path for path in libraries if os.path.isabs(path) and path.strip("/")]
    readable = [*interpreter, *kept, *_preloaded(others), *libraries, *_SYSTEM]
    readable = [path for path in dict.fromkeys(readable) if os.path.exists(path)]
    hidden = packages.hidden(readable, kept)
    if layer == "ns":
        # A mount there would hide what is below it.
        is_free = not any(os.path.realpath(p).startswith("/tmp/") for p in readable)
        folder = "/tmp" if is_free else "/box"
    else:
        folder = tempfile.mkdtemp(prefix=f"grpo-box-{os.getpid()}-", dir=_where_files_are_quick())
    return {
        "layer": layer,
        "packages": [*kept, *(os.path.dirname(p) for p in _preloaded(others))],
        "preload": list(preload),
        "readable": readable,
        "hidden": hidden,
        "devices": [path for path in _DEVICES if os.path.exists(path)],
        "folder": folder,
        "uid": _FIRST_UID + (os.getpid() * 256 + next(_numbers) % 256) % 500_000_000,
    }


def _is_here(name: str) -> bool:
    """True of modules of the standard library and of this package: they need no further folder."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top == __name__.partition(".")[0]


def _where_files_are_quick() -> str | None:
    """The folder of shared memory where it is large; else the usual one.

    Some file systems take milliseconds to remove a folder. Small shared memory, as containers have
    it, is left to the trainer.
    """
    try:
        room = os.statvfs(_SHARED)
    except OSError:
        return None
    is_large = room.f_bavail * room.f_frsize >= _LARGE
    return _SHARED if is_large and os.access(_SHARED, os.W_OK | os.X_OK) else None


def _refuse_elsewhere(layer: str) -> None:
    here = f"{platform.system()} on {platform.machine()}"
    if sys.platform != "linux":
        raise NoIsolation(
            f"programs of rewards run on Linux only, this is {here}: train on Linux, in a "
            "container or a virtual machine, or leave the code rewards out"
        )
    if layer != "unsafe" and (platform.machine() != "x86_64" or sys.maxsize < 1 << 32):
        raise NoIsolation(
            f"the filter of system calls is written for x86-64, this is {here}: score on another "
            f'machine. For code that you trust as your own: layer = "unsafe" or {VARIABLE}=unsafe'
        )


def _refuse_missing(preload: Sequence[str]) -> None:
    for name in preload:
        try:
            found = importlib.util.find_spec(name.partition(".")[0])
        except (ImportError, ValueError):
            found = None
        if found is None:
            raise ValueError(
                f"preload: expected modules that can be imported, got {name!r}; install it or take "
                "it off the list"
            )


def _instead(tried: Sequence[str]) -> str:
    return f" ({'; '.join(tried)})" if tried else ""


def _preloaded(preload: Sequence[str]) -> list[str]:
    """Where the modules themselves are, if elsewhere (an editable installation)."""
    places: list[str] = []
    inside = tuple(
        f"{path}{os.sep}" for path in (*packages.on_path(), sysconfig.get_path("stdlib"))
    )
    for name in preload:
        spec = importlib.util.find_spec(name.partition(".")[0])
        if spec is not None:
            found = spec.submodule_search_locations or [spec.origin or ""]
            places += [place for place in found if place and not place.startswith(inside)]
    return places
