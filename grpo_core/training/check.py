"""The part of `grpo check` that needs the trainer's libraries; the model is not loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from grpo_core.catalog import Catalog
from grpo_core.errors import ConfigError, GrpoError, Problem
from grpo_core.loading import Part
from grpo_core.looking import ROWS
from grpo_core.preflight import FirstPrompt, Report, look, model_folder, positions_of
from grpo_core.reader import Draft
from grpo_core.training import hub
from grpo_core.training.config import DEFAULTS, train_problems
from grpo_core.training.prefill import prefill_of_chat, prefill_of_text
from grpo_core.training.prompts import render
from grpo_core.training.run import put_together


def check_run(draft: Draft, catalog: Catalog) -> Report:
    """Collects all that can be known about a run without its model; creates nothing.

    Args:
        draft: The config, as far as it could be read.
        catalog: The installed plugins.
    """
    report = look(draft, catalog, hub, train_problems)
    if not report.problems:
        try:
            put_together(draft, catalog, report.data)
        except ConfigError as exc:
            report.problems.extend(exc.problems)
        except GrpoError as exc:
            report.problems.append(Problem("", str(exc)))
    _look_at_tokenizer(draft, report)
    return report


def _look_at_tokenizer(draft: Draft, report: Report) -> None:
    """Pad token, chat template, first prompt and length of prompts, with a tokenizer at hand."""
    model, part = draft.sections.get("model"), report.data.train
    if model is None or any(p.where == "model.name" for p in report.problems):
        return
    folder = model_folder(draft)
    name = model.name if folder is None else str(folder)
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception as exc:  # a broken file raises whatever the libraries raise
        first = str(exc).strip().split("\n", 1)[0].rstrip(": ")
        if folder is None:
            report.notes.append(
                f"no tokenizer of {name!r} is on this machine: its pad token, its chat template "
                f"and the length of the prompts were not looked at"
            )
        else:
            text = f"the tokenizer in {folder} cannot be loaded: {type(exc).__name__}: {first}"
            report.problems.append(Problem("model.name", text))
        return
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            text = "the tokenizer has neither a pad token nor an end-of-text token; give it one"
            report.problems.append(Problem("model.name", text))
        else:
            text = f"the tokenizer has no pad token; {tokenizer.eos_token!r} is used for padding"
            report.warnings.append(Problem("model.name", text))
    if part is not None and part.fingerprint:
        _look_at_prompts(draft, tokenizer, part, folder, report)


def _look_at_prompts(
    draft: Draft, tokenizer: Any, part: Part, folder: Path | None, report: Report
) -> None:
    arguments = draft.train.get("chat_template_kwargs")
    arguments = arguments if isinstance(arguments, dict) else {}
    prompts = part.table["prompt"][:ROWS]
    place = part.sample.place
    rendered: list[str] = []
    for i, prompt in enumerate(prompts):
        try:
            rendered.append(render(prompt, tokenizer, arguments, place(i)))
        except ConfigError as exc:
            report.problems.extend(exc.problems)
            return
    is_chat = not isinstance(prompts[0], str)
    # A template writes its special tokens itself. The tokenizer would warn of long texts.
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers'
    try:
        ids = tokenizer(rendered, add_special_tokens=not is_chat)["input_ids"]
    finally:
        transformers_logging.set_verbosity(level)
    lengths = [len(one) for one in ids]
    prefill = (
        prefill_of_chat(tokenizer, prompts[0], arguments)
        if is_chat
        else prefill_of_text(rendered[0])
    )
    report.first_prompt = FirstPrompt(rendered[0], prefill, lengths[0])
    positions = None if folder is None else positions_of(folder)
    if positions is None:
        report.notes.append(
            "how many tokens the model takes is not known, so the length of the prompts was not "
            "compared"
        )
        return
    report.problems.extend(_too_long(draft, lengths, positions, part))


def _too_long(draft: Draft, lengths: Sequence[int], positions: int, part: Part) -> list[Problem]:
    reply = draft.train.get("max_completion_length", DEFAULTS["max_completion_length"])
    if not isinstance(reply, int):
        return []  # said already
    long = [i for i, n in enumerate(lengths) if n + reply > positions]
    if not long:
        return []
    shown = ", ".join(f"{part.sample.place(i)} ({lengths[i]} tokens)" for i in long[:3])
    text = (
        f"{len(long)} of the first {len(lengths)} prompts are too long: the model takes "
        f"{positions} tokens and max_completion_length is {reply}, which leaves "
        f"{max(0, positions - reply)} for the prompt: {shown}{', …' if len(long) > 3 else ''}; "
        f"leave these rows out or make train.max_completion_length smaller"
    )
    return [Problem("data", text)]
