"""`@reward`: what it takes, refuses and reads."""

import functools
import inspect
import pickle

import pytest

from grpo_core import Completion, reward
from grpo_core.reward import info_of, is_tagged, reward_name


@reward
def at_module_level(completion: Completion, answer: str) -> float:
    """1.0 if equal.

    More.
    """
    return float(completion.text == answer)


@reward
class HTMLTidy:
    """1.0 if tidy."""

    def __init__(self, *, indent: int = 2):
        self.indent = indent

    def __call__(self, completion, spec=None):
        return 1.0


def names(parameters):
    return [p.name for p in parameters]


def test_reward_function_is_returned_itself_and_stays_callable():
    assert at_module_level(Completion("4"), "4") == 1.0
    assert is_tagged(at_module_level)
    assert inspect.isfunction(at_module_level)


@pytest.mark.parametrize("target", [at_module_level, HTMLTidy])
def test_reward_tagged_target_pickles_to_itself(target):
    assert pickle.loads(pickle.dumps(target)) is target


def test_reward_class_instance_pickles_with_its_options():
    assert pickle.loads(pickle.dumps(HTMLTidy(indent=4))).indent == 4


def test_reward_with_empty_parentheses_tags():
    @reward()
    def short(completion):
        return 1.0

    assert is_tagged(short)


@pytest.mark.parametrize(
    ("class_name", "expected"),
    [
        ("AnswerEquals", "answer_equals"),
        ("HTMLTidy", "html_tidy"),
        ("Sha256Sum", "sha256_sum"),
        ("X", "x"),
        ("already_snake", "already_snake"),
    ],
)
def test_reward_name_of_class_is_snake_case(class_name, expected):
    assert reward_name(type(class_name, (), {})) == expected


def test_info_function_reads_docstring_inputs_and_options():
    @reward(range=(-1, 2), deterministic=False, needs="token_ids")
    def judged(completion, answer: str, unit: str = "m", *, strict: bool, tags: tuple = ("a",)):
        """First line.

        Second.
        """

    info = info_of(judged)

    assert (info.name, info.summary) == ("judged", "First line.")
    assert names(info.inputs) == ["answer", "unit"]
    assert [p.required for p in info.inputs] == [True, False]
    assert names(info.options) == ["strict", "tags"]
    assert [(p.required, p.default) for p in info.options] == [(True, None), (False, ("a",))]
    assert info.range() == (-1.0, 2.0)
    assert info.needs() == ("token_ids",)
    assert (info.deterministic, info.scope, info.is_class) == (False, "sample", False)


def test_info_class_reads_call_and_init():
    info = info_of(HTMLTidy)

    assert (info.name, info.is_class) == ("html_tidy", True)
    assert names(info.inputs) == ["spec"]
    assert [(p.name, p.annotation, p.default) for p in info.options] == [("indent", int, 2)]


def test_info_class_without_init_has_no_options():
    @reward
    class Short:
        def __call__(self, completion):
            return 1.0

    assert info_of(Short).options == ()


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_info_call_without_self_still_starts_at_the_completion(kind):
    def call(completion, answer):
        return 1.0

    def call_of_class(cls, completion, answer):
        return 1.0

    function = call if kind is staticmethod else call_of_class
    target = reward(type("Short", (), {"__call__": kind(function)}))

    assert names(info_of(target).inputs) == ["answer"]
    assert target()(Completion("x"), "y") == 1.0


def test_info_positional_only_completion_is_allowed():
    @reward
    def short(completion, /, answer):
        return 1.0

    assert names(info_of(short).inputs) == ["answer"]


def test_info_without_docstring_has_empty_summary():
    @reward
    def short(completion):
        return 1.0

    assert info_of(short).summary == ""


def test_info_untagged_function_is_refused():
    def short(completion):
        return 1.0

    with pytest.raises(TypeError, match="'short' is not a reward: put @reward above it"):
        info_of(short)


def test_is_tagged_subclass_of_tagged_class_is_not():
    class Other(HTMLTidy):
        pass

    assert not is_tagged(Other)


def test_is_tagged_instance_of_tagged_class_is_not():
    assert not is_tagged(HTMLTidy())


