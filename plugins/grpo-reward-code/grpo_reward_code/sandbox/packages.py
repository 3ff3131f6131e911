"""Which folders of installed packages lie in what an interpreter reads, and are kept out of it."""

from __future__ import annotations

import glob
import os
import site
import sys
from collections.abc import Sequence

_ENDS = ("site-packages", "dist-packages")


def on_path() -> list[str]:
    """Folders in which modules are installed, as this process finds them."""
    return [path for path in dict.fromkeys(sys.path) if os.path.basename(path) in _ENDS]


def hidden(readable: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Real paths of the folders of packages beneath readable ones, without those that are kept."""
    found = [*on_path(), *site.getsitepackages()]
    for path in readable:
        for end in _ENDS:
            # `lib/site-packages`, or `lib/python3.11/site-packages`.
            found += glob.glob(f"{glob.escape(path)}/{end}")
            found += glob.glob(f"{glob.escape(path)}/*/{end}")
    left_in = {os.path.realpath(path) for path in kept}
    roots = tuple(f"{os.path.realpath(path)}/" for path in readable)
    real = sorted({os.path.realpath(path) for path in found if os.path.isdir(path)} - left_in)
    return [path for path in real if path.startswith(roots)]


def without(readable: Sequence[str], hidden: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is readable with the hidden folders left out, and the folders around those.

    Rules can only add: a folder with a hidden one in it becomes all of its other entries. The
    folders themselves can be listed, or no module would be found in them.
    """
    read: list[str] = []
    listed: list[str] = []
    folders = list(reversed(readable))
    while folders:
        path = folders.pop()
        real = os.path.realpath(path)
        if real in hidden:
            continue
        if not any(each.startswith(f"{real}/") for each in hidden):
            read.append(path)
            continue
        listed.append(path)
        with os.scandir(real) as entries:
            # What a link leads to has its own rule, if it is in here.
            folders += [entry.path for entry in entries if not entry.is_symlink()]
    return list(dict.fromkeys(read)), list(dict.fromkeys(listed))
