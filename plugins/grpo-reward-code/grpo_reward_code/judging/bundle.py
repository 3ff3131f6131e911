"""The programs that run in the boxes: the modules of this package, compiled, in one text.

The boxes cannot see this package. The code is compiled here and carried as a literal, since to
compile it again for every program would take longer than most programs.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal

# In the order in which they can be executed.
_MODULES = {
    "served": ("wire", "objects", "operators", "peer", "served"),
    "judge": (
        "wire",
        "objects",
        "operators",
        "peer",
        "names",
        "pytest_names",
        "running",
        "judge",
    ),
}
_START = {"served": "serve", "judge": "judge"}

_BOOT = """\
def _boot(codes):
    import marshal, sys, types
    for name in ("grpo_reward_code", "grpo_reward_code.judging"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = []
    for name, code in codes:
        module = sys.modules[name] = types.ModuleType(name)
        exec(marshal.loads(code), module.__dict__)
    return module
_boot({codes!r}).{start}()
"""


@functools.cache
def bundle(name: str) -> bytes:
    """The program "served" or "judge".

    It runs in an interpreter of the version that runs this.
    """
    codes = []
    for part in _MODULES[name]:
        full = f"grpo_reward_code.judging.{part}"
        spec = importlib.util.find_spec(full)
        loader = spec.loader if spec else None
        code = loader.get_code(full) if hasattr(loader, "get_code") else None  # type: ignore[union-attr]
        codes.append((full, marshal.dumps(code)))
    return _BOOT.format(codes=codes, start=_START[name]).encode()
