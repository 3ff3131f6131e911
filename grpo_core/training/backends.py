"""DeepSpeed, FSDP and vLLM in `[train]`: their files, their packages, settings nobody reads."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grpo_core.errors import Problem, listed, near

# Fields that hold a table or name a JSON file with one.
FILES = ("deepspeed", "fsdp_config", "accelerator_config")

# Field, the package it needs, and what pip calls that with the versions TRL takes.
_PACKAGES = (("deepspeed", "deepspeed", "trl[deepspeed]"), ("use_vllm", "vllm", "trl[vllm]"))

# What transformers reads of `fsdp_config`, with or without fsdp_ in front; it ignores all else.
_FSDP_KEYS = frozenset(
    {
        "activation_checkpointing",
        "auto_wrap_policy",
        "backward_prefetch",
        "cpu_offload",
        "cpu_ram_efficient_loading",
        "forward_prefetch",
        "limit_all_gathers",
        "min_num_params",
        "reshard_after_forward",
        "state_dict_type",
        "sync_module_states",
        "transformer_layer_cls_to_wrap",
        "use_orig_params",
        "version",
        "xla",
        "xla_fsdp_grad_ckpt",
        "xla_fsdp_settings",
        "xla_fsdp_v2",
    }
)


class _FileError(ValueError):
    """A file that cannot be used; the text says why."""


def with_files(train: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table of `[train]` with the contents of the JSON files it names.

    Args:
        train: The table, in which `backend_problems` found nothing wrong.
        folder: What its paths are relative to.
    """
    read = {k: _read(folder / v) for k, v in train.items() if k in FILES and isinstance(v, str)}
    return {**train, **read}


def backend_problems(train: Mapping[str, Any], folder: Path, processes: int = 1) -> list[Problem]:
    """What of DeepSpeed, FSDP and vLLM cannot work: files, packages, settings without effect.

    Args:
        train: The `[train]` table.
        folder: What its paths are relative to.
        processes: How many processes train.
    """
    problems = []
    tables: dict[str, Any] = {}
    for name in FILES:
        try:
            given = train.get(name)
            tables[name] = _read(folder / given) if isinstance(given, str) else given
        except _FileError as exc:
            problems.append(Problem(f"train.{name}", str(exc)))
    problems += _missing_packages(train)
    if processes == 1:
        problems += _alone(train)
    problems += _fsdp_problems(train, tables.get("fsdp_config"))
    problems += _zero_problems(tables.get("deepspeed"))
    problems += _vllm_problems(train, processes)
    return problems


def _read(path: Path) -> dict[str, Any]:
    path = path.expanduser()
    if path.suffix in (".yaml", ".yml"):
        raise _FileError(
            f"expected a JSON file, got {path}; a YAML file is for accelerate: "
            f"accelerate launch --config_file {path.name} …"
        )
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = near(path.name, beside)
        text = f"there is no file {path}; paths are relative to the config.{hint}"
        raise _FileError(text.rstrip(".")) from None
    except OSError as exc:
        raise _FileError(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:  # also of a text that is not UTF-8
        raise _FileError(f"{path} is not JSON: {exc}") from exc
    if not isinstance(table, dict):
        raise _FileError(f"expected a JSON object in {path}, got {type(table).__name__}")
    return table


def _missing_packages(train: Mapping[str, Any]) -> Iterator[Problem]:
    for name, package, requirement in _PACKAGES:
        if train.get(name) and importlib.util.find_spec(package) is None:
            text = (
                f"needs the package {package}, which is not installed. "
                f'Install it with: pip install "{requirement}"'
            )
            yield Problem(f"train.{name}", text)


def _alone(train: Mapping[str, Any]) -> Iterator[Problem]:
    """What cannot be trained in one process."""
    how = (
        "torchrun --nproc_per_node N --no-python grpo train …; grpo check --processes N checks "
        "what such a run needs"
    )
    if train.get("fsdp"):
        yield Problem("train.fsdp", f"needs several processes: {how}")
    # Without a launcher DeepSpeed asks MPI where it is.
    if train.get("deepspeed") and "LOCAL_RANK" not in os.environ:
        yield Problem("train.deepspeed", f"needs a launcher: {how}")


def _fsdp_problems(train: Mapping[str, Any], config: Any) -> Iterator[Problem]:
    if train.get("fsdp") and train.get("deepspeed"):
        yield Problem("train.fsdp", "FSDP and DeepSpeed do the same in two ways; give one of them")
    if config is not None and "fsdp" not in train:
        yield Problem("train.fsdp_config", "has no effect without fsdp = true")
    for key in config if isinstance(config, Mapping) else ():
        if str(key).removeprefix("fsdp_") not in _FSDP_KEYS:
            hint = near(str(key).removeprefix("fsdp_"), _FSDP_KEYS)
            text = f"transformers reads no key {key!r}.{hint} Keys are {listed(_FSDP_KEYS)}"
            yield Problem("train.fsdp_config", text)


def _zero_problems(config: Any) -> Iterator[Problem]:
    """The one key that decides what DeepSpeed does; it checks the others itself."""
    zero = config.get("zero_optimization") if isinstance(config, Mapping) else None
    if zero is None:
        return
    where = "train.deepspeed"
    if not isinstance(zero, Mapping):
        yield Problem(where, f"zero_optimization: expected a table, got {zero!r}")
    elif (stage := zero.get("stage", 0)) not in (0, 1, 2, 3):
        yield Problem(where, f"zero_optimization.stage: expected 0, 1, 2 or 3, got {stage!r}")


def _vllm_problems(train: Mapping[str, Any], processes: int) -> Iterator[Problem]:
    if "use_vllm" not in train:
        for name in train:
            if name.startswith("vllm_"):
                yield Problem(f"train.{name}", "has no effect without use_vllm = true")
    size = train.get("vllm_tensor_parallel_size")
    colocated = train.get("use_vllm") and train.get("vllm_mode", "colocate") == "colocate"
    if colocated and isinstance(size, int) and size > 0 and processes % size:
        text = f"expected a divisor of the {processes} processes that train, got {size}"
        yield Problem("train.vllm_tensor_parallel_size", text)
