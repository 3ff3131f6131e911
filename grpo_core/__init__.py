"""grpo-core: reward functions for GRPO post-training as pip-installable plugins.

Everything public is a name of this module. What a plugin imports loads the standard library and
pluggy only; all else is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Eager, so that the function `reward` and not the module of that name is the attribute, whichever
# of our modules is imported first.
from grpo_core.completion import Completion, Message
from grpo_core.errors import GrpoError
from grpo_core.hookspecs import Rewards, hookimpl
from grpo_core.outcome import Fail, Outcome, Score, Skip
from grpo_core.reward import reward

if TYPE_CHECKING:
    from grpo_core.advantages import group_relative_advantages
    from grpo_core.catalog import Catalog
    from grpo_core.composite import CompositeReward
    from grpo_core.scoring.single import load_reward
    from grpo_core.sections import RunConfig
    from grpo_core.table import ScoreTable
    from grpo_core.training.config import GRPOConfig
    from grpo_core.training.seam import TrlRewards, to_trl
    from grpo_core.training.trainer import GRPOTrainer

_LAZY = {
    "Catalog": "catalog",
    "CompositeReward": "composite",
    "GRPOConfig": "training.config",
    "GRPOTrainer": "training.trainer",
    "RunConfig": "sections",
    "ScoreTable": "table",
    "TrlRewards": "training.seam",
    "group_relative_advantages": "advantages",
    "load_reward": "scoring.single",
    "to_trl": "training.seam",
}

__all__ = [
    "Catalog",
    "Completion",
    "CompositeReward",
    "Fail",
    "GRPOConfig",
    "GRPOTrainer",
    "GrpoError",
    "Message",
    "Outcome",
    "Rewards",
    "RunConfig",
    "Score",
    "ScoreTable",
    "Skip",
    "TrlRewards",
    "group_relative_advantages",
    "hookimpl",
    "load_reward",
    "reward",
    "to_trl",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("grpo-core")
    home = _LAZY.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