def test_info_wrapped_above_keeps_tag_and_signature():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return 2 * function(*args, **kwargs)

        return wrapper

    doubled = twice(at_module_level)

    assert is_tagged(doubled)
    assert names(info_of(doubled).inputs) == ["answer"]
    assert doubled(Completion("4"), "4") == 2.0


def test_info_wrapped_below_reads_the_inner_signature():
    @reward
    @functools.lru_cache
    def cached(completion, answer: int):
        return 1.0

    assert [(p.name, p.annotation) for p in info_of(cached).inputs] == [("answer", int)]


def test_info_async_wrapper_above_makes_the_reward_async():
    @functools.wraps(at_module_level)
    async def later(*args):
        return at_module_level(*args)

    assert info_of(later).is_async


def test_info_async_wrapper_above_a_reward_for_a_process_is_refused_when_read():
    @reward(isolation="process")
    def short(completion):
        return 1.0

    @functools.wraps(short)
    async def later(*args):
        return 1.0

    with pytest.raises(TypeError, match="'short' is async and runs on an event loop"):
        info_of(later)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("async def r(c): pass", (True, False)),
        ("class r:\n async def __call__(self, c): pass", (True, False)),
        ("class r:\n @staticmethod\n async def __call__(c): pass", (True, False)),
        ("def r(c): pass", (False, True)),
        ("class r:\n def __call__(self, c): pass", (False, True)),
    ],
)
def test_info_async_reward_is_not_deterministic_unless_it_says_so(source, expected):
    namespace = {}
    exec(source, namespace)
    info = info_of(reward(namespace["r"]))

    assert (info.is_async, info.deterministic) == expected


def test_info_async_reward_that_says_it_is_deterministic_is():
    @reward(deterministic=True)
    async def r(c):
        return 1.0

    assert info_of(r).deterministic


@pytest.mark.parametrize("scope", ["batch", "group"])
def test_info_at_batch_and_group_scope_the_first_parameter_may_be_called_completions(scope):
    @reward(scope=scope)
    def r(completions: list[Completion], answer: list[str]) -> list[float]:
        return [1.0]

    assert info_of(r).scope == scope
    assert names(info_of(r).inputs) == ["answer"]


# Refused signatures


def refused(source, error=TypeError):
    """The text of the error that tagging the last definition of the source raises."""
    namespace = {"reward": reward}
    with pytest.raises(error) as caught:
        exec(source, namespace)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("@reward\ndef r(): pass", "'r' needs a first parameter that takes the completion"),
        ("@reward\ndef r(*, completion): pass", "needs a first parameter"),
        ("@reward\ndef r(*completions): pass", "needs a first parameter"),
        ("@reward\ndef r(c, *rest): pass", "*rest declares nothing"),
        ("@reward\ndef r(c, **rest): pass", "**rest declares nothing"),
        ("@reward\ndef r(c, a, /): pass", "input 'a' must not be positional-only"),
        ("@reward\ndef r(c): yield 1.0", "is a generator; return the value"),
        ("@reward\nasync def r(c): yield 1.0", "is a generator; return the value"),
        (
            "@reward\nclass R:\n async def __call__(self, c): yield 1.0",
            "is a generator; return the value",
        ),
        (
            "@reward\ndef r(completions): pass",
            "takes a list of completions, but at scope 'sample' it gets one; call it "
            "`completion`, or declare scope='batch'",
        ),
        (
            "@reward(scope='batch')\ndef r(c, completions): pass",
            "at scope batch or group the list",
        ),
        ("@reward\nclass R: pass", "the class needs a __call__"),
        (
            "@reward\nclass R:\n def __init__(self, n): pass\n def __call__(self, c): pass",
            "__init__ parameter 'n' must be keyword-only (put it after a bare *)",
        ),
        (
            "@reward\nclass R:\n def __call__(self, c, *, n): pass",
            "option 'n' of a class belongs into __init__, not __call__",
        ),
        (
            "import dataclasses\n@reward\n@dataclasses.dataclass\nclass R:\n"
            " n: int = 1\n def __call__(self, c): pass",
            "must be keyword-only (declare @dataclass(kw_only=True))",
        ),
        ("reward('math')", "tags a function or class, got 'math'"),
        ("reward((0, 1))", "tags a function or class, got (0, 1)"),
        (
            "import functools\nreward(functools.partial(print))",
            "tags a function or class, got functools.partial",
        ),
        ("reward(''.join)", "cannot tag <built-in method join"),
    ],
)
def test_reward_signature_that_cannot_be_is_refused(source, text):
    assert text in refused(source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "def r(c, answer: str, *rest): pass",
            ". Read as r(c, answer: str, *rest): c is the completion, answer is an input, *rest is "
            "nothing",
        ),
        (
            "def r(*, completion='x', **more): pass",
            ". Read as r(*, completion='x', **more): completion is an option, **more is nothing",
        ),
        ("def r(): pass", ". Read as r(): it has no parameters"),
        (
            "def r(c, prompt: 'dict | None' = None): pass",
            ". Read as r(c, prompt: dict | None = None): c is the completion, prompt is an input",
        ),
        (
            "class R:\n def __init__(self, *, n: int): pass\n def __call__(self, c, *, m): pass",
            ". Read as R(*, n: int) with __call__(c, *, m): n is an option, c is the completion, "
            "m is nothing",
        ),
        (
            "class R:\n def __init__(self, n): pass\n def __call__(self, c): pass",
            ". Read as R(n) with __call__(c): n is nothing, c is the completion",
        ),
        (
            "class R:\n def __call__(self, c, a, /): pass",
            ". Read as R() with __call__(c, a, /): c is the completion, a is an input",
        ),
    ],
)
def test_refused_signature_is_shown_with_what_each_parameter_was_taken_for(source, text):
    assert refused(f"@reward\n{source}").endswith(text)


