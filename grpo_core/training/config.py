"""`GRPOConfig`: TRL's config with the names and defaults of this project."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
import trl
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from grpo_core.batch import batch_problems, launched_processes
from grpo_core.errors import ConfigError, Problem, near

logger = logging.getLogger("grpo_core")

# Our names for TRL's fields.
ALIASES = {"kl_coef": "beta", "clip_range": "epsilon"}

DEFAULTS: dict[str, Any] = {
    "num_generations": 4,
    "max_completion_length": 512,
    "learning_rate": 1e-6,
    "beta": 0.1,
    "epsilon": 0.2,
    "temperature": 0.7,
    "num_train_epochs": 3,
    "gradient_accumulation_steps": 4,
}

# Fields of `[train]` that other settings decide.
_SET_ELSEWHERE = {
    "output_dir": "[run] dir",
    "resume_from_checkpoint": "grpo train --resume",
    "reward_weights": "each reward's weight",
    "do_eval": "[eval]",
    "eval_strategy": "[eval] every",
    "eval_steps": "[eval] every",
    "num_generations_eval": "[eval] num_generations",
}

# TRL had them once; the usual TypeError would leave people searching.
_RETIRED = {
    "max_prompt_length": "TRL no longer cuts prompts; leave out rows whose prompt is too long",
    "ref_model": "the reference is the model before training",
}

_FIELDS = {f.name: f for f in dataclasses.fields(trl.GRPOConfig) if f.init}

# Declared as a text for the sake of the command line; documented as true or false.
_TYPES: dict[str, Any] = {"fsdp": bool | str | None}


class GRPOConfig(trl.GRPOConfig):  # type: ignore[misc]  # trl is untyped
    """TRL's GRPOConfig with `kl_coef`, `clip_range` and this project's defaults.

    Every field of TRL's GRPOConfig may be given. Defaults that differ from TRL's: those of
    `DEFAULTS`; on a machine without accelerator also bf16 and gradient_checkpointing, which are
    off there.

    Args:
        *args: TRL's fields in TRL's order, the first being `output_dir`.
        kl_coef: Weight of the KL divergence to the reference, at least 0; TRL's `beta`.
        clip_range: Clipping of the probability ratio around 1; TRL's `epsilon`.
        kl_guard: Lower the learning rate and raise kl_coef, within bounds, where the KL runs away.
        **kwargs: TRL's fields by name.

    Raises:
        ConfigError: `kl_coef` and `beta` (or `clip_range` and `epsilon`) differ, or the batch
            does not hold whole groups.
        TypeError: A field that TRL does not have.
    """

    def __init__(
        self,
        *args: Any,
        kl_coef: float | None = None,
        clip_range: float | None = None,
        kl_guard: bool = False,
        **kwargs: Any,
    ) -> None:
        """Translates the names, fills the defaults and hands over to TRL."""
        if len(args) > len(_FIELDS):
            raise TypeError(f"GRPOConfig takes at most {len(_FIELDS)} positional arguments")
        given = dict(zip(_FIELDS, args, strict=False))
        if twice := sorted(given.keys() & kwargs.keys()):
            raise TypeError(f"GRPOConfig got {twice[0]!r} by position and by name")
        given |= kwargs
        problems = [p for name in given if (p := _unknown_field(name))]
        if problems:
            raise TypeError("GRPOConfig: " + "; ".join(map(str, problems)))
        _translate(given, {"kl_coef": kl_coef, "clip_range": clip_range})
        self.defaults_in_force = {
            name: value
            for name, value in DEFAULTS.items()
            if name not in given and value != _FIELDS[name].default
        }
        given = {**DEFAULTS, **given}
        if wrong := value_problems({**given, "kl_guard": kl_guard}):
            raise ConfigError(wrong, "GRPOConfig")
        if given.get("activation_checkpointing") is not None:
            given.setdefault("gradient_checkpointing", given["activation_checkpointing"])
        _settle_on_cpu(given)
        _name_checkpointing(given)
        if wrong := batch_problems(given, launched_processes()):
            raise ConfigError(wrong)
        super().__init__(**given)
        self.kl_guard = kl_guard

    @property
    def kl_coef(self) -> float:
        """Weight of the KL divergence to the reference; TRL's `beta`."""
        return float(self.beta)

    @kl_coef.setter
    def kl_coef(self, value: float) -> None:
        self.beta = value

    @property
    def clip_range(self) -> float:
        """Clipping of the probability ratio around 1; TRL's `epsilon`."""
        return float(self.epsilon)

    @clip_range.setter
    def clip_range(self, value: float) -> None:
        self.epsilon = value


