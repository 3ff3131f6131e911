"""Commands as a person types them, and an environment that holds wheels only."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = sorted(p.parent for p in ROOT.glob("plugins/*/pyproject.toml"))


def run(*command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None):
    return subprocess.run(
        [str(c) for c in command],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def ok(*command: str | Path, **kwargs) -> str:
    done = run(*command, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheels_of(sources: list[Path], folder: Path) -> list[Path]:
    """Builds the wheels of projects, with what is installed here."""
    pip = (sys.executable, "-m", "pip")
    ok(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, *sources)
    return sorted(folder.glob("*.whl"))


def make_clean(folder: Path) -> Path:
    """Makes an environment with the wheels of the core and the plugins; returns its bin folder."""
    built = wheels_of([ROOT, *PLUGINS], folder / "wheels")
    venv.create(folder / "venv", with_pip=True)
    bin_ = folder / "venv" / "bin"
    install(bin_, *built)
    return bin_


def install(bin_: Path, *what: str | Path) -> None:
    """Installs into an environment, in the versions that are tested with."""
    pip = (bin_ / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
    ok(*pip, *what)
