"""What of a run's rewards, weights, data, model and settings is not as its manifest says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from grpo_core.errors import listed

_Described = Mapping[str, Any]

# Of what the manifest keeps of a reward, what its values are computed from.
_OF_VALUES = ("use", "distribution", "version", "source_sha256", "scope", "inputs", "options")
_OF_POLICY = ("timeout_s", "on_timeout", "on_error")
# What its values do to the total.
_OF_TOTAL = ("weight", "missing", "transform", "requires", "otherwise", "shadow", "modes")
# What tells the rows of two data sets apart; each kind of data has some of them.
_OF_DATA = ("rows", "sha256", "files", "sha256_of_rows", "fingerprint", "held_out_of", "seed")

# Fields of [train] that say what a completion is sampled from, what an advantage is made of, and
# what the KL is to. A record in which one of them changes half way is that of two runs.
_OF_RECORD = (
    *("num_generations", "multi_objective_aggregation", "scale_rewards", "beta"),
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "generation_kwargs"),
    *("max_completion_length", "chat_template_kwargs", "mask_truncated_completions"),
    *("sync_ref_model", "ref_model_mixup_alpha", "ref_model_sync_steps"),
)
# Those that a run sets itself, or that are said elsewhere.
_NOT_SAID = (
    *("output_dir", "eval_on_start", "model_init_kwargs", "generation_batch_size", "local_rank"),
    *("hub_token", "resume_from_checkpoint", "reward_weights"),
)
# Those that the optimizer has from its checkpoint.
_OF_OPTIMIZER = ("weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "optim", "optim_args")
_OF_MODEL = ("name", "lora", "chat_template", "quantization")
# Names that this project has for fields of TRL.
_ALIASES = {"beta": "kl_coef", "epsilon": "clip_range"}


def value_changes(before: _Described, now: _Described) -> list[str]:
    """Why a reward's recorded values may not be those that it would give now; none if they are.

    Args:
        before: What a manifest keeps of the reward.
        now: The same, of the reward as it is now.
    """
    found = [key for key in _OF_VALUES if _value(before, key) != _value(now, key)]
    found += [
        key
        for key in _OF_POLICY
        if before.get("policy", {}).get(key) != now.get("policy", {}).get(key)
    ]
    if _hashes(before) != _hashes(now):
        found.append("input_files")
    if "version" in found and "source_sha256" in found:
        found.remove("source_sha256")  # another version has other code
    return found


def run_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What makes another run of one that goes on, a line each.

    Its rewards, weights and data, its model, and the settings that its record depends on.

    Args:
        before: The manifest of a run.
        now: That of the run as it would go on.
    """
    lines = []
    rewards, new = before.get("rewards", {}), now.get("rewards", {})
    for name in dict.fromkeys([*rewards, *new]):
        if name not in new:
            lines.append(f"rewards.{name} was there and is not")
        elif name not in rewards:
            lines.append(f"rewards.{name} is new ({new[name]['use']})")
        else:
            lines += _reward_changes(f"rewards.{name}", rewards[name], new[name])
    if list(rewards) != list(new) and set(rewards) == set(new):
        lines.append(f"rewards were in the order {', '.join(rewards)}, are {', '.join(new)}")
    for part in ("data", "eval"):
        lines += _data_changes(part, before.get(part), now.get(part))
    return [*lines, *_model_changes(before, now), *_args_changes(before, now, of_record=True)]


