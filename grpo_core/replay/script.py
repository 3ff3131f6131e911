"""The rewards of a script's run, which has no config: what its manifest keeps of them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grpo_core.errors import ConfigError, DataError, Problem
from grpo_core.reader import Draft, make_draft
from grpo_core.record import CONFIG, MANIFEST, read_manifest
from grpo_core.sections import RewardSection

# What the manifest keeps of a reward and a config's section has, too.
_OF_TOTAL = ("weight", "missing", "transform", "requires", "otherwise", "shadow", "modes")
_OF_SECTION = ("use", "inputs", "options", *_OF_TOTAL)

# How a manifest's `origin` begins of a reward from a file, and of one that was handed over.
_FILE = "file "
_HANDED_OVER = ("function in ", "callable in ")


def draft_of_script(
    run: Path, overrides: Sequence[str]
) -> tuple[Draft, Mapping[str, Mapping[str, Any]]]:
    """The rewards of a script's run.

    A function that was handed over has no name that leads to it. Its recorded values are enough
    where it needs not be called: something stands in for it.

    Args:
        run: The run's directory.
        overrides: `section.key=value` texts.

    Returns:
        The rewards as a config would have them, and what the manifest keeps of each that
        something stands in for, by name.

    Raises:
        DataError: There is no manifest.
    """
    manifest = read_manifest(run)
    if manifest is None:
        raise DataError(
            f"{run} has neither {CONFIG} nor {MANIFEST}, which say the rewards; give --config"
        )
    described: Mapping[str, Mapping[str, Any]] = manifest.get("rewards", {})
    tables = {
        name: {k: v for k, v in kept.items() if k in _OF_SECTION and v is not None}
        for name, kept in described.items()
    }
    for name, kept in described.items():
        file, _, attr = str(kept.get("use")).rpartition(":")
        origin = str(kept.get("origin", ""))
        if file.endswith(".py") and origin.startswith(_FILE):
            # As the script named it, it was beside the script or where that was started.
            tables[name]["use"] = f"{origin.removeprefix(_FILE)}:{attr}"
    source = run / MANIFEST
    before = make_draft({"rewards": copy.deepcopy(tables)}, source).rewards
    draft = make_draft({"rewards": tables}, source, overrides)
    rewards, problems, stand_ins = dict(draft.rewards), list(draft.problems), {}
    for name, section in draft.rewards.items():
        old = before.get(name)
        if old is None or old.use != section.use or not _handed_over(described[name]):
            continue
        if why := _needed(old, section):
            problems.append(uncallable(name, described[name], why))
            del rewards[name]
            continue
        stand_ins[name] = described[name]
        empty: dict[str, Any] = {"options": {}, "inputs": {}}
        rewards[name] = section.model_copy(update={"use": _never_called, **empty})
    return dataclasses.replace(draft, rewards=rewards, problems=tuple(problems)), stand_ins


def uncallable(name: str, described: Mapping[str, Any], why: str) -> Problem:
    """Says that a function of a script cannot be called, and what to do.

    Args:
        name: Instance name.
        described: What the manifest keeps of the reward.
        why: Why it is needed.
    """
    origin, function = str(described.get("origin")), described.get("use")
    module = origin.partition(" in ")[2]
    file = "rewards" if module == "__main__" else module.rpartition(".")[2]
    return Problem(
        f"rewards.{name}.use",
        f"has to be found ({why}), and was handed over by a script ({origin}), so that no name "
        f"leads to it; give --config with all rewards, and it there with its file, such as "
        f'use = "{file}.py:{function}"',
    )


def stop_if_called(
    names: Mapping[str, str], stand_ins: Mapping[str, Mapping[str, Any]], source: str
) -> None:
    """Stops before something that stands in is called.

    Args:
        names: Why each reward is called, by name.
        stand_ins: What the manifest keeps of those that something stands in for.
        source: The manifest.

    Raises:
        ConfigError: One is to be called.
    """
    problems = [
        uncallable(name, stand_ins[name], f"to be scored again: {why}")
        for name, why in names.items()
        if name in stand_ins
    ]
    if problems:
        raise ConfigError(problems, source)


def _handed_over(described: Mapping[str, Any]) -> bool:
    return str(described.get("origin", "")).startswith(_HANDED_OVER)


def _needed(before: RewardSection, now: RewardSection) -> str:
    """Why the function itself is needed, though its values were recorded; "" if it is not."""
    old, new = (s.model_dump(exclude=set(_OF_TOTAL)) for s in (before, now))
    if changed := [key for key in old if old[key] != new[key]]:
        return f"changed: {', '.join(changed)}"
    if now.transform is not None and now.transform.rescale is not None:
        return "transform.rescale needs its range"
    if now.requires and now.otherwise is None:
        return "requires without otherwise needs its range"
    return ""


def _never_called(completions: list[Any], **kwargs: Any) -> list[float]:
    raise AssertionError("the recorded values are taken")