def train_problems(train: Mapping[str, Any]) -> list[Problem]:
    """What is wrong in a config's `[train]`: unknown fields and wrong types.

    Args:
        train: The table.
    """
    problems = []
    for name, value in train.items():
        where = f"train.{name}"
        if name in _SET_ELSEWHERE:
            problems.append(Problem(where, f"is set by {_SET_ELSEWHERE[name]}; leave it out"))
        elif name == "kl_guard":
            problems += _type_problem(where, bool, value)
        elif name in ALIASES:
            problems += _type_problem(where, float, value)
            if ALIASES[name] in train and train[ALIASES[name]] != value:
                problems.append(
                    Problem(where, f"{name} is TRL's {ALIASES[name]}, which is given too")
                )
        elif problem := _unknown_field(name):
            problems.append(Problem(where, problem.message))
        else:
            problems += _type_problem(where, _TYPES.get(name, _FIELDS[name].type), value)
    named = {p.where for p in problems}
    return problems + [p for p in value_problems(train, "train.") if p.where not in named]


def value_problems(given: Mapping[str, Any], where: str = "") -> list[Problem]:
    """Values that no run can be trained with, though their type is right.

    TRL and transformers take most of them and fail in the middle of a step, or train nothing.

    Args:
        given: Fields by name; kl_coef and clip_range may stand for beta and epsilon.
        where: Put in front of the fields' names.
    """
    problems = []
    for name, (expected, is_good) in _VALUES.items():
        value = given.get(name)
        if isinstance(value, int | float | str) and not is_good(value):
            problems.append(Problem(where + name, f"expected {expected}, got {value!r}"))
    steps, epochs = given.get("max_steps", -1), given.get("num_train_epochs", 1)
    if isinstance(steps, int) and (steps == 0 or steps < -1):
        problems.append(
            Problem(where + "max_steps", f"expected at least 1, or -1 for epochs; got {steps}")
        )
    if isinstance(epochs, int | float) and not epochs > 0 and not (steps or 0) > 0:
        problems.append(Problem(where + "num_train_epochs", f"expected above 0, got {epochs!r}"))
    if not isinstance(guard := given.get("kl_guard", False), bool):
        problems.append(Problem(where + "kl_guard", f"expected True or False, got {guard!r}"))
    elif guard and not given.get("kl_coef", given.get("beta", DEFAULTS["beta"])):
        problems.append(
            Problem(where + "kl_guard", "expected a kl_coef above 0: without one there is no KL")
        )
    return problems


Check = tuple[str, Callable[[Any], bool]]


def _at_least(low: float, why: str = "") -> Check:
    return f"a finite number, at least {low}{why}", lambda v: _finite(v) and v >= low


def _above(low: float, why: str = "") -> Check:
    return f"a finite number above {low}{why}", lambda v: _finite(v) and v > low


def _share(why: str) -> Check:
    return f"a number above 0 and at most 1{why}", lambda v: _finite(v) and 0 < v <= 1


def _among(*choices: Any) -> Check:
    return "one of " + ", ".join(map(repr, choices)), lambda v: v in choices


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


_DECAY: Check = ("a number from 0 to below 1", lambda v: _finite(v) and 0 <= v < 1)

