"""`TrlFunction`: untagged functions are called the way TRL does."""

import copy
import functools
import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from grpo_core.completion import Completion
from grpo_core.errors import ConfigError
from grpo_core.outcome import Outcome
from grpo_core.scoring.runner import Batch
from grpo_core.scoring.trl_batch import PromptMessages, PromptText, TrlBatch
from grpo_core.scoring.trl_style import TrlFunction

CHAT = [{"role": "user", "content": "2+2?"}]
REPLY = [{"role": "assistant", "content": "4"}]


def text_batch(n: int = 2, **arguments: Any) -> TrlBatch:
    """Prompts p0, p1, …; replies c0, …; a column answer a0, …; and what TRL would add."""
    rows = [{"prompt": f"p{i}", "answer": f"a{i}", "level": i} for i in range(n)]
    return TrlBatch(
        [f"p{i}" for i in range(n)],
        [f"c{i}" for i in range(n)],
        rows,
        {"completion_ids": [[i, i + 1] for i in range(n)], **arguments},
    )


def chat_batch() -> TrlBatch:
    row = {"prompt": CHAT, "answer": "4", "tests": [{"in": [1]}]}
    return TrlBatch([CHAT], [REPLY], [row], {"completion_ids": [[1]]})


def scored(function: Callable[..., Any], batch: TrlBatch | None = None) -> list[Outcome]:
    return TrlFunction(function, "f").score(text_batch() if batch is None else batch)


def values(function: Callable[..., Any], batch: TrlBatch | None = None) -> list[float | None]:
    return [o.value for o in scored(function, batch)]


def recorder() -> tuple[Callable[..., list[float]], dict[str, Any]]:
    seen: dict[str, Any] = {}

    def record(completions, **kwargs):
        seen.update(kwargs, completions=completions)
        return [1.0] * len(completions)

    return record, seen


def test_call_gets_only_what_the_signature_names():
    seen = {}

    def f(completions, answer):
        seen.update(completions=completions, answer=answer)
        return [1.0, 0.0]

    assert values(f) == [1.0, 0.0]
    assert seen == {"completions": ["c0", "c1"], "answer": ["a0", "a1"]}


def test_call_with_kwargs_gets_everything_trl_gives_and_no_prompt():
    record, seen = recorder()
    state, log = object(), print

    scored(record, text_batch(trainer_state=state, log_extra=log, log_metric=log))

    assert seen == {
        "prompts": ["p0", "p1"],
        "completions": ["c0", "c1"],
        "completion_ids": [[0, 1], [1, 2]],
        "answer": ["a0", "a1"],
        "level": [0, 1],
        "trainer_state": state,
        "log_extra": log,
        "log_metric": log,
    }


def test_call_keyword_only_parameters_are_given():
    assert values(lambda *, level: level) == [0.0, 1.0]


def test_call_parameter_with_default_is_given_if_it_is_known():
    def f(completions, level=None, missing="kept", trainer_state=None):
        return [len(missing) + x + (0 if trainer_state is None else 100) for x in level]

    assert values(f) == [4.0, 5.0]


def test_call_order_of_parameters_does_not_matter():
    assert values(lambda level, completions, prompts: level) == [0.0, 1.0]


def test_call_column_named_like_an_argument_of_trl_never_arrives():
    rows = [{"completions": "gold", "trainer_state": 5, "answer": "a"}]
    record, seen = recorder()

    scored(record, TrlBatch(["p"], ["c"], rows, {}))

    assert seen == {"prompts": ["p"], "completions": ["c"], "answer": ["a"]}


def test_call_column_completion_arrives_only_by_name():
    rows = [{"completion": "gold"}]
    record, seen = recorder()
    scored(record, TrlBatch(["p"], ["c"], rows, {}))

    assert "completion" not in seen
    assert values(
        lambda completions, completion: [len(c) for c in completion],
        TrlBatch(["p"], ["c"], rows, {}),
    ) == [4.0]


def test_function_of_one_completion_says_to_put_reward_above_it():
    def loads(completion, answer):
        return 0.0

    with pytest.raises(ConfigError, match=r"function 'loads' takes one completion.* put @reward"):
        TrlFunction(loads, "good")


def test_call_rows_of_unequal_columns_give_none():
    rows = [{"a": 1}, {"b": 2}]
    record, seen = recorder()

    scored(record, TrlBatch(["p", "q"], ["c", "d"], rows, {}))

    assert (seen["a"], seen["b"]) == ([1, None], [None, 2])


def test_call_of_an_empty_batch_is_not_made():
    def never(completions):
        raise AssertionError("called")

    assert TrlFunction(never, "f").score(TrlBatch([], [], [], {})) == []


def test_call_without_a_required_argument_is_a_fault_and_not_made():
    (first, _) = scored(lambda completions, trainer_state: [1.0, 1.0])

    assert first.fault
    assert first.reason == "was not called: it needs trainer_state, which is not known here"


def test_call_time_is_divided_evenly():
    completions = [Completion(f"c{i}") for i in range(4)]

    column = TrlFunction(lambda completions: [1.0] * 4, "f").run(Batch(completions), {})

    assert len(set(column.seconds)) == 1
    assert len(column.seconds) == 4


def prompts_of(batch: TrlBatch) -> Sequence[Any]:
    record, seen = recorder()
    scored(record, batch)
    return seen["prompts"]


def test_prompt_text_is_a_string_that_knows_its_row():
    prompt = prompts_of(text_batch())[1]

    assert isinstance(prompt, str)
    assert prompt == "p1"
    assert hash(prompt) == hash("p1")
    assert prompt.get("answer") == "a1"
    assert prompt.get("gone") is None
    assert prompt.get("gone", "d") == "d"
    assert type(prompt.upper()) is str


