"""`OutcomeCache`: outcomes of deterministic rewards, by what they were computed from."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome

# 64 MiB hold some 200,000 outcomes: the completions of several thousand steps.
MAX_BYTES = 64 * 2**20

# What an entry costs beside its texts: key, outcome and their places in the dictionary.
_ENTRY_BYTES = 320


class OutcomeCache:
    """Outcomes by key, the least recently used dropped when their bytes exceed the bound.

    Safe for several threads.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Takes the bound in bytes."""
        self._max = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[bytes, Outcome] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of outcomes that are kept."""
        return len(self._entries)

    @property
    def n_bytes(self) -> int:
        """Bytes that are taken up, estimated."""
        return self._bytes

    def get(self, key: bytes) -> Outcome | None:
        """The outcome that is kept under the key, or None."""
        with self._lock:
            outcome = self._entries.get(key)
            if outcome is not None:
                self._entries.move_to_end(key)
            return outcome

    def put(self, key: bytes, outcome: Outcome) -> None:
        """Keeps an outcome, if it says something about the completion.

        A failure or a deadline may go otherwise the next time, so neither is kept.
        """
        if outcome.status not in ("scored", "skipped"):
            return
        with self._lock:
            if key not in self._entries:
                self._bytes += _size(outcome)
            self._entries[key] = outcome
            while self._bytes > self._max and self._entries:
                self._bytes -= _size(self._entries.popitem(last=False)[1])

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0


def key_of(reward: bytes, completion: Completion, inputs: Mapping[str, Any]) -> bytes | None:
    """What an outcome depends on, as 16 bytes; None if it cannot be written down.

    Args:
        reward: Hash of the reward: its name, version, source and options.
        completion: The completion; its columns do not count.
        inputs: The inputs that differ from row to row.
    """
    seen = (
        completion.text,
        completion.prompt,
        completion.prompt_messages,
        completion.reply,
        completion.raw_text,
        completion.token_ids,
        completion.truncated,
        completion.prefill,
        inputs,
    )
    try:
        written = pickle.dumps(seen, pickle.HIGHEST_PROTOCOL)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an object of the data that cannot be pickled: it is not cached
        return None
    return hashlib.blake2b(written, digest_size=16, key=reward).digest()


def _size(outcome: Outcome) -> int:
    return _ENTRY_BYTES + len(outcome.reason) + 120 * len(outcome.metrics)
