"""Chooses rewards for data: those that are named, else what is installed and fits."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grpo_core.catalog import Catalog, Resolved
from grpo_core.config import REFUSED_NAMES, check_reward
from grpo_core.errors import ConfigError
from grpo_core.new_run.data import GOLDS, Data, named, plain
from grpo_core.new_run.places import code_path
from grpo_core.reward import Parameter, RewardInfo
from grpo_core.sections import RewardSection


@dataclass(frozen=True)
class Chosen:
    """A reward of the config.

    Attributes:
        name: Instance name.
        use: How the config names it.
        info: What it declares; None for an untagged function.
        inputs: Columns that inputs are bound to, by input.
        unbound: Required inputs that no column looks like.
    """

    name: str
    use: str
    info: RewardInfo | None
    inputs: dict[str, str]
    unbound: Sequence[Parameter]

    @property
    def reads(self) -> bool:
        """True if it reads columns, as one that compares with gold answers does."""
        return self.info is None or _reads(self.info)

    @property
    def required(self) -> list[Parameter]:
        """Options that have no default."""
        return [] if self.info is None else [o for o in self.info.options if o.required]


class Other(NamedTuple):
    """An installed reward that was not chosen.

    Attributes:
        name: Full name.
        summary: What earns the point.
        why: What keeps it from being used as it is, or "".
    """

    name: str
    summary: str
    why: str


def named_rewards(catalog: Catalog, names: Sequence[str], data: Data, folder: Path) -> list[Chosen]:
    """The rewards of these names, bound to the data as well as can be seen.

    Args:
        catalog: The installed plugins.
        names: Full or bare names, or `file.py:attr` as seen from here.
        data: The data.
        folder: The config's folder.

    Raises:
        UnknownRewardError: One leads nowhere; so does PluginError.
    """
    chosen: list[Chosen] = []
    for name in names:
        resolved = catalog.resolve(name, bare=True)
        use = code_path(resolved.name, folder)
        chosen.append(_bound(resolved.info, use, _free(_short(resolved), chosen), data))
    return chosen


def fitting_rewards(
    catalog: Catalog, data: Data, folder: Path
) -> tuple[list[Chosen], dict[str, str]]:
    """Of each plugin the first reward that fits: those that read a column before the others.

    A reward fits if the data has its inputs, of the right types, and its options have defaults.

    Args:
        catalog: The installed plugins.
        data: The data.
        folder: The config's folder.

    Returns:
        The rewards, and why others do not fit, by full name.
    """
    chosen: list[Chosen] = []
    reasons: dict[str, str] = {}
    for plugin in catalog.load_all():
        if plugin.state != "loaded":
            continue
        for info in sorted(plugin.rewards.values(), key=lambda i: not _reads(i)):
            full = f"{plugin.entry}/{info.name}"
            one = _bound(info, full, _free(info.name, chosen), data)
            reason = _misfit(one, catalog, data, folder)
            if not reason:
                chosen.append(one)
                break
            reasons[full] = reason
    return chosen, reasons


def other_rewards(
    catalog: Catalog, chosen: Sequence[Chosen], reasons: dict[str, str]
) -> list[Other]:
    """The installed rewards that were not chosen, by name."""
    taken = {one.use for one in chosen}
    return [
        Other(full, info.summary, reasons.get(full, ""))
        for plugin in catalog.load_all()
        if plugin.state == "loaded"
        for info in plugin.rewards.values()
        if (full := f"{plugin.entry}/{info.name}") not in taken
    ]


def nothing_fits(catalog: Catalog, reasons: dict[str, str]) -> ConfigError:
    """Says why no installed reward fits, and what to do."""
    own = "name one of your own: --reward rewards.py:my_reward (docs/how-to/write-a-reward.md)"
    lines = [f"{name}: {reason}" for name, reason in reasons.items()]
    lines += [f"{p.entry} of {p.label} is {p.state}: {p.reason}" for p in catalog.broken()]
    if not lines:
        return ConfigError(
            f"no reward plugin is installed, so there is nothing to train with. Install some with: "
            f'pip install "grpo-core[all]"; or {own}'
        )
    return ConfigError(
        "no installed reward fits the data as it is:\n"
        + "".join(f"  - {line}\n" for line in lines)
        + f"name one all the same with --reward and complete the config, or {own}"
    )


def _reads(info: RewardInfo) -> bool:
    return any(p.required for p in info.inputs)


def _short(resolved: Resolved) -> str:
    if resolved.info is not None:
        return resolved.info.name
    return resolved.name.rpartition(":")[2].replace(".", "_")


def _free(name: str, chosen: Sequence[Chosen]) -> str:
    """The name as an instance name that no other has and the trainer does not refuse."""
    name = f"{name}_reward" if name in REFUSED_NAMES else name
    taken = {one.name for one in chosen}
    numbered = [name, *(f"{name}_{i}" for i in range(2, len(chosen) + 2))]
    return next(n for n in numbered if n not in taken)


def _bound(info: RewardInfo | None, use: str, name: str, data: Data) -> Chosen:
    inputs: dict[str, str] = {}
    unbound = []
    columns = data.sample.table.keys()
    for p in info.inputs if info is not None else ():
        if p.name in columns or not p.required:
            continue  # the column of its name, or its default
        column = _column_for(p.name, data)
        if column is None:
            unbound.append(p)
        else:
            inputs[p.name] = column
    return Chosen(name, use, info, inputs, unbound)


def _column_for(name: str, data: Data) -> str | None:
    """The column that an input most likely means, or None."""
    columns = [c.name for c in data.columns if c.name != data.prompt.name]
    same = [c for c in columns if plain(c) == plain(name)]
    golds = data.golds if plain(name) in GOLDS else []
    close = difflib.get_close_matches(name, columns, n=1, cutoff=0.8)
    return next(iter([*same, *golds, *close, *named([plain(name)], columns)]), None)


def _misfit(one: Chosen, catalog: Catalog, data: Data, folder: Path) -> str:
    """Why the reward cannot be used without being told more, or ""."""
    inputs = one.info.inputs if one.info is not None else ()
    if inputs and not one.inputs and not any(p.name in data.sample.table for p in inputs):
        return f"no column looks like its input {inputs[0].name!r}"
    if one.unbound:
        return f"no column looks like its input {one.unbound[0].name!r}"
    if one.required:
        return f"its option {one.required[0].name!r} must be given"
    section = RewardSection(use=one.use, inputs=one.inputs)
    table, sample = data.sample.table, data.sample
    problems = check_reward(
        section, catalog, where="", columns=table, folder=folder, sample=sample
    ).problems
    return problems[0].message if problems else ""
