"""Rewards of a new config: binds them to the data, and says which fit and which do not."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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
        weight: Its weight.
        requires: By reward, the value from which on this one counts.
        options: Options that are set.
        why: Comments on what it is there for.
    """

    name: str
    use: str
    info: RewardInfo | None
    inputs: dict[str, str]
    unbound: Sequence[Parameter]
    weight: float = 1.0
    requires: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    why: Sequence[str] = ()

    @property
    def reads(self) -> bool:
        """True if it reads columns, as one that compares with gold answers does."""
        return self.info is None or any(p.required for p in self.info.inputs)

    @property
    def required(self) -> list[Parameter]:
        """Options that have no default and are not set."""
        options = self.info.options if self.info is not None else ()
        return [o for o in options if o.required and o.name not in self.options]


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
        chosen.append(bound_to(resolved.info, use, _free(_short(resolved), chosen), data))
    return chosen


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


def bound_to(info: RewardInfo | None, use: str, name: str, data: Data, **settings: Any) -> Chosen:
    """A reward with its inputs bound to the columns that they most likely mean.

    Args:
        info: What it declares; None for an untagged function.
        use: How the config names it.
        name: Instance name.
        data: The data.
        **settings: What else is set of it, as `Chosen` has it.
    """
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
    return Chosen(name, use, info, inputs, unbound, **settings)


def _column_for(name: str, data: Data) -> str | None:
    """The column that an input most likely means, or None."""
    columns = [c.name for c in data.columns if c.name != data.prompt.name]
    same = [c for c in columns if plain(c) == plain(name)]
    golds = data.golds if plain(name) in GOLDS else []
    close = difflib.get_close_matches(name, columns, n=1, cutoff=0.8)
    return next(iter([*same, *golds, *close, *named([plain(name)], columns)]), None)


def misfit(one: Chosen, catalog: Catalog, data: Data, folder: Path) -> str:
    """Why the reward cannot be used without being told more, or ""."""
    inputs = one.info.inputs if one.info is not None else ()
    if inputs and not one.inputs and not any(p.name in data.sample.table for p in inputs):
        return f"no column looks like its input {inputs[0].name!r}"
    if one.unbound:
        return f"no column looks like its input {one.unbound[0].name!r}"
    if one.required:
        return f"its option {one.required[0].name!r} must be given"
    section = RewardSection(use=one.use, inputs=one.inputs, options=dict(one.options))
    table, sample = data.sample.table, data.sample
    problems = check_reward(
        section, catalog, where="", columns=table, folder=folder, sample=sample
    ).problems
    return problems[0].message if problems else ""