def setting_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What else of `[train]` differs, as a longer run or another learning rate, a line each.

    Args:
        before: The manifest of a run.
        now: That of the run as it would go on.
    """
    return _args_changes(before, now, of_record=False)


def _args_changes(
    before: Mapping[str, Any], now: Mapping[str, Any], *, of_record: bool
) -> list[str]:
    args, new = before.get("args", {}), now.get("args", {})
    lines = []
    for key in args:  # those of both: a library may have got further ones
        if key not in new or key in _NOT_SAID or (key in _OF_RECORD) != of_record:
            continue
        made = _differences(f"train.{_ALIASES.get(key, key)}", args[key], new[key])
        if key in _OF_OPTIMIZER:
            made = [
                f"{line}, but the optimizer goes on with that of the checkpoint" for line in made
            ]
        lines += made
    return lines


def _model_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    model, new = (m.get("config", {}).get("model") for m in (before, now))
    if model is None or new is None:  # a script's, which has no config
        model, new = ({"name": m.get("model")} for m in (before, now))
        if not model["name"] or not new["name"]:
            return []
    lines = []
    for key in _OF_MODEL:
        if key == "name" and _same_place(str(model.get(key)), str(new.get(key))):
            continue
        lines += _differences(f"model.{key}", model.get(key), new.get(key))
    return lines


def _same_place(one: str, other: str) -> bool:
    """True if two paths may lead to one folder: a config in a run's directory has absolute ones."""
    first, second = sorted((PurePath(one), PurePath(other)), key=PurePath.is_absolute)
    if first.is_absolute() == second.is_absolute():
        return first == second
    parts = [p for p in first.parts if p != ".."]
    return bool(parts) and list(second.parts[-len(parts) :]) == parts


def _reward_changes(where: str, before: _Described, now: _Described) -> list[str]:
    lines = []
    for key in value_changes(before, now):
        if key == "source_sha256":
            lines.append(f"{where}: its code was changed ({now['use']})")
        elif key == "input_files":
            lines.append(f"{where}: a file of its inputs was changed ({listed(_files(now))})")
        else:
            lines += _differences(f"{where}.{key}", _shown_of(before, key), _shown_of(now, key))
    for key in _OF_TOTAL:
        lines += _differences(f"{where}.{key}", before.get(key), now.get(key))
    return lines


def _data_changes(
    part: str, before: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> list[str]:
    if before is None or now is None:
        if before is now:
            return []
        return [f"[{part}] was {'not ' if before is None else ''}there and is {_not(now)}"]
    differ = [key for key in _OF_DATA if _content(before, key) != _content(now, key)]
    if not differ:
        return []
    lines = _differences(f"{part}.path", before.get("path"), now.get("path"))
    lines += _differences(f"{part}.rows", before.get("rows"), now.get("rows"))
    if set(differ) - {"rows"}:
        lines.append(f"{part}: its content is not what it was")
    return lines


def _content(data: Mapping[str, Any], key: str) -> Any:
    """A part of what tells data apart, without folders."""
    value = data.get(key)
    if key == "files" and isinstance(value, Mapping):
        return {PurePath(path).name: digest for path, digest in value.items()}
    return PurePath(value).name if key == "held_out_of" and isinstance(value, str) else value


def _not(now: object) -> str:
    return "not" if now is None else "now"


def _value(described: _Described, key: str) -> Any:
    """A part of a reward's description, without folders: a config may lie elsewhere by now."""
    value = described.get(key)
    if key == "use" and isinstance(value, str):
        file, colon, attr = value.rpartition(":")
        return f"{PurePath(file).name}:{attr}" if colon and file.endswith(".py") else value
    if key == "inputs" and isinstance(value, Mapping):
        return {
            name: {"file": PurePath(source["file"]).name}
            if isinstance(source, Mapping) and "file" in source
            else source
            for name, source in value.items()
        }
    return value


def _shown_of(described: _Described, key: str) -> Any:
    return described.get("policy", {}).get(key) if key in _OF_POLICY else described.get(key)


def _hashes(described: _Described) -> list[str]:
    return sorted(described.get("input_files", {}).values())


def _files(described: _Described) -> list[str]:
    return list(described.get("input_files", {}))


def _differences(where: str, before: Any, now: Any) -> list[str]:
    """What differs between two JSON values, a line for each leaf."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return [
            line
            for key in dict.fromkeys([*before, *now])
            for line in _differences(f"{where}.{key}", before.get(key), now.get(key))
        ]
    if before == now:
        return []
    return [f"{where} was {_shown(before)} and is {_shown(now)}"]


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
