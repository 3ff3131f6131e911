"""Finds plugins through entry points and loads each on its own, so that none can hurt another.

Every distribution with an entry point in the group `grpo_core` is a plugin. `find_plugins` reads
metadata only; `load` imports one plugin and asks its hook for the rewards. Each plugin gets a
plugin manager of its own: pluggy calls the hooks of one manager in a row and stops at the first
that raises, without saying whose it was.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distribution,
    distributions,
    version,
)
from typing import Literal

import pluggy
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grpo_core import hookspecs
from grpo_core.errors import listed, near
from grpo_core.reward import RewardInfo, info_of, is_tagged, reward_name

GROUP = "grpo_core"
HOOK = "grpo_rewards"
ALLOW_VARIABLE = "GRPO_CORE_PLUGINS"
BLOCK_VARIABLE = "GRPO_CORE_BLOCK"

State = Literal["found", "loaded", "blocked", "ambiguous", "incompatible", "failed"]

ENTRY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SECTION = re.compile(rf"^\s*\[\s*{GROUP}\s*\]", re.MULTILINE)
_MAX_REASON = 300  # characters; a linker's complaint about a missing library can fill pages


@dataclass
class Plugin:
    """One entry point of one distribution.

    Attributes:
        distribution: Name of the distribution, such as `grpo-reward-math`.
        version: Its version.
        entry: Name of the entry point; the first half of its rewards' names.
        module: What the entry point refers to.
        state: "found" until it is loaded; then "loaded" or one of the states that keep it out.
        reason: Why it is kept out, or "".
        rewards: What it offers, by reward name; empty unless loaded.
        error: What it raised when it was loaded, for the traceback.
    """

    distribution: str
    version: str
    entry: str
    module: str
    state: State = "found"
    reason: str = ""
    rewards: dict[str, RewardInfo] = field(default_factory=dict)
    entry_point: EntryPoint | None = field(default=None, repr=False)
    error: BaseException | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """Distribution and version, as errors name it."""
        return f"{self.distribution} {self.version}"

    def put_out(self, state: State, reason: str) -> None:
        """Sets a state that keeps the plugin out."""
        self.state, self.reason = state, reason


@dataclass(frozen=True)
class PluginFilter:
    """Which distributions may be used.

    Attributes:
        allow: The only ones, or None for all; empty means none.
        block: Those that may not, whatever `allow` says.
    """

    allow: tuple[str, ...] | None = None
    block: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Names are compared as PEP 503 normalises them: My_Plugin is my-plugin.
        if self.allow is not None:
            object.__setattr__(self, "allow", _names(self.allow))
        object.__setattr__(self, "block", _names(self.block))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> PluginFilter:
        """Reads `GRPO_CORE_PLUGINS` (empty = none) and `GRPO_CORE_BLOCK`, split at commas."""
        environ = os.environ if environ is None else environ
        allow = environ.get(ALLOW_VARIABLE)
        return cls(
            None if allow is None else tuple(allow.split(",")),
            tuple(environ.get(BLOCK_VARIABLE, "").split(",")),
        )

    def with_lists(
        self, allow: Iterable[str] | None = None, block: Iterable[str] = ()
    ) -> PluginFilter:
        """Adds lists: a distribution must be in every allow list and in no block list."""
        if allow is None:
            merged = self.allow
        else:
            wanted = _names(allow)
            merged = wanted if self.allow is None else tuple(n for n in wanted if n in self.allow)
        return PluginFilter(merged, (*self.block, *block))

    def reason_against(self, distribution: str) -> str:
        """Why the distribution may not be used, or ""."""
        name = canonicalize_name(distribution)
        if name in self.block:
            return f"blocked ({BLOCK_VARIABLE}, [plugins] block or --block-plugin)"
        if self.allow is not None and name not in self.allow:
            return f"not in the allow list ({ALLOW_VARIABLE}, [plugins] allow or --allow-plugin)"
        return ""


def find_plugins(chosen: PluginFilter | None = None) -> list[Plugin]:
    """Lists the installed plugins, by distribution and entry, without importing any.

    Args:
        chosen: Which may be used; default: what the environment says.

    Returns:
        One plugin per entry point. States: "found", "blocked", "incompatible" (its requirement on
        grpo-core does not hold), "ambiguous" (two distributions share the entry's name) or
        "failed" (its metadata cannot be used).
    """
    chosen = PluginFilter.from_environment() if chosen is None else chosen
    plugins = []
    for dist, plugin in _entries():
        if reason := chosen.reason_against(plugin.distribution):
            plugin.put_out("blocked", reason)
        elif plugin.state == "found" and (reason := _incompatibility(dist)):
            plugin.put_out("incompatible", reason)
        plugins.append(plugin)
    plugins.sort(key=lambda p: (canonicalize_name(p.distribution), p.entry))
    _mark_clashes(plugins)
    return plugins


def _entries() -> Iterator[tuple[Distribution, Plugin]]:
    """The entry points of our group, read one distribution at a time.

    `importlib.metadata.entry_points` reads all at once: one unreadable file would hide everybody.
    """
    seen: set[str] = set()
    for dist in distributions():
        text = _entry_text(dist)
        if not _SECTION.search(text):
            continue
        name = _field(dist, "Name")
        if name and (canonicalize_name(name) in seen or _is_shadowed(name, text)):
            continue
        seen.add(canonicalize_name(name or ""))
        plugin = Plugin(name or "unknown", _field(dist, "Version") or "?", "?", "")
        try:
            points: Sequence[EntryPoint] = tuple(dist.entry_points.select(group=GROUP))
        except (TypeError, ValueError):  # what importlib.metadata raises on a line without "="
            plugin.put_out("failed", "its entry_points.txt cannot be read; reinstall it")
            yield dist, plugin
            continue
        for point in points:
            plugin = Plugin(
                plugin.distribution, plugin.version, point.name, point.value, entry_point=point
            )
            if not name:
                where = dist.locate_file("")
                plugin.put_out("failed", f"a distribution in {where} has no METADATA; remove it")
            elif not ENTRY_NAME.fullmatch(point.name):
                plugin.put_out(
                    "failed",
                    f"entry name {point.name!r} must be letters, digits, '.', '_' and '-' only",
                )
            yield dist, plugin


def _entry_text(dist: Distribution) -> str:
    try:
        return dist.read_text("entry_points.txt") or ""
    except (OSError, ValueError):  # unreadable or undecodable: whoever it is, it offers nothing
        return ""


def _field(dist: Distribution, key: str) -> str | None:
    """A field of the metadata; None in a folder that a failed removal left behind."""
    try:
        metadata = dist.metadata
    except (OSError, ValueError):
        return None
    return metadata[key] if key in metadata else None


def _is_shadowed(name: str, text: str) -> bool:
    """True if another distribution of the name comes first on the path, without these entries."""
    try:
        return distribution(name).read_text("entry_points.txt") != text
    except PackageNotFoundError:  # its folder has another name; nothing can come before it
        return False


def load(plugin: Plugin) -> None:
    """Imports a found plugin and collects its rewards; it ends as "loaded" or "failed".

    Whatever goes wrong stays with this plugin: `state` and `reason` say it. Only
    KeyboardInterrupt passes.
    """
    if plugin.state not in ("found", "ambiguous") or plugin.rewards:
        return
    assert plugin.entry_point is not None
    try:
        plugin.rewards = _collect(plugin, plugin.entry_point.load())
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # any fault of a plugin, sys.exit() included, is its own
        plugin.put_out("failed", _one_line(exc))
        plugin.error = exc
    else:
        if plugin.state == "found":
            plugin.state = "loaded"


def _collect(plugin: Plugin, module: object) -> dict[str, RewardInfo]:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(module, name=plugin.entry)
    hooks = [caller.name for caller in manager.get_hookcallers(module) or []]
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as exc:
        wrong = next((h for h in hooks if h != HOOK), "")
        raise TypeError(f"it implements an unknown hook {wrong!r};{near(wrong, [HOOK])}") from exc
    if HOOK not in hooks:
        advice = "; the entry point must name the module" if ":" in plugin.module else ""
        raise TypeError(f"{plugin.module} has no function {HOOK} marked with @hookimpl{advice}")
    results = manager.hook.grpo_rewards()
    if len(results) != 1:  # pluggy drops None
        raise TypeError(f"{HOOK} must return one list of rewards, got {results or None}")
    return _rewards(results[0])


def _rewards(result: object) -> dict[str, RewardInfo]:
    if not isinstance(result, Sequence) or isinstance(result, str):
        raise TypeError(f"{HOOK} must return a list of rewards, got {type(result).__name__}")
    if not result:
        raise TypeError(f"{HOOK} returned no rewards")
    rewards: dict[str, RewardInfo] = {}
    for target in result:
        if not is_tagged(target):
            if is_tagged(type(target)):
                raise TypeError(f"{HOOK} returned {target!r}; return the class, not an instance")
            name = reward_name(target) if callable(target) else target
            raise TypeError(f"{HOOK} returned {name!r}, which is not tagged; put @reward above it")
        info = info_of(target)
        if not info.name.isidentifier():
            raise TypeError(f"{HOOK} returned a reward named {info.name!r}; use def and a name")
        if info.name in rewards:
            raise TypeError(f"{HOOK} returned two rewards named {info.name!r}; rename one")
        rewards[info.name] = info
    return rewards


def _incompatibility(dist: Distribution) -> str:
    """Why the distribution's own requirement on grpo-core does not hold, or ""."""
    try:
        core = version("grpo-core")
    except PackageNotFoundError:  # run from a checkout that is on the path but not installed
        return ""
    for text in dist.requires or []:
        try:
            requirement = Requirement(text)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        except ValueError:  # pip refuses such metadata; it says nothing about grpo-core
            continue
        if canonicalize_name(requirement.name) != "grpo-core" or not applies:
            continue
        if not requirement.specifier.contains(core, prereleases=True):
            return f"requires grpo-core {requirement.specifier}, installed is {core}"
    return ""


def _mark_clashes(plugins: list[Plugin]) -> None:
    # Blocked ones are out of the race: blocking is one of the two ways to settle a clash.
    racing = [p for p in plugins if p.state in ("found", "incompatible")]
    counts = Counter(p.entry for p in racing)
    for plugin in racing:
        if counts[plugin.entry] == 1 or plugin.state != "found":
            continue
        others = [p for p in racing if p.entry == plugin.entry and p is not plugin]
        owners = {p.distribution for p in others}
        if plugin.distribution in owners:
            plugin.put_out("failed", f"its metadata declares the entry {plugin.entry!r} twice")
            continue
        plugin.put_out(
            "ambiguous",
            f"entry {plugin.entry!r} is also claimed by {listed(owners)}; set "
            f"{BLOCK_VARIABLE}=<distribution>, or write "
            f'use = "{plugin.distribution}:{plugin.entry}/<reward>"',
        )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(canonicalize_name(n.strip()) for n in names if n.strip())


def _one_line(exc: BaseException) -> str:
    try:
        text = " ".join(str(exc).split())
    except Exception:  # an exception of a plugin, whose __str__ raises too
        text = ""
    text = f"{type(exc).__name__}: {text}" if text else type(exc).__name__
    return text if len(text) <= _MAX_REASON else text[: _MAX_REASON - 1] + "…"
