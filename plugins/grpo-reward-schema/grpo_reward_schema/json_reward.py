"""The reward `schema/json`."""

from __future__ import annotations

import json
from typing import Any

from grpo_core import Completion, Score, reward


@reward(range=(0.0, 1.0))
class Json:
    """1.0 if the completion is JSON that is valid against the schema, else 0.0."""

    def __call__(self, completion: Completion, schema: dict[str, Any]) -> Score:
        """Scores a completion."""
        from jsonschema.validators import validator_for
        from jsonschema_specifications import REGISTRY

        try:
            value = json.loads(completion.text)
        except (ValueError, RecursionError) as exc:
            return Score(0.0, reason=str(exc))
        valid = validator_for(schema)(schema, registry=REGISTRY).is_valid(value)
        return Score(float(valid))
