"""A package with one reward, as `grpo new reward` writes it from `templates/reward`.

The templates are the files of a package whose name is the stand-in NAME. What is common to all
forms lies in `all`; the files of a form come beside it, or in the place of its files.
"""

from __future__ import annotations

import importlib.machinery
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from packaging.utils import canonicalize_name

from grpo_core.catalog import PLUGIN_PREFIX as PREFIX
from grpo_core.discovery import PluginFilter, find_plugins
from grpo_core.errors import ConfigError

Form = Literal["function", "class", "batch", "group", "async"]

_STAND_IN = "NAME"
# One spelling for the three names that are made of it: distribution, module, entry.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MOST = 60  # characters


@dataclass(frozen=True)
class NewReward:
    """A package that is about to be written.

    Attributes:
        name: Name of its entry, the first half of its reward's name.
        form: Which form of a reward it begins with.
        folder: Where it goes; named as the distribution.
    """

    name: str
    form: Form
    folder: Path

    @property
    def distribution(self) -> str:
        """Name of the distribution."""
        return PREFIX + self.name

    @property
    def module(self) -> str:
        """Name of its only module."""
        return self.distribution.replace("-", "_")

    @property
    def reward(self) -> str:
        """Full name of its only reward."""
        return f"{self.name}/{'answers_briefly' if self.form == 'group' else 'last_number_equals'}"

    def files(self) -> dict[str, str]:
        """The text of each file, by its path in the folder."""
        templates = resources.files("grpo_core").joinpath("templates", "reward")
        texts = dict(_texts(templates.joinpath("all")))
        texts |= _texts(templates.joinpath(self.form))
        return {self._named(path): self._named(texts[path]) for path in sorted(texts)}

    def _named(self, text: str) -> str:
        stand_in = PREFIX.replace("-", "_") + _STAND_IN
        return text.replace(stand_in, self.module).replace(_STAND_IN, self.name)

    def write(self) -> list[str]:
        """Writes the folder, whole or not at all; returns the paths of the files in it.

        Raises:
            ConfigError: It is there by now, or it cannot be written.
        """
        files = self.files()
        partial = self.folder.with_name(f".{self.folder.name}.{os.getpid()}.partial")
        try:
            for name, text in files.items():
                path = partial / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            _check_free(self.folder)
            partial.rename(self.folder)
        except OSError as exc:
            reason = exc.strerror or exc
            raise ConfigError(f"{self.folder} cannot be written: {reason}") from exc
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return list(files)


def plan_reward(name: str, form: Form, parent: Path) -> NewReward:
    """Returns the package, if its name is free and its folder can be made.

    Args:
        name: Name of the entry: lower-case letters, digits and single hyphens.
        form: Which form of a reward it begins with.
        parent: The folder in which the package's own folder is made.

    Raises:
        ConfigError: The name cannot be used or is taken, or the folder exists.
    """
    _check_name(name)
    new = NewReward(name, form, parent / (PREFIX + name))
    _check_not_installed(new)
    if not parent.is_dir():
        raise ConfigError(f"{new.folder} cannot be written: there is no folder {parent}")
    _check_free(new.folder)
    return new


def _check_name(name: str) -> None:
    canonical = canonicalize_name(name)
    for beginning in (PREFIX, PREFIX.removeprefix("grpo-")):
        if f"{canonical}-".startswith(beginning):
            rest = canonical.removeprefix(beginning.rstrip("-")).removeprefix("-")
            raise ConfigError(
                f"the name {name!r} would become {PREFIX}{canonical}; give what comes behind "
                f"{beginning!r}" + (f": {rest!r}" if rest else "")
            )
    if not _NAME.fullmatch(name) or len(name) > _MOST:
        made = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")[:_MOST].rstrip("-")
        raise ConfigError(
            f"a reward package's name is lower-case letters, digits and single hyphens, begins "
            f"with a letter and has at most {_MOST} characters, got {name!r}"
            + (f"; {made!r} would do" if made else "")
        )


def _check_not_installed(new: NewReward) -> None:
    for plugin in find_plugins(PluginFilter()):  # a blocked one has its name all the same
        if canonicalize_name(plugin.entry) == new.name:
            raise ConfigError(
                f"the name {new.name!r} is taken: it is the entry of {plugin.label}, which is "
                f"installed; two with one entry would shut each other out. Choose another name"
            )
    try:
        label = f"{new.distribution} {version(new.distribution)}"
    except PackageNotFoundError:
        if importlib.machinery.PathFinder.find_spec(new.module) is None:
            return
        label = f"a module {new.module}"
    raise ConfigError(
        f"the name {new.name!r} is taken: {label} is installed already. Choose another name"
    )


def _check_free(folder: Path) -> None:
    if os.path.lexists(folder):
        raise ConfigError(
            f"{folder} exists already and is not overwritten; choose another name, or another "
            f"folder with --dir"
        )


def _texts(folder: Traversable, inside: str = "") -> Iterator[tuple[str, str]]:
    for found in folder.iterdir():
        if found.name == "__pycache__":  # pip compiles what it installs, templates too
            continue
        if found.is_dir():
            yield from _texts(found, f"{inside}{found.name}/")
        else:
            yield inside + found.name, found.read_text(encoding="utf-8")
