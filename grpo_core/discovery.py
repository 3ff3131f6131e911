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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, EntryPoint, entry_points, version
from typing import Literal

import pluggy
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from grpo_core import hookspecs
from grpo_core.errors import listed, near
from grpo_core.reward import RewardInfo, info_of, is_tagged, reward_name

GROUP = "grpo_core"
HOOK = "grpo_rewards"
ALLOW_VARIABLE = "GRPO_CORE_PLUGINS"
BLOCK_VARIABLE = "GRPO_CORE_BLOCK"

State = Literal["found", "loaded", "blocked", "ambiguous", "incompatible", "failed"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
    """

    distribution: str
    version: str
    entry: str
    module: str
    state: State = "found"
    reason: str = ""
    rewards: dict[str, RewardInfo] = field(default_factory=dict)
    entry_point: EntryPoint | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """Distribution and version, as errors name it."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class PluginFilter:
    """Which distributions may be used.

    Attributes:
        allow: The only ones, or None for all; empty means none.
        block: Those that may not, whatever `allow` says.
    """

    allow: tuple[str, ...] | None = None
    block: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> PluginFilter:
        """Reads `GRPO_CORE_PLUGINS` (empty = none) and `GRPO_CORE_BLOCK`, split at commas."""
        environ = os.environ if environ is None else environ
        allow = environ.get(ALLOW_VARIABLE)
        return cls(
            None if allow is None else _names(allow.split(",")),
            _names(environ.get(BLOCK_VARIABLE, "").split(",")),
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
        return PluginFilter(merged, (*self.block, *_names(block)))

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
        grpo-core does not hold) or "ambiguous" (two distributions share the entry's name).
    """
    chosen = PluginFilter.from_environment() if chosen is None else chosen
    plugins = []
    for point in entry_points(group=GROUP):
        dist = point.dist
        plugin = Plugin(
            distribution=dist.name if dist else "unknown",
            version=dist.version if dist else "?",
            entry=point.name,
            module=point.value,
            entry_point=point,
        )
        plugin.reason = chosen.reason_against(plugin.distribution)
        if plugin.reason:
            plugin.state = "blocked"
        elif not _NAME.fullmatch(point.name):
            plugin.state = "failed"
            plugin.reason = (
                f"entry name {point.name!r} must be letters, digits, '.', '_' and '-' only"
            )
        else:
            plugin.reason = _incompatibility(dist)
            if plugin.reason:
                plugin.state = "incompatible"
        plugins.append(plugin)
    plugins.sort(key=lambda p: (canonicalize_name(p.distribution), p.entry))
    _mark_ambiguous(plugins)
    return plugins


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
        plugin.state = "failed"
        plugin.reason = _one_line(exc)
    else:
        if plugin.state == "found":
            plugin.state = "loaded"


def _collect(plugin: Plugin, module: object) -> dict[str, RewardInfo]:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(module, name=plugin.entry)
    hooks = [h for caller in (manager.get_hookcallers(module) or []) for h in [caller.name]]
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as exc:
        wrong = next((h for h in hooks if h != HOOK), "")
        raise TypeError(f"it implements an unknown hook {wrong!r};{near(wrong, [HOOK])}") from exc
    if HOOK not in hooks:
        raise TypeError(f"{plugin.module} has no function {HOOK} marked with @hookimpl")
    [result] = manager.hook.grpo_rewards()
    if not isinstance(result, list | tuple):
        raise TypeError(f"{HOOK} must return a list of rewards, got {type(result).__name__}")
    if not result:
        raise TypeError(f"{HOOK} returned no rewards")
    rewards: dict[str, RewardInfo] = {}
    for target in result:
        if not is_tagged(target):
            name = reward_name(target) if callable(target) else repr(target)
            raise TypeError(f"{HOOK} returned {name!r}, which is not tagged; put @reward above it")
        info = info_of(target)
        if info.name in rewards:
            raise TypeError(f"{HOOK} returned two rewards named {info.name!r}; rename one")
        rewards[info.name] = info
    return rewards


def _incompatibility(dist: Distribution | None) -> str:
    """Why the distribution's own requirement on grpo-core does not hold, or ""."""
    core = version("grpo-core")
    for text in (dist.requires if dist else None) or []:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue  # pip refuses such metadata; it says nothing about grpo-core
        if canonicalize_name(requirement.name) != "grpo-core":
            continue
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(core, prereleases=True):
            return f"requires grpo-core {requirement.specifier}, installed is {core}"
    return ""


def _mark_ambiguous(plugins: list[Plugin]) -> None:
    # Blocked ones are out of the race: blocking is one of the two ways to settle a clash.
    racing = [p for p in plugins if p.state in ("found", "incompatible")]
    counts = Counter(p.entry for p in racing)
    for plugin in racing:
        if counts[plugin.entry] > 1 and plugin.state == "found":
            owners = [p.distribution for p in racing if p.entry == plugin.entry]
            plugin.state = "ambiguous"
            plugin.reason = (
                f"entry {plugin.entry!r} is also claimed by "
                f"{listed(n for n in owners if n != plugin.distribution)}; set "
                f"{BLOCK_VARIABLE}=<distribution>, or write "
                f'use = "{plugin.distribution}:{plugin.entry}/<reward>"'
            )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(canonicalize_name(n.strip()) for n in names if n.strip())


def _one_line(exc: BaseException) -> str:
    text = " ".join(str(exc).split())
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__
