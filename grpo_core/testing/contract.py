"""`RewardContract`: what every reward keeps, one property a test."""

from __future__ import annotations

from typing import Any

from grpo_core.testing.attributes import facts_of
from grpo_core.testing.guard import contract_tests, guard
from grpo_core.testing.of_code import CodeTests
from grpo_core.testing.of_dependence import DependenceTests
from grpo_core.testing.of_robustness import RobustnessTests
from grpo_core.testing.of_values import ValueTests


# pytest takes the last of the bases first; the tests that others take for granted come first.
class RewardContract(CodeTests, RobustnessTests, DependenceTests, ValueTests):
    """A base class whose subclasses inherit a test for each property of a sound reward.

    A subclass names the reward and gives examples; pytest collects it whatever its name is. A test
    that cannot be judged is skipped with the reason: since another one, which failed, comes first,
    or since the reward has nothing of the kind.

    A test that a subclass replaces or drops needs a reason in `waived`; without one the class
    cannot be made.

    Attributes:
        reward: Its name, as a config has it, or the function or class.
        options: Its options, by name.
        inputs: Inputs of every example that does not give its own, by name.
        good: Examples that earn most: texts, lists of messages, `Completion` objects, pairs of one
            and its inputs, or `Case` objects.
        bad: Examples that earn less than any good one.
        attacks: What a model would try instead of the task; they earn less than any good one too.
        cases: A JSONL file with further examples, relative to the file of the class.
        none_inputs: By input, what a row is in which it is None: "scored", "skipped" or "failed".
        max_seconds: What a completion may take, in seconds; the best of three calls counts.
        max_import_seconds: What importing the reward's module may take, beside grpo-core.
        heavy: Packages that importing it must not load.
        waived: By test, why it does not fit this reward; it has to fail then, or is replaced.
    """

    __test__ = False  # until a subclass names a reward

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        guard(cls, contract_tests(RewardContract))

    @classmethod
    def teardown_class(cls) -> None:
        """Ends what the reward holds in this process."""
        facts_of(cls).close()
