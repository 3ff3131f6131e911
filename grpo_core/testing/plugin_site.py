"""`Site`: a folder on `sys.path` in which distributions are installed for one test."""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

_ONE_REWARD = """
from grpo_core import hookimpl, reward

@reward
def answer_equals(completion, answer: str, *, strip: bool = True) -> float:
    '''1.0 if the text is the answer.'''
    return float(completion.text == answer)

@hookimpl
def grpo_rewards():
    return [answer_equals]
"""


class Site:
    """A folder on `sys.path` that holds distributions as an installer leaves them.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        distribution: str,
        source: str = _ONE_REWARD,
        *,
        version: str = "1.0",
        entry: str = "fake",
        requires: Sequence[str] = (),
        entry_points: str | None = None,
    ) -> str:
        """Installs a distribution with one module; returns the module's name.

        Args:
            distribution: Its name; the module has the same with underscores.
            source: Text of the module; default: a plugin with one reward, `answer_equals`.
            version: Its version.
            entry: Name of its entry point.
            requires: Its `Requires-Dist` lines.
            entry_points: Text of `entry_points.txt` in place of the usual one.
        """
        module = re.sub(r"\W", "_", distribution)
        points = f"[grpo_core]\n{entry} = {module}\n" if entry_points is None else entry_points
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        metadata += "".join(f"Requires-Dist: {line}\n" for line in requires)
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        (info / "RECORD").write_text(f"{module}.py,,\n{info.name}/METADATA,,\n", encoding="utf-8")
        self.write(f"{module}.py", source)
        return module

    def write(self, name: str, source: str) -> Path:
        """Writes a file into the folder; importable if it is a module."""
        path = self.folder / name
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        importlib.invalidate_caches()
        return path


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A `Site` for one test: a fixture, to be imported in a `conftest.py`.

    The choice of plugins is not taken from the environment. Modules that the test imported from
    the folder are forgotten afterwards.
    """
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.delenv("GRPO_CORE_PLUGINS", raising=False)
    monkeypatch.delenv("GRPO_CORE_BLOCK", raising=False)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(tmp_path)):
            del sys.modules[name]
