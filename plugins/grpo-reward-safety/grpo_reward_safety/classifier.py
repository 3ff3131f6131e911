"""The reward `safety/classifier`."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_core import Completion, Fail, Score, reward
from grpo_reward_safety.checks import check_number
from grpo_reward_safety.scanned import LimitHit, Part, Scanned, answer_start, check_size

__all__ = ["Classifier", "Part"]


@reward(
    range=(0.0, 1.0),
    scope="batch",
    isolation="thread",
    timeout_s=300.0,
    on_timeout=0.0,
    on_error=0.0,
)
@dataclass(kw_only=True)
class Classifier(Scanned):
    """1.0 if a text classifier gives no unwanted label its threshold, else 0.0.

    Any model of `transformers` for sequence classification, from a folder or the hub, under
    `pip install "grpo-reward-safety[model]"`. Labels exclude each other (softmax) unless the
    model's config says otherwise or it has one label only (sigmoid). A text that is longer than
    the model takes is read in windows that overlap; each label counts with its highest value. One
    of more than `max_windows` windows is a hit, as is one over `max_bytes`. Padding is masked, so
    what else is in the batch changes nothing but the last digits. Deterministic, but for what the
    device does. A model that cannot be loaded or run makes the rows fail.

    The reason names the label and its probability; metrics are the highest probability of each
    label in `thresholds`, and the number of windows.

    How a lazy model could cheat: classifiers are easily pleased by an empty, a polite or a strange
    text, and a policy finds where this one errs. Gate it on `safety/answers` or on what is right,
    keep its weight small, and read replies. Measure its bias on your own texts first: many take
    the name of a group of people for an insult.

    Args:
        model: Folder or hub name.
        thresholds: By label, the probability from which on it is a hit.
        device: Such as "cpu" or "cuda:0"; "" takes an accelerator if there is one.
        batch_size: How many windows the model gets at once.
        max_length: Tokens of a window; 0 takes what the tokenizer says, at most 512.
        max_windows: How many windows of one text are read.
    """

    model: str
    thresholds: Mapping[str, float]
    device: str = ""
    batch_size: int = 32
    max_length: int = 0
    max_windows: int = 64

    def __post_init__(self) -> None:
        """Checks the options; the model is loaded by the first call."""
        super().__post_init__()
        check_number("batch_size", self.batch_size, 1, 100_000)
        check_number("max_windows", self.max_windows, 1, 100_000)
        if self.max_length:
            check_number("max_length", self.max_length, 8, 1_000_000)
        if not isinstance(self.thresholds, Mapping) or not self.thresholds:
            raise ValueError(
                f"thresholds must be a table of labels, got {self.thresholds!r}; write for example "
                f"thresholds = {{ toxic = 0.5 }}"
            )
        for label, threshold in self.thresholds.items():
            check_number(f"thresholds[{label!r}]", threshold, 0.0, 1.0)
        self._loaded: _Model | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """The options; the model is loaded where it is needed."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_loaded", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the options over."""
        self.__dict__.update(state, _loaded=None, _lock=threading.Lock())

    def __call__(self, completions: list[Completion]) -> list[Score | Fail]:
        """Scores the completions of a batch."""
        try:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _Model(self)
                return self._scored(self._loaded, completions)
        except ImportError as exc:
            why = f"{exc}; pip install 'grpo-reward-safety[model]'"
        except (OSError, ValueError, RuntimeError, KeyError) as exc:
            why = f"the model {self.model!r} cannot be used: {exc}"
        return [Fail(why)] * len(completions)

    def _scored(self, model: "_Model", completions: list[Completion]) -> list[Score | Fail]:
        scores: dict[int, Score | Fail] = {}
        windows: list[tuple[int, dict[str, list[int]]]] = []
        for i, completion in enumerate(completions):
            try:
                windows += [(i, one) for one in self._windows(model, completion)]
            except LimitHit as exc:
                scores[i] = Score(0.0, f"limit: {exc}", {"limit_hits": 1.0})
        best: dict[int, dict[str, float]] = {}
        count: dict[int, int] = {}
        for (i, _), row in zip(windows, model.rated([one for _, one in windows]), strict=True):
            known = best.setdefault(i, dict.fromkeys(row, 0.0))
            best[i] = {label: max(known[label], value) for label, value in row.items()}
            count[i] = count.get(i, 0) + 1
        for i, row in best.items():
            scores[i] = self._score(row, count[i])
        return [scores[i] for i in range(len(completions))]

    def _windows(self, model: "_Model", completion: Completion) -> list[dict[str, list[int]]]:
        start = answer_start(completion.text, completion.prefill, self.think_tag)
        text = completion.text if self.part == "whole" else completion.text[start:]
        check_size(text, self.max_bytes)
        windows = model.windows(text)
        if len(windows) > self.max_windows:
            raise LimitHit(f"{len(windows)} windows, max_windows is {self.max_windows}")
        return windows

    def _score(self, row: dict[str, float], windows: int) -> Score:
        hits = [
            f"{label} {row[label]:.2f}"
            for label, threshold in self.thresholds.items()
            if row[label] >= threshold
        ]
        more = f" in {windows} windows" if hits and windows > 1 else ""
        metrics = {label: row[label] for label in self.thresholds}
        metrics.update(windows=float(windows), limit_hits=0.0)
        return Score(0.0 if hits else 1.0, ", ".join(hits) + more, metrics)

    def close(self) -> None:
        """Frees the model; the next call loads it again."""
        with self._lock:
            self._loaded = None


class _Model:
    """A model with its tokenizer, on its device."""

    def __init__(self, options: Classifier) -> None:
        import torch  # noqa: TID251  # the extra `model`
        from transformers import (  # noqa: TID251
            AutoModelForSequenceClassification,
            AutoTokenizer,
        )

        self._torch = torch
        self._batch_size = options.batch_size
        self._tokenizer: Any = AutoTokenizer.from_pretrained(options.model)
        self._model: Any = AutoModelForSequenceClassification.from_pretrained(options.model)
        config = self._model.config
        self._labels = [str(config.id2label[i]) for i in range(config.num_labels)]
        unknown = [label for label in options.thresholds if label not in self._labels]
        if unknown:
            raise ValueError(
                f"it has no label {unknown[0]!r}; its labels are {', '.join(self._labels)}"
            )
        self._one_of = config.problem_type != "multi_label_classification" and len(self._labels) > 1
        if self._tokenizer.pad_token_id is None:
            if self._tokenizer.eos_token is None:
                self._batch_size = 1
            else:
                self._tokenizer.pad_token = self._tokenizer.eos_token
        if config.pad_token_id is None:  # a causal model looks for its last token by it
            config.pad_token_id = self._tokenizer.pad_token_id
        known = self._tokenizer.model_max_length
        self._max_length = options.max_length or min(512, known)
        device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._model.to(device).eval()
        self._device = device

    def windows(self, text: str) -> list[dict[str, list[int]]]:
        """The tokens of a text in windows, each with its special tokens."""
        clean = text.encode("utf-8", "replace").decode()  # a lone surrogate is no character
        stride = max(1, self._max_length // 8)
        made = self._tokenizer(
            clean,
            truncation=True,
            max_length=self._max_length,
            stride=stride,
            return_overflowing_tokens=True,
        )
        ids = made["input_ids"]
        if ids and isinstance(ids[0], int):  # a slow tokenizer gives the first window only
            ids = [ids]
            if made.get("num_truncated_tokens", 0) > 0:
                raise LimitHit("longer than a window, and the tokenizer is not a fast one")
        if not ids[0]:  # an empty text without special tokens
            blank = self._tokenizer.pad_token_id or 0
            ids = [[blank]]
        return [{"input_ids": list(one)} for one in ids]

    def rated(self, windows: Sequence[dict[str, list[int]]]) -> list[dict[str, float]]:
        """The probability of each label, for each window."""
        torch = self._torch
        # Those of like length together, so that little is padding.
        order = sorted(range(len(windows)), key=lambda i: len(windows[i]["input_ids"]))
        rows: dict[int, dict[str, float]] = {}
        for at in range(0, len(order), self._batch_size):
            chosen = order[at : at + self._batch_size]
            given = [windows[i]["input_ids"] for i in chosen]
            width = max(map(len, given))
            pad = self._tokenizer.pad_token_id or 0
            ids = torch.tensor([[*one, *[pad] * (width - len(one))] for one in given])
            mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in given])
            with torch.inference_mode():
                logits = self._model(
                    input_ids=ids.to(self._device), attention_mask=mask.to(self._device)
                ).logits.float()
            likely = logits.softmax(-1) if self._one_of else logits.sigmoid()
            for i, values in zip(chosen, likely.cpu().tolist(), strict=True):
                rows[i] = dict(zip(self._labels, values, strict=True))
        return [rows[i] for i in range(len(windows))]
