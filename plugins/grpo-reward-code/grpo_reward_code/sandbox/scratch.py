"""The folder in which a program may write: empty for each, and of a limited size."""

from __future__ import annotations

import contextlib
import os
import stat

from grpo_reward_code.sandbox import namespaces

_MOST_ENTRIES = 1000


class Tmpfs:
    """A file system of its own: the kernel keeps the size and the number of files.

    Attributes:
        pause_s: How long it may be left alone while a program runs.
    """

    pause_s = 1.0

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._size = 0
        os.makedirs(folder, exist_ok=True)

    def fresh(self, size: int) -> bool:
        """Makes the folder empty and of this size; whether it is another folder now."""
        if self._size == size and not os.listdir(self._folder):
            return False
        if self._size:
            namespaces.drop_scratch(self._folder)
        namespaces.new_scratch(self._folder, size)
        self._size = size
        return True

    def is_over(self, size: int) -> bool:
        """Never: a write beyond the size fails."""
        return False

    def remove(self) -> None:
        """Nothing to do: it goes with the namespace."""


class Folder:
    """A folder of the host, looked at while the program runs.

    Attributes:
        pause_s: How long it may be left alone then: what a program writes meanwhile is beyond the
            limit, and takes time to remove.
    """

    pause_s = 0.01

    def __init__(self, folder: str, uid: int) -> None:
        self._folder = folder
        os.listdir(folder)
        if uid != os.getuid():
            os.chown(folder, uid, uid)

    def fresh(self, size: int) -> bool:
        """Makes the folder empty; it stays the same folder."""
        _empty(self._folder)
        return False

    def is_over(self, size: int) -> bool:
        """Whether there are more bytes or more files in it than there may be."""
        used, entries, folders = 0, 0, [self._folder]
        while folders:
            try:
                with os.scandir(folders.pop()) as found:
                    for entry in found:
                        entries += 1
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        else:
                            used += entry.stat(follow_symlinks=False).st_blocks * 512
                        if used > size or entries > _MOST_ENTRIES:
                            return True
            except FileNotFoundError:
                continue
            except OSError:
                # Made unreadable, or too deep to name.
                return True
        return False

    def remove(self) -> None:
        """Takes the folder away."""
        with contextlib.suppress(OSError):
            _empty(self._folder)
            os.rmdir(self._folder)


def _empty(folder: str) -> None:
    """Empties a folder of any depth: by going into folders, since their paths may be too long."""
    os.chdir(folder)
    above: list[tuple[str, list[str]]] = []
    names = os.listdir()
    while True:
        while names:
            name = names.pop()
            try:
                os.unlink(name)
            except (IsADirectoryError, PermissionError):
                _open_up(name)
                os.chdir(name)
                above.append((name, names))
                names = os.listdir()
        if not above:
            break
        os.chdir("..")
        name, names = above.pop()
        os.rmdir(name)
    os.chdir("/")


def _open_up(folder: str) -> None:
    # A change of mode follows links. Nobody else is there: the program has ended.
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise OSError(f"{folder} cannot be removed")
    os.chmod(folder, 0o700)
