"""`@reward` tags a function or class as a reward; `RewardInfo` is what its signature declares."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

from grpo_core.completion import Completion
from grpo_core.errors import listed, near
from grpo_core.signature import (
    POSITIONAL,
    alternatives,
    call_parameters,
    init_options,
    is_async,
    named_parameters,
    names_for,
    parameter_of,
    showing_signature,
)
from grpo_core.signature import Parameter as Parameter
from grpo_core.tag import Isolation as Isolation
from grpo_core.tag import OnError as OnError
from grpo_core.tag import OnTimeout as OnTimeout
from grpo_core.tag import Range as Range
from grpo_core.tag import Scope as Scope
from grpo_core.tag import Tag, checked, checked_needs, checked_range

T = TypeVar("T", bound=Callable[..., Any])

_TAG = "__grpo_reward__"

# Input names that mean something else in a call, each with what the author wants instead.
_REFUSED_INPUTS = {
    "completions": "the first parameter is one Completion, or at scope batch or group the list",
    "completion": "the first parameter already is the completion",
    "prompt": "read completion.prompt",
    "prompts": "read completion.prompt of each completion",
    "completion_ids": "read completion.token_ids",
    "trainer_state": "rewards do not see the trainer; schedules cover steps",
    "log_metric": "return Score(value, metrics={...})",
    "log_extra": "return Score(value, reason=...)",
    "environments": "environments are not available to rewards",
    "image": "images are not available to rewards",
    "images": "images are not available to rewards",
    "self": "a call gives inputs by name, and a method has this one; bind another name",
    "group_size": "read completion.group_size, or bind another name to the column",
}


@dataclass(frozen=True)
class RewardInfo:
    """What a reward's signature, docstring and tag declare.

    How it is run is the author's suggestion; a config decides.

    Attributes:
        name: Name inside its plugin; a class `AnswerEquals` is called `answer_equals`.
        target: The tagged function or class.
        summary: First line of the docstring.
        inputs: Positional parameters after the completion; columns unless bound elsewhere. Their
            types are those of one row, also where a call gets a list of them.
        options: Keyword-only parameters, of `__init__` for a class.
        deterministic: False if two calls on the same row may differ.
        scope: What one call sees.
        is_async: True if a call must be awaited.
        isolation: Where it runs; None: wherever the engine finds best.
        timeout_s: Seconds a call may take; None: the engine's default.
        on_timeout: What a late call counts as: "low" is the low end of the range.
        on_error: What a failed call counts as.
    """

    name: str
    target: Callable[..., Any]
    summary: str
    inputs: tuple[Parameter, ...]
    options: tuple[Parameter, ...]
    deterministic: bool
    scope: Scope
    is_async: bool
    isolation: Isolation | None
    timeout_s: float | None
    on_timeout: OnTimeout
    on_error: OnError
    _range: Range | Callable[..., Range]
    _needs: Sequence[str] | Callable[..., Sequence[str]]

    @property
    def is_class(self) -> bool:
        """True if the reward is a class, built once with its options."""
        return isinstance(self.target, type)

    def range(self, options: Mapping[str, Any] | None = None) -> Range:
        """Lowest and highest value the reward may return under the options."""
        if callable(self._range):
            return checked_range(self._of_options(self._range, options), self._where)
        return self._range

    def needs(self, options: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Fields of the completion that must be known, else the row is skipped."""
        if callable(self._needs):
            return checked_needs(self._of_options(self._needs, options), self._where)
        return tuple(self._needs)

    @property
    def _where(self) -> str:
        return f"@reward on {self.name!r}"

    def _of_options(self, function: Callable[..., Any], options: Mapping[str, Any] | None) -> Any:
        values = {o.name: o.default for o in self.options if not o.required}
        values.update(options or {})
        taken = named_parameters(function)
        if taken is not None:  # it names only the options it depends on
            values = {name: value for name, value in values.items() if name in taken}
        return function(**values)