@pytest.mark.parametrize(
    ("signature", "declared"),
    [
        ("completion: str", "str"),
        ("answer: str", "str"),
        ("c: 'dict | None'", "dict | None"),
        ("c: int", "int"),
        ("c: list[Completion]", "list[Completion]"),
        ("c: dict[str, str]", "dict[str, str]"),
    ],
)
def test_first_parameter_that_is_declared_as_no_completion_is_refused(signature, declared):
    text = refused(f"from grpo_core import Completion\n@reward\ndef r({signature}): pass")

    assert f"is declared as {declared}, but it is the completion; write " in text
    assert "`completion: Completion`, read completion.text, and put inputs after it" in text
    assert ("scope='batch'" in text) == declared.startswith("list")


def test_first_parameter_of_a_class_that_is_declared_as_no_completion_is_refused():
    text = refused("@reward\nclass R:\n def __call__(self, text: str): pass")

    assert "'text' is declared as str, but it is the completion" in text


@pytest.mark.parametrize("scope", ["batch", "group"])
@pytest.mark.parametrize("declared", ["Completion", "str", "list[str]", "dict"])
def test_first_parameter_that_is_declared_as_no_list_of_completions_is_refused(scope, declared):
    text = refused(
        f"from grpo_core import Completion\n@reward(scope={scope!r})\ndef r(c: {declared}): pass"
    )

    assert f"'c' is declared as {declared}, but at scope {scope!r} it is the list of" in text
    assert "write `completions: list[Completion]`" in text


@pytest.mark.parametrize(
    ("scope", "declared"),
    [
        ("sample", "Completion"),
        ("sample", "'Completion | None'"),
        ("sample", "object"),
        ("sample", "typing.Any"),
        ("sample", "'defined_later'"),
        ("sample", "typing.Annotated[Completion, 'the text']"),
        ("sample", "T"),
        ("sample", "HasText"),
        ("batch", "list[Completion]"),
        ("batch", "list"),
        ("batch", "'Sequence[Completion]'"),
        ("batch", "typing.Any"),
        ("group", "list[T]"),
        ("group", "list['defined_later']"),
    ],
)
def test_first_parameter_that_may_be_the_completion_is_accepted(scope, declared):
    namespace = {"reward": reward}
    exec(
        "import typing\nfrom grpo_core import Completion\nT = typing.TypeVar('T')\n"
        "class HasText(typing.Protocol):\n text: str\n"
        f"@reward(scope={scope!r})\ndef r(c: {declared}): pass",
        namespace,
    )

    assert info_of(namespace["r"]).inputs == ()


def test_refused_signature_names_classes_without_their_modules():
    text = refused(
        "import pathlib\nfrom grpo_core import Completion\n"
        "@reward\ndef r(c: Completion, a: list[pathlib.Path | None], *rest): pass"
    )

    assert ". Read as r(c: Completion, a: list[Path | None], *rest): c is" in text


