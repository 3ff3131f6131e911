"""Runs a command where the kernel refuses namespaces and mounts, as in many containers.

    python refusing.py [--landlock] COMMAND ...

With `--landlock` the calls of Landlock are refused as well: no layer holds there.
"""

import errno
import os
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

UNSHARE, MOUNT, UMOUNT, PIVOT_ROOT, SETNS, CLONE, CLONE3 = 272, 165, 166, 155, 308, 56, 435
LANDLOCK = (444, 445, 446)
NEW_ANY = 0x7E020000


def refuse(numbers, with_error=errno.EPERM):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    code = [(0x20, 0, 0, 0)]
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | with_error)]
    code += [(0x15, 0, 1, CLONE3), (0x06, 0, 0, 0x50000 | errno.ENOSYS)]
    code += [(0x15, 0, 3, CLONE), (0x20, 0, 0, 16), (0x45, 0, 1, NEW_ANY)]
    code += [(0x06, 0, 0, 0x50000 | with_error), (0x06, 0, 0, 0x7FFF0000)]
    text = b"".join(struct.pack("=HBBI", *line) for line in code)
    held = ctypes.create_string_buffer(text, len(text))
    program = struct.pack("@HxxxxxxQ", len(code), ctypes.addressof(held))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(317, 1, 0, ctypes.create_string_buffer(program, 16)) == 0


if __name__ == "__main__":
    command = sys.argv[1:]
    numbers = [UNSHARE, MOUNT, UMOUNT, PIVOT_ROOT, SETNS]
    if command[0] == "--landlock":
        numbers += LANDLOCK
        command = command[1:]
    refuse(numbers)
    os.execvp(command[0], command)
