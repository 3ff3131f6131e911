"""Training on TRL: the only folder that imports torch, transformers, trl, peft and accelerate."""

from importlib.util import find_spec

from grpo_core.errors import MissingExtraError

# Checked here, once for every module of the folder, so that the message names the extra and not
# whichever library happens to be imported first.
if any(find_spec(name) is None for name in ("torch", "trl", "transformers", "peft", "datasets")):
    raise MissingExtraError("training", "train")