def test_prompt_chat_is_a_list_that_knows_its_row():
    (prompt,) = prompts_of(chat_batch())

    assert isinstance(prompt, list)
    assert prompt == CHAT
    assert prompt[-1]["content"] == "2+2?"
    assert prompt.get("answer", "") == "4"


@pytest.mark.parametrize("batch", [text_batch(), chat_batch()], ids=["text", "chat"])
def test_prompt_survives_pickle_copy_and_json(batch):
    prompt = prompts_of(batch)[0]

    for again in (pickle.loads(pickle.dumps(prompt)), copy.deepcopy(prompt)):
        assert again == prompt
        assert again.get("answer") == prompt.get("answer")
        assert type(again) in (PromptText, PromptMessages)
    assert json.loads(json.dumps(prompt)) == prompt


def test_prompt_column_with_none_is_none_and_not_the_default():
    batch = TrlBatch(["p"], ["c"], [{"answer": None}], {})

    assert prompts_of(batch)[0].get("answer", "d") is None


def spoil(prompts, completions, completion_ids, tests, answer, **kwargs):
    """Edits in place whatever it is given."""
    prompts[0][0]["content"] = "X"
    prompts[0].append("X")
    prompts[0].get("tests")[0]["in"].append("X")
    prompts[0].row["answer"] = "X"
    completions[0][0]["content"] = "X"
    completions.append("X")
    completion_ids[0].append("X")
    tests[0][0]["in"].append("X")
    answer[0] = "X"
    return [1.0]


def test_edits_in_place_do_not_reach_the_next_function():
    batch = chat_batch()
    before = copy.deepcopy(batch)

    assert values(spoil, batch) == [1.0]
    assert batch == before


def test_edits_of_nested_content_do_not_reach_the_next_function():
    reply = [{"role": "assistant", "content": [{"type": "text", "text": "4"}]}]
    batch = TrlBatch([CHAT], [reply], [{}], {})

    def f(completions):
        completions[0][0]["content"][0]["text"] = "X"
        return [1.0]

    scored(f, batch)

    assert reply[0]["content"] == [{"type": "text", "text": "4"}]


async def judge(completions):
    return [1.0]


async def stream(completions):
    yield 1.0


class AsyncCall:
    async def __call__(self, completions):
        return [1.0]


@pytest.mark.parametrize("function", [judge, functools.partial(judge), AsyncCall()])
def test_function_that_is_async_is_known_as_such(function):
    assert TrlFunction(function, "f").is_async


def test_function_that_is_an_async_generator_is_refused():
    with pytest.raises(ConfigError, match="it is an async generator"):
        TrlFunction(stream, "f")


def test_model_is_refused_with_advice():
    torch = pytest.importorskip("torch")

    with pytest.raises(ConfigError, match=r"it is a model \(Linear\); .* wrap it in a function"):
        TrlFunction(torch.nn.Linear(1, 1), "f")


def test_function_that_returns_a_coroutine_is_a_fault_without_a_warning():
    outcomes = scored(lambda completions: judge(completions))

    assert "write the reward as `async def`" in outcomes[0].reason
    assert outcomes[0].fault


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, completions, level):
        return [self.factor * x for x in level]

    def method(self, level):
        return self(None, level)


@pytest.mark.parametrize(
    "function",
    [
        Scaled(3.0),
        Scaled(3.0).method,
        functools.partial(lambda completions, level, by: [by * x for x in level], by=3.0),
        functools.partial(functools.partial(Scaled(3.0))),
    ],
    ids=["instance", "method", "partial", "nested partial"],
)
def test_function_of_any_callable_kind_is_called(function):
    assert values(function) == [0.0, 3.0]


def test_function_with_positional_only_parameter_is_refused():
    def f(completions, /):
        return [1.0]

    with pytest.raises(ConfigError, match="parameter 'completions' is positional-only"):
        TrlFunction(f, "f")


def test_function_without_a_signature_is_refused():
    with pytest.raises(ConfigError, match=r"its signature cannot be read .*wrap it in a def"):
        TrlFunction(max, "max")


def test_problems_parameter_that_nothing_fills_is_named_with_near_names():
    def judge(completion_text, answer, solution=None, **kwargs):
        return [1.0]

    function = TrlFunction(judge, "f")

    (problem,) = function.problems(["prompt", "answer"], "rewards.f")

    assert problem.where == "rewards.f"
    assert (
        "function 'judge' has a parameter 'completion_text' that is neither a column nor an "
        in (problem.message)
    )
    assert "Did you mean 'completions'" in problem.message
    assert "Columns are answer, prompt; TRL's arguments are " in problem.message


def test_problems_of_arguments_and_columns_are_none():
    function = TrlFunction(lambda prompts, trainer_state, answer, *args: [1.0], "f")

    assert function.problems(["answer"], "f") == []


def test_from_completions_text_has_trls_form():
    batch = TrlBatch.from_completions([Completion("c", "p", columns={"a": 1}, token_ids=(5, 6))])

    assert batch == TrlBatch(["p"], ["c"], [{"a": 1}], {"completion_ids": [[5, 6]]})


def test_from_completions_chat_has_trls_form():
    reply = [{"role": "assistant", "content": "4", "reasoning_content": "2+2", "name": "n"}]
    batch = TrlBatch.from_completions([Completion.from_data(reply, CHAT)])

    assert (batch.prompts, batch.completions, batch.arguments) == ([CHAT], [reply], {})


def test_from_completions_ids_unknown_for_one_are_left_out():
    batch = TrlBatch.from_completions([Completion("a", token_ids=(1,)), Completion("b")])

    assert batch.arguments == {}
