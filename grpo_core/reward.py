"""`@reward` tags a function or class as a reward; `RewardInfo` is what its signature declares."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, overload

from grpo_core.completion import Completion
from grpo_core.errors import NotSupportedYetError, Problem, listed

Scope = Literal["sample", "batch", "group"]
Range = tuple[float, float]
T = TypeVar("T", bound=Callable[..., Any])

_TAG = "__grpo_reward__"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COMPLETION_FIELDS = frozenset(f.name for f in fields(Completion))

# Input names that mean something else in TRL's calls, each with what the author wants instead.
_REFUSED_INPUTS = {
    "completions": "the first parameter is one Completion; a reward sees one row at a time",
    "completion": "the first parameter already is the completion",
    "prompt": "read completion.prompt",
    "prompts": "read completion.prompt; a reward sees one row at a time",
    "completion_ids": "read completion.token_ids",
    "trainer_state": "rewards do not see the trainer; schedules cover steps",
    "log_metric": "return Score(value, metrics={...})",
    "log_extra": "return Score(value, reason=...)",
    "environments": "environments are not available to rewards",
    "image": "images are not available to rewards",
    "images": "images are not available to rewards",
}


@dataclass(frozen=True)
class Parameter:
    """An input or option of a reward.

    Attributes:
        name: Its name in the signature.
        annotation: Its type; Any where the signature has none.
        required: True if it has no default.
        default: The default; meaningless if required.
    """

    name: str
    annotation: Any
    required: bool
    default: Any = None

    @property
    def type_name(self) -> str:
        """The type as a person would write it."""
        if isinstance(self.annotation, type):
            return self.annotation.__name__
        return str(self.annotation).replace("typing.", "")


@dataclass(frozen=True)
class RewardInfo:
    """What a reward's signature, docstring and tag declare.

    Attributes:
        name: Name inside its plugin; a class `AnswerEquals` is called `answer_equals`.
        target: The tagged function or class.
        summary: First line of the docstring.
        inputs: Positional parameters after the completion; columns unless bound elsewhere.
        options: Keyword-only parameters, of `__init__` for a class.
        deterministic: False if two calls on the same row may differ.
        scope: What one call sees.
    """

    name: str
    target: Callable[..., Any]
    summary: str
    inputs: tuple[Parameter, ...]
    options: tuple[Parameter, ...]
    deterministic: bool
    scope: Scope
    _range: Range | Callable[..., Range]
    _needs: Sequence[str] | Callable[..., Sequence[str]]

    @property
    def is_class(self) -> bool:
        """True if the reward is a class, built once with its options."""
        return isinstance(self.target, type)

    def range(self, options: Mapping[str, Any] | None = None) -> Range:
        """Lowest and highest value the reward may return under the options."""
        if callable(self._range):
            return _checked_range(self._range(**self._all_options(options)), self.name)
        return self._range

    def needs(self, options: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Fields of the completion that must be known, else the row is skipped."""
        if callable(self._needs):
            return _checked_needs(self._needs(**self._all_options(options)), self.name)
        return tuple(self._needs)

    def _all_options(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        defaults = {o.name: o.default for o in self.options if not o.required}
        return {**defaults, **(options or {})}


@dataclass(frozen=True)
class _Tag:
    range: Range | Callable[..., Range]
    scope: Scope
    deterministic: bool
    needs: Sequence[str] | Callable[..., Sequence[str]]


@overload
def reward(target: T, /) -> T: ...
@overload
def reward(
    *,
    range: Range | Callable[..., Range] = ...,
    scope: Scope = ...,
    deterministic: bool = ...,
    needs: Sequence[str] | Callable[..., Sequence[str]] = ...,
    **not_yet: Any,
) -> Callable[[T], T]: ...
def reward(
    target: T | None = None,
    /,
    *,
    range: Range | Callable[..., Range] = (0.0, 1.0),
    scope: Scope = "sample",
    deterministic: bool = True,
    needs: Sequence[str] | Callable[..., Sequence[str]] = (),
    **not_yet: Any,
) -> T | Callable[[T], T]:
    """Tags a function or class as a reward and returns it unchanged.

    The signature is the declaration: the first parameter is the `Completion`, further positional
    parameters are inputs (columns of the data set, unless the config binds them elsewhere; a
    default makes one optional), keyword-only parameters are options. Of a class, `__call__` has
    the completion and the inputs, and `__init__`'s keyword-only parameters are the options.

    Args:
        target: The function or class, when used without parentheses.
        range: Lowest and highest value, both finite, or a function of the options that returns
            them. A value outside is a fault of the reward.
        scope: "sample": one call per completion.
        deterministic: False if two calls on the same row may give different values.
        needs: Fields of `Completion` that must be known, or a function of the options that
            returns them. A row where one is None is skipped with that reason.
        **not_yet: Names that later versions will take; refused.

    Returns:
        The function or class itself: callable, picklable and testable as written.

    Raises:
        TypeError: The signature cannot be a reward's.
        NotSupportedYetError: An argument that this version does not have.
        ValueError: The range is not two finite numbers in order.
    """

    def tag(target: T) -> T:
        name = reward_name(target)
        _refuse_not_yet(name, scope, not_yet)
        _check_signature(target, name)
        checked_range = range if callable(range) else _checked_range(range, name)
        checked_needs = needs if callable(needs) else _checked_needs(needs, name)
        setattr(target, _TAG, _Tag(checked_range, scope, deterministic, checked_needs))
        return target

    return tag if target is None else tag(target)


def is_tagged(target: object) -> bool:
    """True if `@reward` tagged the function or class."""
    return callable(target) and hasattr(target, _TAG)


def reward_name(target: Callable[..., Any]) -> str:
    """Name of a reward: the function's own, a class's in snake case."""
    name = getattr(target, "__name__", type(target).__name__)
    if isinstance(target, type):
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return str(name)


def info_of(target: Callable[..., Any]) -> RewardInfo:
    """Reads what a tagged function or class declares.

    Raises:
        TypeError: It is not tagged, or an annotation cannot be evaluated.
    """
    name = reward_name(target)
    if not is_tagged(target):
        raise TypeError(f"{name!r} is not a reward: put @reward above it")
    tag: _Tag = getattr(target, _TAG)
    if isinstance(target, type):
        call = _signature(target.__call__, name, evaluate=True)
        inputs = list(call.parameters.values())[2:]
        options = _init_options(target, name, evaluate=True)
    else:
        parameters = list(_signature(target, name, evaluate=True).parameters.values())
        inputs = [p for p in parameters[1:] if p.kind in _POSITIONAL]
        options = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    doc = inspect.getdoc(target) or ""
    return RewardInfo(
        name=name,
        target=target,
        summary=doc.strip().split("\n", 1)[0],
        inputs=tuple(map(_parameter, inputs)),
        options=tuple(map(_parameter, options)),
        deterministic=tag.deterministic,
        scope=tag.scope,
        _range=tag.range,
        _needs=tag.needs,
    )


def _parameter(p: inspect.Parameter) -> Parameter:
    empty = inspect.Parameter.empty
    return Parameter(
        name=p.name,
        annotation=Any if p.annotation is empty else p.annotation,
        required=p.default is empty,
        default=None if p.default is empty else p.default,
    )


def _signature(
    function: Callable[..., Any], name: str, *, evaluate: bool = False
) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=evaluate)
    except (NameError, ValueError, TypeError, SyntaxError) as exc:
        raise TypeError(f"reward {name!r}: its signature cannot be read: {exc}") from exc