@overload
def reward(target: T, /) -> T: ...
@overload
def reward(
    *,
    range: Range | Callable[..., Range] = ...,
    scope: Scope = ...,
    deterministic: bool | None = ...,
    isolation: Isolation | None = ...,
    timeout_s: float | None = ...,
    on_timeout: OnTimeout | None = ...,
    on_error: OnError = ...,
    needs: Sequence[str] | Callable[..., Sequence[str]] = ...,
) -> Callable[[T], T]: ...
def reward(
    target: T | None = None,
    /,
    *,
    range: Range | Callable[..., Range] = (0.0, 1.0),
    scope: Scope = "sample",
    deterministic: bool | None = None,
    isolation: Isolation | None = None,
    timeout_s: float | None = None,
    on_timeout: OnTimeout | None = None,
    on_error: OnError = "missing",
    needs: Sequence[str] | Callable[..., Sequence[str]] = (),
) -> T | Callable[[T], T]:
    """Tags a function or class as a reward and returns it unchanged.

    The signature is the declaration: the first parameter is the `Completion`, further positional
    parameters are inputs (columns of the data set, unless the config binds them elsewhere; a
    default makes one optional), keyword-only parameters are options. Of a class, `__call__` has
    the completion and the inputs, and `__init__`'s keyword-only parameters are the options. At
    scope "batch" and "group" the completions and each input are lists, and so is what comes back.
    The function, or `__call__`, may be async.

    Args:
        target: The function or class, when used without parentheses.
        range: Lowest and highest value, both finite, or a function that returns them; it names
            the options it depends on. A value outside is a fault of the reward.
        scope: "sample": one call per completion. "group": one call per prompt, with all of its
            completions. "batch": one call for many; no value may depend on the others in it.
        deterministic: False if two calls on the same row may give different values; default:
            True, unless the reward is async.
        isolation: "inline": in the trainer's own thread, bounded by the author and so without a
            deadline. "thread": for waiting, on services or processes of its own. "process": for
            code that may hang or crash. Default: a process if it can be built there.
        timeout_s: Seconds that a call may take; default: 10.
        on_timeout: What a call counts as that was late: "low" (the low end of the range),
            "missing", or a number in the range. Default: "low", and "missing" for an async
            reward, whose service is late, not the completion.
        on_error: What a call counts as that failed: "missing", "raise" (the run stops), or a
            number in the range.
        needs: Fields of `Completion` that must be known, or a function that returns them, as
            above. A row where one is None is skipped with that reason.

    Returns:
        The function or class itself: callable, picklable and testable as written.

    Raises:
        TypeError: It is no function or class, its signature cannot be a reward's, or an argument
            has another type.
        ValueError: An argument is none of those it takes, or two contradict each other.
    """

    def tag(target: T) -> T:
        if not callable(target) or not hasattr(target, "__name__"):
            raise TypeError(f"@reward tags a function or class, got {target!r}")
        name = reward_name(target)
        tag = checked(
            Tag(range, scope, deterministic, isolation, timeout_s, on_timeout, on_error, needs),
            f"@reward on {name!r}",
        )
        _check_signature(target, name, tag)
        try:
            setattr(target, _TAG, tag)
        except AttributeError:  # a bound method, a builtin
            raise TypeError(
                f"@reward cannot tag {target!r}; wrap it in a function of your own"
            ) from None
        return target

    return tag if target is None else tag(target)


def is_tagged(target: object) -> bool:
    """True if `@reward` tagged the function or class itself.

    A subclass of a tagged class is not tagged: its range may be another. Nor is an instance.
    """
    if isinstance(target, type):
        return _TAG in vars(target)
    return callable(target) and hasattr(target, _TAG) and not hasattr(type(target), _TAG)


def reward_name(target: Callable[..., Any]) -> str:
    """Name of a reward: the function's own, a class's in snake case."""
    name = getattr(target, "__name__", type(target).__name__)
    if isinstance(target, type):
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return str(name)


def info_of(target: Callable[..., Any]) -> RewardInfo:
    """Reads what a tagged function or class declares.

    Raises:
        TypeError: It is not tagged, or the signature cannot be a reward's.
    """
    name = reward_name(target)
    if not is_tagged(target):
        raise TypeError(f"{name!r} is not a reward: put @reward above it")
    tag: Tag = getattr(target, _TAG)
    _check_signature(target, name, tag)  # once more: a decorator above may have changed it
    parameters, names = call_parameters(target, name)
    inputs = [parameter_of(p, names) for p in parameters[1:] if p.kind in POSITIONAL]
    if tag.scope != "sample":
        inputs = [_of_one_row(p, name, tag.scope) for p in inputs]
    if isinstance(target, type):
        names = names_for(target.__init__)  # type: ignore[misc]  # the class's own, on purpose
        parameters = init_options(target, name)
    options = [parameter_of(p, names) for p in parameters if p.kind is p.KEYWORD_ONLY]
    for what, value in (("range", tag.range), ("needs", tag.needs)):
        _check_option_function(value, [o.name for o in options], f"reward {name!r}: {what}")
    doc = inspect.getdoc(target) or ""
    awaited = is_async(target)
    late: OnTimeout = "missing" if awaited else "low"
    return RewardInfo(
        name=name,
        target=target,
        summary=doc.strip().split("\n", 1)[0],
        inputs=tuple(inputs),
        options=tuple(options),
        deterministic=not awaited if tag.deterministic is None else tag.deterministic,
        scope=tag.scope,
        is_async=awaited,
        isolation=tag.isolation,
        timeout_s=tag.timeout_s,
        # A service that is late says nothing of the completion.
        on_timeout=late if tag.on_timeout is None else tag.on_timeout,
        on_error=tag.on_error,
        _range=tag.range,
        _needs=tag.needs,
    )


# What the list that a batch or group reward gets may be declared as.
_LISTS = (list, Sequence, Collection, Iterable)


