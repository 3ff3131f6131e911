"""`Slot`: what all programs of one worker share: the walls and the scratch folder."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from grpo_reward_code.sandbox import inside, landlock, packages, scratch, seccomp


class Slot:
    """The walls and the scratch folder of one worker."""

    def __init__(
        self, settings: dict[str, Any], uid: int, kept: tuple[int, ...], held_mb: int
    ) -> None:
        self._settings = settings
        layer: str = settings["layer"]
        self._readable: list[str] = settings["readable"]
        self._listed: list[str] = []
        if layer != "ns":  # there mounts cover them
            self._readable, self._listed = packages.without(self._readable, settings["hidden"])
        self.scratch: scratch.Tmpfs | scratch.Folder
        if layer == "ns":
            self.scratch = scratch.Tmpfs(settings["folder"])
        else:
            self.scratch = scratch.Folder(settings["folder"], uid)
        abi = 0 if layer == "unsafe" else landlock.version()
        self._walls = inside.Walls(
            rules=-1,
            filter=seccomp.build(truncate=abi >= 3),
            uid=uid,
            kept=kept,
            own_uid=layer == "ns" or uid != os.getuid(),
            held_mb=held_mb,
            folder="/",
        )
        self.bare = self._with(None)
        self.full = self._with(settings["folder"])

    def fresh(self, size: int) -> None:
        """Makes the scratch folder empty."""
        if self.scratch.fresh(size):
            os.close(self.full.rules)
            self.full = self._with(self._settings["folder"])

    def _with(self, folder: str | None) -> inside.Walls:
        told = self._settings
        if told["layer"] == "unsafe":
            return replace(self._walls, folder=folder or "/")
        writable = told["devices"] if folder is None else [*told["devices"], folder]
        rules = landlock.ruleset(self._readable, writable, self._listed)
        return replace(self._walls, rules=rules, folder=folder or "/")
