"""A standard output that is full, closed by its reader or not there: one line at most, no trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GRPO = [sys.executable, "-c", "from grpo_core.cli import main; main()"]
COMMANDS = [
    "score format/tags --data d.jsonl",
    "score format/tags --data d.jsonl --json",
    "score format/tags --data d.jsonl --explain 0",
    "score format/tags --text a",
    "plugins",
    "plugins --json",
    "plugins show format/tags",
    "check nowhere.toml",
    "--version",
    "score --help",
]
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d.jsonl").write_text('{"completion": "<think>a</think><answer>4</answer>"}\n')
    return tmp_path


def run(folder: Path, command: str, **streams: int) -> tuple[int, str]:
    """Exit code and standard error of a command."""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams}
    done = subprocess.run([*GRPO, *command.split()], cwd=folder, text=True, check=False, **streams)
    return done.returncode, done.stderr


@needs_full
@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_is_full_is_one_line_and_2(folder, command):
    full = os.open("/dev/full", os.O_WRONLY)

    ended = run(folder, command, stdout=full)

    os.close(full)
    assert ended == (2, "error: standard output cannot be written: No space left on device\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_output_whose_reader_went_away_ends_the_command_quietly(folder, command):
    read, write = os.pipe()
    os.close(read)

    ended = run(folder, command, stdout=write)

    os.close(write)
    assert ended == (141, "")


def test_output_of_scores_stays_when_the_summary_is_lost(folder):
    read, write = os.pipe()
    os.close(read)

    ended = run(folder, "score format/tags --data d.jsonl -o o.jsonl", stdout=write)

    os.close(write)
    assert ended == (141, "")
    assert len((folder / "o.jsonl").read_text().splitlines()) == 1


@needs_full
def test_error_that_cannot_be_said_keeps_its_exit_code(folder):
    full = os.open("/dev/full", os.O_WRONLY)

    code, _ = run(folder, "score nowhere --text a", stderr=full)

    os.close(full)
    assert code == 2


@needs_full
def test_scores_into_a_full_device_are_refused(folder):
    code, said = run(folder, "score format/tags --data d.jsonl -o /dev/full")

    assert (code, said) == (2, "error: /dev/full: expected a name in .jsonl or .parquet\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("command", ["plugins", "score format/tags --text a", "--version"])
def test_output_that_was_closed_by_the_shell_is_no_error(folder, command):
    line = ["sh", "-c", '"$@" >&-', "sh", *GRPO, *command.split()]

    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
