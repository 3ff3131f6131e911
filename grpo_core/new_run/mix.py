"""The starter mix: form, what is right, length, safety, as far as plugins and data go.

Which rewards these are, and the gates between them, is in `templates/mix.toml`.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.new_run.data import Data
from grpo_core.new_run.rewards import Chosen, bound_to, misfit
from grpo_core.reward import RewardInfo

_FULL = 1.0  # what the gates ask for, so what a reward behind which others are gated must reach


@dataclass(frozen=True)
class _Step:
    """A reward of the mix, or any that reads a column if `use` is None."""

    name: str
    use: str | None
    settings: Mapping[str, Any]

    @property
    def needs(self) -> set[str]:
        """The steps that must be taken before."""
        return set(self.settings.get("requires", {}))


def starter_rewards(
    catalog: Catalog, data: Data, folder: Path, reply: int
) -> tuple[list[Chosen], dict[str, str]]:
    """The steps of the mix that fit; where none does, the first installed reward that fits.

    A reward without required inputs fits everything, so none is added beside the mix by itself.

    Args:
        catalog: The installed plugins.
        data: The data.
        folder: The config's folder.
        reply: Most tokens of a completion.

    Returns:
        The rewards, and why others do not fit, by full name.
    """
    infos = dict(_installed(catalog))
    reasons: dict[str, str] = {}

    def fits(one: Chosen) -> bool:
        reason = misfit(one, catalog, data, folder)
        if reason:
            reasons[one.use] = reason
        return not reason

    chosen: list[Chosen] = []
    taken: set[str] = set()
    steps = _steps(reply)
    for step in steps:
        if any(one.name == step.name for one in chosen) or not step.needs <= taken:
            continue
        uses = [step.use] if step.use is not None else _readers(infos, steps, step)
        drafts = (
            bound_to(infos[use], use, step.name, data, **step.settings)
            for use in uses
            if use in infos
        )
        found = next(filter(fits, drafts), None)
        if found is not None:
            chosen.append(found)
            taken |= {found.name} if _reaches_full(found) else set()
    if not chosen:
        drafts = (bound_to(info, use, info.name, data) for use, info in infos.items())
        chosen = [found for found in [next(filter(fits, drafts), None)] if found is not None]
    if len(chosen) == 1:
        chosen = [replace(chosen[0], weight=1.0)]  # a share of nothing else
    return chosen, reasons


def _installed(catalog: Catalog) -> Iterator[tuple[str, RewardInfo]]:
    for plugin in catalog.load_all():
        if plugin.state == "loaded":
            yield from ((f"{plugin.entry}/{i.name}", i) for i in plugin.rewards.values())


def _readers(infos: Mapping[str, RewardInfo], steps: list[_Step], step: _Step) -> Iterator[str]:
    """The rewards that read a column, without those of plugins that are there for other steps."""
    others = {s.use.partition("/")[0] for s in steps if s.use is not None and s.name != step.name}
    for use, info in infos.items():
        if use.partition("/")[0] not in others and any(p.required for p in info.inputs):
            yield use


def _reaches_full(one: Chosen) -> bool:
    """True if its best is what the gates ask for."""
    assert one.info is not None  # of a plugin
    try:
        return one.info.range(one.options)[1] == _FULL
    except TypeError:  # options that are not given decide
        return False


def _steps(reply: int) -> list[_Step]:
    text = resources.files("grpo_core").joinpath("templates", "mix.toml").read_text("utf-8")
    filled = string.Template(text).substitute(reply=max(2, reply), short=max(1, reply // 4))
    steps = tomllib.loads(filled)["step"]
    return [_Step(step.pop("name"), step.pop("use", None), step) for step in steps]
