"""What the data shows: its columns, which of them is the prompt, and which the gold answer."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from grpo_core.dataset import (
    PROMPT,
    columns_of,
    is_chat,
    nested_columns,
    template_fields,
    to_columns,
    with_prompts,
)
from grpo_core.errors import DataError, listed, near
from grpo_core.files import splits_in
from grpo_core.looking import ROWS, Sample
from grpo_core.sections import DataSection
from grpo_core.source import Datasets, Loaded, load, locate

# Names that such columns have, the likeliest first, without marks between words.
_PROMPTS = (
    "prompt",
    "question",
    "problem",
    "instruction",
    "query",
    "input",
    "task",
    "messages",
    "conversation",
    "text",
)
GOLDS = (
    "answer",
    "solution",
    "gold",
    "groundtruth",
    "target",
    "label",
    "expected",
    "expectedanswer",
    "finalanswer",
    "correctanswer",
    "reference",
    "output",
    "response",
)

# Splits of a folder, the likeliest first.
_TRAIN_SPLITS = ("train", "training")
_EVAL_SPLITS = ("validation", "valid", "val", "dev", "test", "testing", "eval")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlevel = 3
_SHORT.maxlist = _SHORT.maxdict = 3


class Column(NamedTuple):
    """A column.

    Attributes:
        name: Its name.
        kind: "text", "chat", "number", "truth value", "list", "object", "mixed", "nothing" or the
            name of a type.
        example: Its first value, shortened.
    """

    name: str
    kind: str
    example: str


@dataclass(frozen=True)
class Data:
    """Rows, looked at.

    Attributes:
        section: `[data]`, with the prompt that was chosen.
        columns: The columns, in order.
        n_rows: How many rows there are.
        prompt: Column of the prompt.
        others: Columns that could be the prompt too.
        golds: Columns that look like the gold answer, the likeliest first.
        sample: The rows as rewards see them.
        eval_split: A split of the same folder to evaluate on, or None.
    """

    section: DataSection
    columns: Sequence[Column]
    n_rows: int
    prompt: Column
    others: Sequence[str]
    golds: Sequence[str]
    sample: Sample
    eval_split: str | None

    @property
    def gold(self) -> str | None:
        """The column that most likely is the gold answer, or None."""
        return self.golds[0] if self.golds else None


def look_at_data(
    section: DataSection, folder: Path, datasets: Datasets | None, prompt: str | None
) -> Data:
    """Reads the rows and decides what the prompt and the gold answer are.

    Args:
        section: What to read.
        folder: The config's folder.
        datasets: Loads from the hub and from `save_to_disk`; None if that is not installed.
        prompt: Column of the prompt, or None to guess it.

    Raises:
        DataError: It leads nowhere, cannot be read, has no rows or nothing that can be a prompt.
        MissingExtraError: A library is needed that is not installed.
    """
    section, eval_split = _with_split(section, folder)
    loaded = load(section, folder, datasets, "data")
    names = columns_of(loaded.rows)
    columns = [_column(name, [row.get(name) for row in loaded.rows[:ROWS]]) for name in names]
    candidates = _prompts(columns, loaded, section.path, prompt)
    chosen = candidates[0]
    section = section.model_copy(update=_prompt_keys(chosen))
    return Data(
        section=section,
        columns=columns,
        n_rows=len(loaded.rows),
        prompt=chosen,
        others=[c.name for c in candidates[1:]],
        golds=[n for n in named(GOLDS, _golds(columns)) if n != chosen.name],
        sample=_sample(loaded, section),
        eval_split=eval_split,
    )


def _with_split(section: DataSection, folder: Path) -> tuple[DataSection, str | None]:
    """Takes the split to train on, where a folder mixes it with one to evaluate on."""
    found = locate(section.path, folder)
    try:
        splits = splits_in(Path(found.path)) if found.kind == "folder" else []
    except OSError:
        splits = []  # a folder that cannot be listed; reading it says so
    train = next((s for s in _TRAIN_SPLITS if s in splits), None)
    held = next((s for s in _EVAL_SPLITS if s in splits), None)
    if section.split is not None or train is None or held is None:
        return section, None
    return section.model_copy(update={"split": train}), held


def named(words: Iterable[str], columns: Collection[str]) -> list[str]:
    """The columns whose names are one of the words, in their order; then those that hold one."""
    words = list(words)
    equal = [c for word in words for c in columns if plain(c) == word]
    inside = [c for word in words for c in columns if word in plain(c)]
    return list(dict.fromkeys([*equal, *inside]))


def plain(name: str) -> str:
    """The name in small letters, without marks between words."""
    return re.sub(r"[\W_]+", "", name).lower()


def _column(name: str, values: Sequence[Any]) -> Column:
    present = [v for v in values if v is not None]
    kinds = {_kind(v) for v in present}
    kind = "nothing" if not kinds else kinds.pop() if len(kinds) == 1 else "mixed"
    return Column(name, kind, _SHORT.repr(present[0]) if present else "None")


def _kind(value: Any) -> str:
    if is_chat(value):
        return "chat"
    kinds: dict[type, str] = {str: "text", bool: "truth value", int: "number", float: "number"}
    kinds |= {list: "list", tuple: "list", dict: "object"}
    return kinds.get(type(value), type(value).__name__)


def _golds(columns: Sequence[Column]) -> list[str]:
    return [c.name for c in columns if c.kind not in ("chat", "nothing")]


def _prompts(
    columns: Sequence[Column], loaded: Loaded, path: str, given: str | None
) -> list[Column]:
    """The columns that can be the prompt, the likeliest first."""
    by_name = {c.name: c for c in columns}
    kinds = ", ".join(f"{c.name!r} ({c.kind})" for c in columns[:20])
    if given is not None:
        if given not in by_name:
            raise DataError(
                f"--prompt: {path} has no column {given!r}.{near(given, by_name)} Columns are "
                f"{listed(by_name)}."
            )
        if by_name[given].kind not in ("text", "chat"):
            raise DataError(
                f"--prompt: expected a column of texts or chats, got {given!r} "
                f"({by_name[given].kind}): {by_name[given].example}. Columns are {kinds}."
            )
        return [by_name[given]]
    able = {c.name for c in columns if c.kind == "text"}
    able |= {c.name for c in columns if c.kind == "chat" and not _ends_in_reply(c.name, loaded)}
    golds = named(GOLDS, by_name)
    likely = named(_PROMPTS, [n for n in by_name if n in able])
    rest = [n for n in by_name if n in able and n not in golds]
    found = [PROMPT] if PROMPT in able else list(dict.fromkeys([*likely, *rest]))
    if not found:
        raise DataError(
            f"no column of {path} looks like the prompt: expected texts, or chats that end with "
            f"the user, got {kinds}. Name one with --prompt, or give a function that makes rows "
            f"with a prompt: --data rows.py:rows"
        )
    return [by_name[n] for n in found]


def _ends_in_reply(column: str, loaded: Loaded) -> bool:
    """True if a chat of the column already holds the reply that is to be written."""
    chats = (row.get(column) for row in loaded.rows[:ROWS])
    return any(chat[-1]["role"] == "assistant" for chat in chats if chat is not None)


def _prompt_keys(column: Column) -> dict[str, str]:
    """The keys of `[data]` for the prompt: a template where one can name the column."""
    if column.name == PROMPT:
        return {}
    template = "{" + column.name + "}"
    try:
        fits = column.kind == "text" and template_fields(template) == [column.name]
    except DataError:
        fits = False
    return {"template": template} if fits else {"prompt": column.name}


def _sample(loaded: Loaded, section: DataSection) -> Sample:
    place = loaded.places.__getitem__
    try:
        rows = with_prompts(
            loaded.rows, prompt=section.prompt, template=section.template, place=place
        )
    except DataError as exc:
        raise DataError(f"{exc}; or name another column with --prompt") from None
    return Sample(to_columns(rows, place), loaded.places, nested_columns(rows))
