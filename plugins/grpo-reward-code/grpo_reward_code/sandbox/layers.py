"""Which walls there are here: the layers, and what the locked process is told of them."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from typing import Any

NAMES = ("ns", "lock", "unsafe")
# A user that nobody is; the number of a process makes it one that no other worker has.
_FIRST_UID = 1_500_000_000
_SYSTEM = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")


def settings(layer: str, preload: Sequence[str], number: int) -> dict[str, Any]:
    """Returns what a locked process is told.

    Args:
        layer: Name of the layer.
        preload: Modules that it imports before the first program.
        number: One that no other worker of this process has.
    """
    packages = _packages(preload) if preload else []
    interpreter = [
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        os.path.join(sys.base_prefix, "lib"),
    ]
    readable = [*interpreter, *packages, *_preloaded(preload), *_SYSTEM]
    readable = [path for path in dict.fromkeys(readable) if os.path.exists(path)]
    if layer == "ns":
        # A mount there would hide what is below it.
        is_free = not any(os.path.realpath(p).startswith("/tmp/") for p in readable)
        folder = "/tmp" if is_free else "/box"
    else:
        folder = tempfile.mkdtemp(prefix="grpo-box-")
    return {
        "layer": layer,
        "packages": packages,
        "preload": list(preload),
        "readable": readable,
        "devices": [path for path in _DEVICES if os.path.exists(path)],
        "folder": folder,
        "uid": _FIRST_UID + os.getpid() * 256 % 500_000_000 + number % 256,
    }


def _packages(preload: Sequence[str]) -> list[str]:
    """Folders in which modules are installed."""
    ends = ("site-packages", "dist-packages")
    return [path for path in dict.fromkeys(sys.path) if os.path.basename(path) in ends]


def _preloaded(preload: Sequence[str]) -> list[str]:
    """Where the modules themselves are, if elsewhere (an editable installation)."""
    places = []
    for name in preload:
        spec = importlib.util.find_spec(name.partition(".")[0])
        if spec is not None:
            places += spec.submodule_search_locations or [spec.origin or ""]
    return places