_VALUES: dict[str, Check] = {
    # A negative rate or weight of them climbs where it should descend.
    **{name: _at_least(0) for name in ("kl_coef", "beta", "learning_rate", "weight_decay")},
    **{name: _at_least(0) for name in ("seed", "data_seed", "warmup_steps", "eval_delay")},
    "max_grad_norm": _at_least(0, "; 0 leaves the gradient as it is"),
    "adam_beta1": _DECAY,
    "adam_beta2": _DECAY,
    "adam_epsilon": _at_least(0),
    "temperature": _above(0, ", since at 0 all completions of a prompt are the same"),
    "top_p": _share(", the share of the probability to sample from; 1 is all of it"),
    "top_k": _at_least(0, "; 0 samples from all tokens"),
    "min_p": ("a number from 0 to 1", lambda v: _finite(v) and 0 <= v <= 1),
    "repetition_penalty": _above(0, "; 1 is none"),
    **{name: _above(0) for name in ("clip_range", "epsilon", "epsilon_high", "delta")},
    "top_entropy_quantile": _share(", the share of the tokens to train on"),
    "ref_model_mixup_alpha": _share(", how far the reference moves to the model"),
    "vllm_gpu_memory_utilization": _share(", the share of the memory"),
    # A step is a multiple of each.
    "logging_steps": _above(0),
    "save_steps": _above(0, "; to save nothing set save_strategy"),
    **{
        name: _at_least(1)
        for name in (
            "per_device_train_batch_size",
            "per_device_eval_batch_size",
            "gradient_accumulation_steps",
            "max_completion_length",
            "num_generations",  # the batch arithmetic says that it takes 2
            "num_iterations",
            "steps_per_generation",
            "generation_batch_size",
            "ref_model_sync_steps",
            "vllm_tensor_parallel_size",
            "vllm_max_model_length",
        )
    },
    "scale_rewards": _among("group", "batch", "none", True, False),
    "multi_objective_aggregation": _among("sum_then_normalize", "normalize_then_sum"),
    "importance_sampling_level": _among("token", "sequence"),
    "vllm_mode": _among("colocate", "server"),
    "vllm_model_impl": _among("vllm", "transformers"),
    "vllm_importance_sampling_mode": _among(
        "token_truncate", "token_mask", "sequence_truncate", "sequence_mask"
    ),
    # Those of TRL 1.16; it learns of a wrong one only after the first generation.
    "loss_type": _among("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
}


def _unknown_field(name: str) -> Problem | None:
    if name in _FIELDS or name in ALIASES:
        return None
    known = [*_FIELDS, *ALIASES, "kl_guard"]
    advice = f" {_RETIRED[name]}." if name in _RETIRED else near(name, known)
    return Problem("", f"TRL's GRPOConfig has no field {name!r}.{advice}")


def _type_problem(where: str, annotation: Any, value: Any) -> list[Problem]:
    try:
        TypeAdapter(annotation).validate_python(value, strict=True)
    except (PydanticSchemaGenerationError, NameError):
        return []  # a type pydantic knows nothing of; transformers itself checks it
    except ValidationError as exc:
        kinds = {e["type"] for e in exc.errors(include_url=False)}
        if any("enum" in k or "instance" in k for k in kinds):
            return []  # transformers takes the text of an enum
        name = getattr(annotation, "__name__", None) or str(annotation)
        if "|" in str(annotation):
            name = str(annotation)
        return [Problem(where, f"expected {name}, got {value!r}")]
    return []


def _translate(given: dict[str, Any], ours: Mapping[str, float | None]) -> None:
    problems = []
    for alias, value in ours.items():
        theirs = ALIASES[alias]
        if value is None:
            continue
        if theirs in given and given[theirs] != value:
            problems.append(
                Problem(
                    alias,
                    f"{alias}={value!r} and {theirs}={given[theirs]!r} are the same setting; "
                    f"give one",
                )
            )
        given[theirs] = value
    if problems:
        raise ConfigError(problems, "GRPOConfig")


_said = False


def _settle_on_cpu(given: dict[str, Any]) -> None:
    """On a CPU turns off what only helps an accelerator, unless asked for; says so once."""
    global _said
    if torch.accelerator.is_available() and not given.get("use_cpu"):
        return
    if launched_processes() > 1 and given.get("use_cpu") is None:
        given["use_cpu"] = True  # else transformers takes each process for the only one
    settled = [
        name
        for name in ("bf16", "gradient_checkpointing", "dataloader_pin_memory")
        if given.get(name) is None and not (name == "bf16" and given.get("fp16"))
    ]
    if settled and not _said and os.environ.get("RANK", "0") == "0":
        logger.warning("no accelerator: training on the CPU with %s off", ", ".join(settled))
        _said = True
    given.update(dict.fromkeys(settled, False))


def _name_checkpointing(given: dict[str, Any]) -> None:
    """Uses transformers' newer names, so that it does not warn of the older ones TRL still has."""
    for old, new in (
        ("gradient_checkpointing", "activation_checkpointing"),
        ("gradient_checkpointing_kwargs", "activation_checkpointing_kwargs"),
    ):
        if new in _FIELDS and given.get(new) is None:
            value = given.get(old, _FIELDS[old].default)
            if value is not None:
                given[new] = given[old] = value
