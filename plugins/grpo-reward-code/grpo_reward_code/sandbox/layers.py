"""Which walls there are here: the layers, and what the locked process is told of them."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Sequence
from typing import Any


def settings(layer: str, preload: Sequence[str]) -> dict[str, Any]:
    """Returns what a locked process of this layer is told."""
    packages = []
    if preload:
        packages = [p for p in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))]
    stdlib = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    readable = [
        *stdlib,
        *packages,
        "/lib", "/lib64", "/usr/lib", "/usr/lib64",
        "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo",
        "/dev/urandom", "/dev/random", "/dev/zero",
    ]
    return {
        "layer": layer,
        "packages": list(dict.fromkeys(packages)),
        "preload": list(preload),
        "readable": readable,
        "writable": ["/dev/null"],
        "folder": "/",
    }
