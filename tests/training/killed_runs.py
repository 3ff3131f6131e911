"""`grpo train` in a process that was forked behind its imports, which take most of its start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import grpo_core.cli
import grpo_core.recorded.write
import grpo_core.training.run  # what takes long


def train(folder: Path, *arguments: str) -> None:
    """Runs the command in a folder; what it prints goes to a file there."""
    os.chdir(folder)
    out = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    grpo_core.recorded.write.MERGE_AT = 5  # so that kills come during merges, too
    sys.argv = ["grpo", "train", "run.toml", *arguments]
    grpo_core.cli.main()
