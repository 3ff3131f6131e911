"""The reward `safety/clean`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_safety.answers import Answers
from grpo_reward_safety.checks import check_choices, check_options
from grpo_reward_safety.no_blocklist import NoBlocklist
from grpo_reward_safety.no_injection import NoInjection
from grpo_reward_safety.no_pii import NoPii
from grpo_reward_safety.no_prompt_leak import NoPromptLeak
from grpo_reward_safety.no_repetition import NoRepetition
from grpo_reward_safety.no_secrets import NoSecrets

__all__ = ["CHECKS", "Clean"]

CHECKS: Mapping[str, Callable[..., Any]] = {
    "answers": Answers,
    "no_blocklist": NoBlocklist,
    "no_secrets": NoSecrets,
    "no_pii": NoPii,
    "no_prompt_leak": NoPromptLeak,
    "no_repetition": NoRepetition,
    "no_injection": NoInjection,
}

_BY_DEFAULT = (
    "answers",
    "no_secrets",
    "no_pii",
    "no_prompt_leak",
    "no_repetition",
    "no_injection",
)


@reward(range=(0.0, 1.0), on_error=0.0)
@dataclass(kw_only=True)
class Clean:
    """The lowest score of several checks: 1.0 if none finds anything, else 0.0.

    Each check is also a reward by itself, and does here what it does there. A check that does not
    apply to a row (no system prompt, no token ids) is left out; where none applies the row is
    skipped. A check that fails makes the row fail, unless another one has found something. The
    model of `safety/classifier` runs on batches, so it is a reward of its own. Deterministic, but
    for patterns that reach their time limit.

    The reason names the checks that found something; metrics are 1 for each that did, else 0.

    How a lazy model could cheat: without `answers` the empty reply is the cleanest, and one that
    refuses everything comes next. `answers` is among the checks by default; with
    `answers = { refusals = "ignore" }` it stops silence only. It asks for no right answer: gate on
    that too.

    Args:
        checks: Which checks, of answers, no_blocklist, no_secrets, no_pii, no_prompt_leak,
            no_repetition and no_injection.
        answers: Options of `safety/answers`, and so on for each check.
        no_blocklist: Options of `safety/no_blocklist`; it needs terms or a file.
        no_secrets: Options of `safety/no_secrets`.
        no_pii: Options of `safety/no_pii`.
        no_prompt_leak: Options of `safety/no_prompt_leak`.
        no_repetition: Options of `safety/no_repetition`.
        no_injection: Options of `safety/no_injection`.
    """

    checks: Sequence[str] = _BY_DEFAULT
    answers: Mapping[str, Any] | None = None
    no_blocklist: Mapping[str, Any] | None = None
    no_secrets: Mapping[str, Any] | None = None
    no_pii: Mapping[str, Any] | None = None
    no_prompt_leak: Mapping[str, Any] | None = None
    no_repetition: Mapping[str, Any] | None = None
    no_injection: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Builds the checks.

        Raises:
            ValueError: A check is unknown, or an option of one is not right.
        """
        check_choices("checks", self.checks, tuple(CHECKS))
        if not self.checks:
            raise ValueError(f"checks must not be empty; write some of {', '.join(CHECKS)}")
        for name in CHECKS:
            if getattr(self, name) is not None and name not in self.checks:
                raise ValueError(
                    f"{name} has options, but is not among the checks; add it to checks = "
                    f"{list(self.checks)!r}, or leave its options out"
                )
        self._built = {name: _built(name, getattr(self, name)) for name in self.checks}

    def __call__(self, completion: Completion) -> Score | Skip | Fail:
        """Scores a completion by the lowest score of the checks."""
        scores: dict[str, Score] = {}
        failed: list[str] = []
        skipped: list[str] = []
        for name, check in self._built.items():
            if getattr(check, "unit", "") == "tokens" and completion.token_ids is None:
                skipped.append(f"{name}: no token ids")
                continue
            outcome = check(completion)
            if isinstance(outcome, Score):
                scores[name] = outcome
            elif isinstance(outcome, Fail):
                failed.append(f"{name}: {outcome.reason}")
            else:
                skipped.append(f"{name}: {outcome.reason}")
        value = min((score.value for score in scores.values()), default=1.0)
        if failed and value > 0.0:
            return Fail("; ".join(failed))
        if not scores:
            return Skip("; ".join(skipped))
        reasons = [f"{name}: {score.reason}" for name, score in scores.items() if score.value < 1]
        # Every check each time, so that the mean of a metric is over all rows.
        metrics = {name: 0.0 for name in self._built}
        metrics.update((name, 1.0 - score.value) for name, score in scores.items())
        metrics["limit_hits"] = sum(s.metrics.get("limit_hits", 0.0) for s in scores.values())
        return Score(value, "; ".join(reasons), metrics)


def _built(name: str, options: Mapping[str, Any] | None) -> Callable[[Completion], Any]:
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"{name} must be a table of options, got {options!r}")
    check_options(name, options or {}, CHECKS[name], f"`grpo plugins show safety/{name}`")
    try:
        built: Callable[[Completion], Any] = CHECKS[name](**(options or {}))
    except TypeError as exc:
        raise ValueError(
            f"{name}: {exc}; `grpo plugins show safety/{name}` lists its options"
        ) from exc
    except ValueError as exc:
        raise ValueError(f"{name}.{exc}") from exc
    return built
