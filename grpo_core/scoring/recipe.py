"""`Recipe`: how a worker process builds a reward, by name and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.discovery import PluginFilter
from grpo_core.errors import ConfigError
from grpo_core.options import build
from grpo_core.scoring.calls import Callee


@dataclass(frozen=True)
class Recipe:
    """What builds the same reward in another process; picklable.

    Attributes:
        use: Name that `Catalog.resolve` takes there: full, `module:attr`, or `file.py:attr` with
            an absolute path.
        options: The reward's options, as the config gave them.
        constants: Inputs that are the same for every row, by name; sent once, not with each call.
        chosen: Which distributions may be used.
        source_sha256: Hash of the code here, or None; the worker refuses other code.
    """

    use: str
    options: Mapping[str, Any]
    constants: Mapping[str, Any]
    chosen: PluginFilter
    source_sha256: str | None = None

    def build(self) -> Callee:
        """Finds and builds the reward.

        Raises:
            GrpoError: It cannot be found or built here.
        """
        resolved = Catalog(self.chosen).resolve(self.use)
        if resolved.info is None:
            raise ConfigError(f"{self.use!r} is no tagged reward")
        if self.source_sha256 is not None and resolved.source_hash != self.source_sha256:
            raise ConfigError(f"{self.use!r}: its code was changed since the run began")
        built = build(resolved.info, self.options)
        return Callee(
            built.function, resolved.info.scope, built.low, built.high, dict(self.constants)
        )