def _of_one_row(parameter: Parameter, name: str, scope: Scope) -> Parameter:
    """The input as one row has it, of a reward that gets a list with one value for each row."""
    kinds = [k for k in alternatives(parameter.annotation) if k is not type(None)]
    if {Any, object} & {k for k in kinds if isinstance(k, Hashable)}:
        return replace(parameter, annotation=Any, text="")
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if (typing.get_origin(kind) or kind) not in _LISTS:
        raise TypeError(
            f"reward {name!r}: input {parameter.name!r} is declared as {parameter.type_name}, but "
            f"at scope {scope!r} it is a list with one value for each completion; write "
            f"list[{parameter.type_name}]"
        )
    (inner,) = typing.get_args(kind) or (Any,)
    return replace(parameter, annotation=inner, text="")


def _check_option_function(value: object, options: Sequence[str], where: str) -> None:
    needed = named_parameters(value) if callable(value) else None
    for name, required in (needed or {}).items():
        if required and name not in options:
            raise TypeError(
                f"{where} is a function of {name!r}, which is no option.{near(name, options)} "
                f"Options are {listed(options)}."
            )


def _check_signature(target: Callable[..., Any], name: str, tag: Tag) -> None:
    function: Callable[..., Any] = target
    if isinstance(target, type):
        if "__call__" not in dir(target) or target.__call__ is type.__call__:
            raise TypeError(f"reward {name!r}: the class needs a __call__(self, completion, ...)")
        with showing_signature(target):
            init_options(target, name)
        function = target.__call__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"reward {name!r} is a generator; return the value instead of yielding it")
    if is_async(target) and tag.isolation in ("inline", "process"):
        raise TypeError(
            f"reward {name!r} is async and runs on an event loop of this process, got "
            f"isolation={tag.isolation!r}; leave isolation out, or use a plain def"
        )
    with showing_signature(target):
        _check_parameters(target, name, tag)


def _check_parameters(target: Callable[..., Any], name: str, tag: Tag) -> None:
    parameters, names = call_parameters(target, name)
    if not parameters or parameters[0].kind not in POSITIONAL:
        raise TypeError(f"reward {name!r} needs a first parameter that takes the completion")
    if parameters[0].name == "completions" and tag.scope == "sample":
        raise TypeError(
            f"reward {name!r} takes a list of completions, but at scope 'sample' it gets one; "
            f"call it `completion`, or declare scope='batch'"
        )
    _check_first(parameter_of(parameters[0], names), name, tag.scope)
    for p in parameters[1:]:
        _check_parameter(p, name, is_class=isinstance(target, type))
        if p.kind in POSITIONAL and tag.scope != "sample":
            _of_one_row(parameter_of(p, names), name, tag.scope)


def _check_first(first: Parameter, name: str, scope: Scope) -> None:
    if _may_be_given(first.annotation, scope):
        return
    declared = f"reward {name!r}: {first.name!r} is declared as {first.type_name}, but"
    if scope != "sample":
        raise TypeError(
            f"{declared} at scope {scope!r} it is the list of completions; write "
            f"`completions: list[Completion]`"
        )
    several = ""
    if _may_be_given(first.annotation, "batch"):
        several = ", or declare scope='batch' for a list of completions"
    raise TypeError(
        f"{declared} it is the completion; write `completion: Completion`, read completion.text, "
        f"and put inputs after it{several}"
    )


def _may_be_given(annotation: Any, scope: Scope) -> bool:
    """Whether what is declared may be a completion, or the list that is given at other scopes."""
    given = Completion if scope == "sample" else list
    for kind in alternatives(annotation):
        origin = typing.get_origin(kind) or kind
        # Any is a class in some Python versions; of a protocol or a variable nothing is known.
        known = isinstance(origin, type) and not getattr(origin, "_is_protocol", False)
        if origin is Any or not known:
            return True
        if issubclass(given, origin):
            (inner, *_) = typing.get_args(kind) or (Any,)
            return scope == "sample" or _may_be_given(inner, "sample")
    return False


def _check_parameter(p: inspect.Parameter, name: str, *, is_class: bool) -> None:
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
        star = "*" if p.kind is p.VAR_POSITIONAL else "**"
        raise TypeError(
            f"reward {name!r}: {star}{p.name} declares nothing; name each input and option"
        )
    if p.kind is p.POSITIONAL_ONLY:
        raise TypeError(f"reward {name!r}: input {p.name!r} must not be positional-only")
    if p.kind is p.KEYWORD_ONLY:
        if is_class:
            raise TypeError(
                f"reward {name!r}: option {p.name!r} of a class belongs into __init__, not __call__"
            )
        return
    if p.name in _REFUSED_INPUTS:
        raise TypeError(
            f"reward {name!r}: an input cannot be called {p.name!r}: {_REFUSED_INPUTS[p.name]}"
        )