def _init_options(target: type, name: str, *, evaluate: bool = False) -> list[inspect.Parameter]:
    # A class without its own __init__ inherits object's, whose signature says nothing.
    init = target.__init__  # type: ignore[misc]  # reading the class's own __init__ is the point
    if init is object.__init__:
        return []
    parameters = list(_signature(init, name, evaluate=evaluate).parameters.values())[1:]
    for p in parameters:
        if p.kind is not p.KEYWORD_ONLY:
            raise TypeError(
                f"reward {name!r}: __init__ parameter {p.name!r} must be keyword-only (put it "
                f"after a bare *), because options are given by name"
            )
    return parameters


def _check_signature(target: Callable[..., Any], name: str) -> None:
    function: Callable[..., Any] = target
    if isinstance(target, type):
        if "__call__" not in dir(target) or target.__call__ is type.__call__:
            raise TypeError(f"reward {name!r}: the class needs a __call__(self, completion, ...)")
        _init_options(target, name)
        function = target.__call__
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise NotSupportedYetError(
            [Problem(f"reward {name!r}", "async rewards are not supported yet; use a plain def")]
        )
    if inspect.isgeneratorfunction(function):
        raise TypeError(f"reward {name!r} is a generator; return one value instead of yielding")
    parameters = list(_signature(function, name).parameters.values())
    if isinstance(target, type):
        parameters = parameters[1:]
    if not parameters or parameters[0].kind not in _POSITIONAL:
        raise TypeError(f"reward {name!r} needs a first parameter that takes the completion")
    for p in parameters[1:]:
        _check_parameter(p, name, is_class=isinstance(target, type))


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


def _refuse_not_yet(name: str, scope: object, not_yet: Mapping[str, Any]) -> None:
    known = ("isolation", "timeout_s", "on_timeout", "on_error")
    unknown = [k for k in not_yet if k not in known]
    if unknown:
        raise TypeError(
            f"@reward on {name!r} got {unknown[0]!r}; it takes range, scope, deterministic, needs"
        )
    if scope not in ("sample", "batch", "group"):
        raise ValueError(f"@reward on {name!r}: scope must be 'sample', got {scope!r}")
    problems = [
        Problem(f"@reward on {name!r}", f"{k} is not supported yet; leave it out") for k in not_yet
    ]
    if scope != "sample":
        problems.append(
            Problem(
                f"@reward on {name!r}",
                f"scope={scope!r} is not supported yet; score one completion at a time",
            )
        )
    if problems:
        raise NotSupportedYetError(problems)


def _checked_range(value: object, name: str) -> Range:
    try:
        low, high = map(float, value)  # type: ignore[call-overload]  # anything else raises
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"@reward on {name!r}: range must be two finite numbers, lowest first, got {value!r}"
        )
    return low, high


def _checked_needs(value: object, name: str) -> tuple[str, ...]:
    needs = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
    for field in needs:
        if field not in _COMPLETION_FIELDS:
            raise ValueError(
                f"@reward on {name!r}: needs names no field of Completion: {field!r}; "
                f"fields are {listed(_COMPLETION_FIELDS)}"
            )
    return needs
