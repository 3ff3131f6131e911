"""The completions of a run as they were scored: written while it trains, read by a replay."""

from importlib.util import find_spec

from grpo_core.errors import MissingExtraError

if find_spec("pyarrow") is None:
    raise MissingExtraError("the record of completions", "train")
