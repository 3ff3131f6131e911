"""From a name to a reward: `Catalog` resolves what a config's `use` or a script hands over.

Accepted are `<entry>/<reward>` of an installed plugin, `<distribution>:<entry>/<reward>` where two
distributions share an entry, `package.module:attr`, `path/file.py:attr`, and callables: tagged
ones, and untagged functions in TRL's style.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import logging
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from packaging.utils import canonicalize_name

from grpo_core.discovery import Plugin, PluginFilter, find_plugins, load
from grpo_core.errors import PluginError, UnknownRewardError, listed, near
from grpo_core.reward import RewardInfo, info_of, is_tagged, reward_name

logger = logging.getLogger("grpo_core")

# Names in allow and block lists that were warned of; each once a process.
_warned: set[str] = set()

# `attr` of module:attr and file.py:attr never holds a slash, so the forms cannot be confused.
_INSTALLED = re.compile(r"(?:(?P<dist>[^:/\\]+):)?(?P<entry>[^:/\\]+)/(?P<reward>[^:/\\]+)")
# What distributions of rewards are called, by convention.
PLUGIN_PREFIX = "grpo-reward-"
# What a plugin calls itself. A hub id has capital letters, or a name with marks behind the slash.
_PLUGIN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Resolved:
    """A reward that was found.

    Attributes:
        name: Full name: `math/answer_equals`, `pkg.mod:attr`, `file.py:attr`, or a function's own.
        target: The function or class.
        info: What it declares; None for an untagged function in TRL's style.
        origin: Distribution with version, or where the code lies; errors name it.
        distribution: Name of the distribution, or "" where the code belongs to none.
        version: Version of the distribution, or "".
    """

    name: str
    target: Callable[..., Any]
    info: RewardInfo | None
    origin: str
    distribution: str = ""
    version: str = ""

    @property
    def source_hash(self) -> str | None:
        """SHA-256 of the code, or None where there is no file.

        That is the file that holds it; of a package, all of its modules, since the reward may
        call any of them.
        """
        target = inspect.unwrap(_without_partial(self.target))
        if not inspect.isroutine(target) and not isinstance(target, type):
            target = type(target)
        try:
            file = inspect.getsourcefile(target)
        except (TypeError, OSError):  # a builtin, or a class typed at a prompt
            file = None
        if file is None or not Path(file).is_file():
            return None
        return _code_sha256(Path(file))


class Catalog:
    """The installed plugins, loaded one by one as their rewards are asked for."""

    def __init__(self, chosen: PluginFilter | None = None) -> None:
        """Reads the metadata of the installed plugins; imports none.

        Args:
            chosen: Which distributions may be used; default: what the environment says.
        """
        chosen = PluginFilter.from_environment() if chosen is None else chosen
        self.chosen = chosen
        self.plugins = find_plugins(chosen)
        installed = {canonicalize_name(p.distribution) for p in self.plugins}
        for name in sorted({*chosen.block, *(chosen.allow or ())} - installed - _warned):
            # No error: one list serves machines on which not everything is installed.
            _warned.add(name)
            logger.warning(
                "the lists of plugins name %r, which is not installed.%s",
                name,
                near(name, installed),
            )

    def load_all(self) -> list[Plugin]:
        """Imports every plugin that may be used; returns all, with state and reason."""
        for plugin in self.plugins:
            load(plugin)
        return self.plugins

    def broken(self) -> list[Plugin]:
        """Plugins known to be unusable: failed, incompatible or ambiguous; not the blocked ones."""
        return [p for p in self.plugins if p.state in ("failed", "incompatible", "ambiguous")]

    def names(self) -> list[str]:
        """Full names of the rewards of all loaded plugins, sorted."""
        return sorted(
            f"{p.entry}/{name}" for p in self.plugins if p.state == "loaded" for name in p.rewards
        )

    def resolve(
        self, use: str | Callable[..., Any], *, folder: Path | None = None, bare: bool = False
    ) -> Resolved:
        """Finds a reward.

        Args:
            use: A name in one of the forms of this module, or a callable.
            folder: What a relative `file.py:attr` is relative to; default: working directory.
            bare: Also take a reward's bare name if one installed plugin has it.

        Raises:
            UnknownRewardError: Nothing usable answers to the name; the text holds near names, what
                is installed and what failed to load.
            PluginError: The plugin is broken, incompatible, ambiguous or blocked.
        """
        if not isinstance(use, str):
            return _from_callable(use)
        use = use.strip()
        if use.endswith(".py"):
            raise UnknownRewardError(
                f"no reward {use!r}: name its function too: '{use}:<function>'"
            )
        if match := _INSTALLED.fullmatch(use):
            return self._installed(use, match["dist"], match["entry"], match["reward"])
        if ":" in use:
            return _from_path(use, folder)
        return self._bare(use, accept=bare)

    def _installed(self, use: str, dist: str | None, entry: str, reward: str) -> Resolved:
        candidates = [p for p in self.plugins if p.entry == entry]
        if dist is not None:
            wanted = canonicalize_name(dist)
            candidates = [p for p in candidates if canonicalize_name(p.distribution) == wanted]
        if not candidates:
            raise self._unknown(use)
        # Naming the distribution settles a clash.
        states = ("found", "loaded") if dist is None else ("found", "loaded", "ambiguous")
        plugin = next((p for p in candidates if p.state in states), None)
        if plugin is not None:
            load(plugin)
        if plugin is None or plugin.state == "failed":
            raise PluginError(
                f"reward {use!r} cannot be used: "
                + "; ".join(
                    f"plugin {p.entry!r} of {p.label} "
                    f"{'failed to load' if p.state == 'failed' else f'is {p.state}'}: {p.reason}"
                    for p in candidates
                )
            ) from next((p.error for p in candidates if p.error is not None), None)
        if reward not in plugin.rewards:
            offered = [f"{entry}/{name}" for name in plugin.rewards]
            raise UnknownRewardError(
                f"no reward {use!r}: {plugin.label} has no {reward!r}."
                f"{near(f'{entry}/{reward}', offered)} It has: {listed(offered)}."
            )
        name = f"{entry}/{reward}"
        if plugin.state == "ambiguous":  # the short name would not lead here again
            name = f"{plugin.distribution}:{name}"
        info = plugin.rewards[reward]
        return Resolved(name, info.target, info, plugin.label, plugin.distribution, plugin.version)

    def _bare(self, name: str, *, accept: bool) -> Resolved:
        self.load_all()
        full = [n for n in self.names() if n.split("/", 1)[1] == name]
        if len(full) == 1 and accept:
            return self.resolve(full[0])
        if len(full) == 1:
            raise UnknownRewardError(f"{name!r} is a bare name; write the full one: {full[0]!r}.")
        if full:
            raise UnknownRewardError(f"{name!r} is a bare name; write one of: {listed(full)}.")
        raise self._unknown(name)

    def _unknown(self, use: str) -> UnknownRewardError:
        self.load_all()
        names = self.names()
        hint = near(use, names)
        if not hint and "/" not in use:
            hint = near(use, [n.split("/", 1)[1] for n in names])
        text = f"no reward {use!r}.{hint} Installed: {listed(names)}."
        kept_out = [p for p in self.plugins if p.state != "loaded"]
        if kept_out:
            text += " Not loaded: " + "; ".join(
                f"{p.entry} of {p.label} ({p.state}: {p.reason})" for p in kept_out
            )
            text += "."
        entry, _, reward = use.rpartition(":")[2].partition("/")
        # No pip line where the entry looks like a slip of the pen: whoever owns that name on the
        # package index would be installed.
        entries = [p.entry for p in self.plugins]
        if _PLUGIN.fullmatch(entry) and reward.isidentifier():
            if entry not in entries and not near(entry, entries):
                text += f" If a plugin {entry!r} exists: pip install {PLUGIN_PREFIX}{entry}"
        elif _HUB_ID.fullmatch(use) and not hint:
            text += (
                " No model is loaded by its hub id: wrap a reward model in a class, see "
                "docs/how-to/wrap-a-reward-model.md"
            )
        return UnknownRewardError(text)


def _code_sha256(file: Path) -> str:
    root = file.parent
    if not (root / "__init__.py").is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    while (root.parent / "__init__.py").is_file():
        root = root.parent
    digest = hashlib.sha256()
    for module in sorted(root.rglob("*.py")):
        digest.update(f"{module.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(module.read_bytes()).digest())
    return digest.hexdigest()


def _from_callable(target: Callable[..., Any]) -> Resolved:
    if not callable(target):
        raise UnknownRewardError(
            f"a reward is a name or a callable, got {type(target).__name__}: {target!r}"
        )
    inner = _without_partial(target)
    name = reward_name(inner).strip("<>")  # "<lambda>" would not do as a metric's name
    _refuse_preset(target, inner, name)
    module = getattr(inner, "__module__", None) or type(inner).__module__
    origin = f"function in {module}" if inspect.isroutine(inner) else f"callable in {module}"
    try:
        info = info_of(target) if is_tagged(target) else None
    except TypeError as exc:
        raise UnknownRewardError(str(exc)) from None  # it says it all
    return Resolved(name, target, info, origin)


def _refuse_preset(target: Callable[..., Any], inner: Callable[..., Any], name: str) -> None:
    """Refuses what hides the signature of a tagged reward, or is none."""
    if target is not inner and is_tagged(inner):
        raise UnknownRewardError(
            f"got a functools.partial of the reward {name!r}; hand over the reward itself and put "
            f"the arguments into options"
        )
    if isinstance(inner, type):
        if not is_tagged(inner):
            raise UnknownRewardError(
                f"the class {inner.__name__!r} is not a reward: put @reward above it"
            )
    elif any(is_tagged(base) for base in type(inner).__mro__):
        raise UnknownRewardError(
            f"got an instance of the reward class {type(inner).__name__!r}; hand over the class "
            f"itself and put its arguments into options"
        )


def _without_partial(target: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(target, functools.partial):
        target = target.func
    return target


def _from_path(use: str, folder: Path | None) -> Resolved:
    where, _, attr = use.rpartition(":")
    if where.endswith(".py"):
        path = (folder or Path.cwd()) / Path(where).expanduser()  # an absolute path stays as it is
        module = _import_file(path, use)
        origin = f"file {path}"
    else:
        module = _import_module(where, use)
        origin = f"module {where}"
    target: Any = module
    for part in attr.split("."):
        if not part or not hasattr(target, part):
            offered = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            raise UnknownRewardError(
                f"no reward {use!r}: {origin} has no attribute {attr!r}.{near(attr, offered)}"
            )
        target = getattr(target, part)
    try:
        resolved = _from_callable(target)
    except UnknownRewardError as exc:
        raise UnknownRewardError(f"{use!r} cannot be used: {exc}") from None
    return Resolved(use, resolved.target, resolved.info, origin)


def _raised(exc: BaseException) -> str:
    """The exception and the author's line it came from; a syntax error names its line itself."""
    frames = itertools.dropwhile(_is_core, _frames(exc))
    theirs = itertools.takewhile(lambda f: not _is_core(f), frames)
    own = [f for f in theirs if "importlib" not in f.filename]
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(exc).__name__}: {exc}{place}"


