"""All that can be known about a run with the trainer's libraries; the model is not loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from grpo_core.batch import launched_processes
from grpo_core.catalog import Catalog
from grpo_core.errors import ConfigError, GrpoError, Problem
from grpo_core.loading import Part
from grpo_core.looking import ROWS
from grpo_core.preflight import FirstPrompt, Report, look, model_folder, positions_of
from grpo_core.reader import Draft
from grpo_core.training import hub
from grpo_core.training.backends import backend_problems
from grpo_core.training.config import DEFAULTS, train_problems
from grpo_core.training.prefill import prefill_of_chat, prefill_of_text
from grpo_core.training.prepared import Prepared, put_together
from grpo_core.training.prompts import render


class Checked(NamedTuple):
    """A run that was looked at.

    Attributes:
        report: What was found.
        prepared: What the trainer takes; None if there are problems.
        tokenizer: The model's, or None if it could not be loaded.
    """

    report: Report
    prepared: Prepared | None
    tokenizer: Any


def check_run(
    draft: Draft, catalog: Catalog, *, download: bool = False, processes: int | None = None
) -> Checked:
    """Collects all that can be known about a run without its model; creates nothing.

    Args:
        draft: The config, as far as it could be read.
        catalog: The installed plugins.
        download: Fetch a tokenizer that is not on this machine, if nothing else is wrong.
        processes: How many processes train; default: those that a launcher has started.
    """
    launched = launched_processes()
    processes = launched if processes is None else processes
    report = look(draft, catalog, hub, train_problems, processes)
    report.problems += backend_problems(draft.train, draft.source.parent, processes)
    prepared = None
    if not report.problems:
        try:
            prepared = put_together(draft, catalog, report.data, stands_for=processes // launched)
        except ConfigError as exc:
            report.problems.extend(exc.problems)
        except GrpoError as exc:
            report.problems.append(Problem("", str(exc)))
    tokenizer = _load_tokenizer(draft, report, download=download and not report.problems)
    if tokenizer is not None:
        _look_at_tokenizer(draft, tokenizer, report)
    return Checked(report, prepared, tokenizer)


def model_name(draft: Draft) -> str:
    """The model as the libraries take it: its folder, or its hub id."""
    folder = model_folder(draft)
    return draft.sections["model"].name if folder is None else str(folder)


def _load_tokenizer(draft: Draft, report: Report, *, download: bool) -> Any:
    model = draft.sections.get("model")
    if model is None or any(p.where == "model.name" for p in report.problems):
        return None
    folder = model_folder(draft)
    try:
        return AutoTokenizer.from_pretrained(
            model_name(draft),
            local_files_only=not download,
            padding_side="left",
            truncation_side="left",
        )
    except Exception as exc:  # a broken file raises whatever the libraries raise
        first = str(exc).strip().split("\n", 1)[0].rstrip(": ")
        if folder is not None:
            text = f"the tokenizer in {folder} cannot be loaded: {type(exc).__name__}: {first}"
            report.problems.append(Problem("model.name", text))
        elif download:
            text = (
                f"{model.name!r} is neither a folder ({draft.source.parent / model.name}) nor a "
                f"hub id that can be loaded: {first}"
            )
            report.problems.append(Problem("model.name", text))
        else:
            report.notes.append(
                f"no tokenizer of {model.name!r} is on this machine: its pad token, its chat "
                f"template and the length of the prompts were not looked at"
            )
    return None


def _look_at_tokenizer(draft: Draft, tokenizer: Any, report: Report) -> None:
    """Pad token, chat template, first prompt and length of prompts."""
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            text = "the tokenizer has neither a pad token nor an end-of-text token; give it one"
            report.problems.append(Problem("model.name", text))
        else:
            text = f"the tokenizer has no pad token; {tokenizer.eos_token!r} is used for padding"
            report.warnings.append(Problem("model.name", text))
    folder = model_folder(draft)
    positions = None if folder is None else positions_of(folder)
    parts = {"data": report.data.train, "eval": report.data.evaluation}
    usable = {name: part for name, part in parts.items() if part and part.fingerprint}
    for name, part in usable.items():
        try:
            rendered, lengths = _rendered(draft, tokenizer, part)
        except ConfigError as exc:
            report.problems.extend(exc.problems)
            continue
        if name == "data":
            _look_at_chat(draft, tokenizer, part.table["prompt"][0], report)
            prefill = _prefill(draft, tokenizer, part.table["prompt"][0])
            report.first_prompt = FirstPrompt(rendered[0], prefill, lengths[0])
        if positions is not None:
            report.problems.extend(_too_long(draft, name, lengths, positions, part))
    if positions is None and usable:
        report.notes.append(
            "how many tokens the model takes is not known, so the length of the prompts was not "
            "compared"
        )


def _look_at_chat(draft: Draft, tokenizer: Any, prompt: Any, report: Report) -> None:
    """Texts for a model that has learnt to answer chats."""
    if isinstance(prompt, str) and tokenizer.chat_template and draft.sections["data"].chat is None:
        text = (
            "the prompts are plain texts, which the model's chat template does not render. Make "
            "each a user's message with chat = true, or give a system message with system; chat = "
            "false keeps the texts"
        )
        report.warnings.append(Problem("data", text))


def _template_arguments(draft: Draft) -> dict[str, Any]:
    arguments = draft.train.get("chat_template_kwargs")
    return arguments if isinstance(arguments, dict) else {}


def _prefill(draft: Draft, tokenizer: Any, prompt: Any) -> str:
    if isinstance(prompt, str):
        return prefill_of_text(prompt)
    return prefill_of_chat(tokenizer, prompt, _template_arguments(draft))


def _rendered(draft: Draft, tokenizer: Any, part: Part) -> tuple[list[str], list[int]]:
    """The first prompts as the model reads them, with their lengths in tokens."""
    prompts, place = part.table["prompt"][:ROWS], part.sample.place
    arguments = _template_arguments(draft)
    rendered = [render(p, tokenizer, arguments, place(i)) for i, p in enumerate(prompts)]
    # A template writes its special tokens itself. The tokenizer would warn of long texts.
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers'
    try:
        ids = tokenizer(rendered, add_special_tokens=isinstance(prompts[0], str))["input_ids"]
    finally:
        transformers_logging.set_verbosity(level)
    return rendered, [len(one) for one in ids]


def _too_long(
    draft: Draft, where: str, lengths: Sequence[int], positions: int, part: Part
) -> list[Problem]:
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
    return [Problem(where, text)]