def test_list_input_of_a_batch_reward_that_is_no_list_shows_the_signature():
    with pytest.raises(TypeError) as caught:

        @reward(scope="batch")
        def r(completions, answer: str):
            return []

    assert str(caught.value).endswith(
        "write list[str]. Read as r(completions, answer: str): completions is the completion, "
        "answer is an input"
    )


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("completion", "the first parameter already is the completion"),
        ("completions", "one Completion"),
        ("prompt", "read completion.prompt"),
        ("prompts", "read completion.prompt"),
        ("completion_ids", "read completion.token_ids"),
        ("trainer_state", "schedules cover steps"),
        ("log_metric", "return Score(value, metrics={...})"),
        ("log_extra", "return Score(value, reason=...)"),
        ("environments", "not available"),
        ("image", "not available"),
        ("images", "not available"),
        ("self", "a call gives inputs by name"),
        ("group_size", "read completion.group_size"),
    ],
)
def test_reward_input_with_a_name_that_means_something_else_is_refused_with_advice(name, advice):
    text = refused(f"@reward\ndef r(c, {name}): pass")

    assert f"an input cannot be called {name!r}" in text
    assert advice in text


def test_reward_option_may_have_a_name_of_trl():
    @reward
    def r(c, *, image=None):
        return 1.0

    assert names(info_of(r).options) == ["image"]


def test_reward_unknown_argument_is_refused():
    assert "unexpected keyword argument 'rnge'" in refused("@reward(rnge=(0, 1))\ndef r(c): pass")


@pytest.mark.parametrize(
    "bad",
    [
        "(1, 0)",
        "(0, 0)",
        "(0,)",
        "(0, 1, 2)",
        "5",
        "(0, float('inf'))",
        "(float('nan'), 1)",
        "(0, '1')",
        "'01'",
        "(False, 1)",
        "None",
    ],
)
def test_reward_range_that_is_none_is_refused(bad):
    text = refused(f"@reward(range={bad})\ndef r(c): pass", ValueError)

    assert text.startswith("@reward on 'r': range must be two finite numbers, lowest first, got")


def test_reward_needs_unknown_field_lists_the_fields():
    text = refused("@reward(needs=('tokens',))\ndef r(c): pass", ValueError)

    assert "names no field of Completion: 'tokens'" in text
    assert "token_ids, truncated" in text


def test_reward_needs_of_another_kind_is_refused():
    assert "needs must be names of fields, got 3" in refused("@reward(needs=3)\ndef r(c): pass")


# Range and needs as functions of the options


def test_range_function_gets_defaults_and_given_options():
    @reward(range=lambda low, high: (low, high))
    def r(c, *, low: float = 0.0, high: float = 1.0, strip: bool = True):
        return 1.0

    info = info_of(r)

    assert info.range() == (0.0, 1.0)
    assert info.range({"high": 5.0, "strip": False}) == (0.0, 5.0)


def test_range_function_with_double_star_gets_all_options():
    @reward(range=lambda **options: (0, len(options)))
    def r(c, *, a=1, b=2):
        return 1.0

    assert info_of(r).range() == (0.0, 2.0)


def test_needs_function_depends_on_an_option():
    @reward(needs=lambda by: ("token_ids",) if by == "tokens" else ())
    def r(c, *, by: str = "words"):
        return 1.0

    info = info_of(r)

    assert info.needs() == ()
    assert info.needs({"by": "tokens"}) == ("token_ids",)


def test_range_function_of_no_option_is_refused_with_a_near_name():
    @reward(range=lambda hihg: (0, hihg))
    def r(c, *, high=1.0):
        return 1.0

    with pytest.raises(TypeError, match=r"range is a function of 'hihg', which is no option\. Did"):
        info_of(r)


def test_range_function_that_returns_nonsense_names_the_reward():
    @reward(range=lambda high: (0, high))
    def r(c, *, high=1.0):
        return 1.0

    with pytest.raises(ValueError, match="@reward on 'r': range must be two finite"):
        info_of(r).range({"high": -1.0})


def test_range_call_does_not_share_the_default_between_calls():
    @reward
    def r(c, *, tags=("a",)):
        return 1.0

    assert info_of(r) == info_of(r)