def _cause(exc: BaseException) -> BaseException | None:
    """What to chain behind the text of `_raised`; a refusal by `@reward` is said in full there."""
    refused = isinstance(exc, TypeError | ValueError) and _is_core(_frames(exc)[-1])
    return None if refused else exc


def _frames(exc: BaseException) -> traceback.StackSummary:
    return traceback.extract_tb(exc.__traceback__)


def _is_core(frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename).is_relative_to(Path(__file__).parent)


def _import_module(name: str, use: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # the module is the user's; whatever it raises is the reason
        raise UnknownRewardError(
            f"no reward {use!r}: module {name!r} cannot be imported: {_raised(exc)}"
        ) from _cause(exc)


def _import_file(path: Path, use: str) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise UnknownRewardError(f"no reward {use!r}: there is no file {path}")
    # A name of its own for each file and content: two files may both be called rewards.py, and in
    # a notebook an edited file is read anew.
    source = path.read_bytes()
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()
    name = f"grpo_file_{digest[:12]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Not through the loader: its cache takes two versions of one size and second for the same.
        exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    except BaseException as exc:  # the file is the user's; whatever it raises is the reason
        del sys.modules[name]
        if isinstance(exc, KeyboardInterrupt):
            raise
        raise UnknownRewardError(
            f"no reward {use!r}: {path} cannot be imported: {_raised(exc)}"
        ) from _cause(exc)
    return module
