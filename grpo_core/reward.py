"""`@reward` tags a function or class as a reward; `RewardInfo` is what its signature declares."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, overload

from grpo_core.completion import Completion
from grpo_core.errors import NotSupportedYetError, Problem, listed, near
from grpo_core.signature import (
    POSITIONAL,
    call_parameters,
    init_options,
    named_parameters,
    names_for,
    parameter_of,
)
from grpo_core.signature import Parameter as Parameter

Scope = Literal["sample", "batch", "group"]
Range = tuple[float, float]
T = TypeVar("T", bound=Callable[..., Any])

_TAG = "__grpo_reward__"
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
            return _checked_range(self._of_options(self._range, options), self.name)
        return self._range

    def needs(self, options: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Fields of the completion that must be known, else the row is skipped."""
        if callable(self._needs):
            return _checked_needs(self._of_options(self._needs, options), self.name)
        return tuple(self._needs)

    def _of_options(self, function: Callable[..., Any], options: Mapping[str, Any] | None) -> Any:
        values = {o.name: o.default for o in self.options if not o.required}
        values.update(options or {})
        taken = named_parameters(function)
        if taken is not None:  # it names only the options it depends on
            values = {name: value for name, value in values.items() if name in taken}
        return function(**values)


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
        range: Lowest and highest value, both finite, or a function that returns them; it names
            the options it depends on. A value outside is a fault of the reward.
        scope: "sample": one call per completion.
        deterministic: False if two calls on the same row may give different values.
        needs: Fields of `Completion` that must be known, or a function that returns them, as
            above. A row where one is None is skipped with that reason.
        **not_yet: Names that later versions will take; refused.

    Returns:
        The function or class itself: callable, picklable and testable as written.

    Raises:
        TypeError: It is no function or class, or its signature cannot be a reward's.
        NotSupportedYetError: An argument that this version does not have.
        ValueError: The range is not two finite numbers in order.
    """

    def tag(target: T) -> T:
        if not callable(target) or not hasattr(target, "__name__"):
            raise TypeError(f"@reward tags a function or class, got {target!r}")
        name = reward_name(target)
        _refuse_not_yet(name, scope, not_yet)
        _check_signature(target, name)
        checked_range = range if callable(range) else _checked_range(range, name)
        checked_needs = needs if callable(needs) else _checked_needs(needs, name)
        try:
            setattr(target, _TAG, _Tag(checked_range, scope, deterministic, checked_needs))
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
    _check_signature(target, name)  # once more: a decorator above @reward may have changed it
    tag: _Tag = getattr(target, _TAG)
    parameters, names = call_parameters(target, name)
    inputs = [parameter_of(p, names) for p in parameters[1:] if p.kind in POSITIONAL]
    if isinstance(target, type):
        names = names_for(target.__init__)  # type: ignore[misc]  # the class's own, on purpose
        parameters = init_options(target, name)
    options = [parameter_of(p, names) for p in parameters if p.kind is p.KEYWORD_ONLY]
    for what, value in (("range", tag.range), ("needs", tag.needs)):
        _check_option_function(value, [o.name for o in options], f"reward {name!r}: {what}")
    doc = inspect.getdoc(target) or ""
    return RewardInfo(
        name=name,
        target=target,
        summary=doc.strip().split("\n", 1)[0],
        inputs=tuple(inputs),
        options=tuple(options),
        deterministic=tag.deterministic,
        scope=tag.scope,
        _range=tag.range,
        _needs=tag.needs,
    )


def _check_option_function(value: object, options: Sequence[str], where: str) -> None:
    needed = named_parameters(value) if callable(value) else None
    for name, required in (needed or {}).items():
        if required and name not in options:
            raise TypeError(
                f"{where} is a function of {name!r}, which is no option.{near(name, options)} "
                f"Options are {listed(options)}."
            )


def _check_signature(target: Callable[..., Any], name: str) -> None:
    function: Callable[..., Any] = target
    if isinstance(target, type):
        if "__call__" not in dir(target) or target.__call__ is type.__call__:
            raise TypeError(f"reward {name!r}: the class needs a __call__(self, completion, ...)")
        init_options(target, name)
        function = target.__call__
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise NotSupportedYetError(
            [Problem(f"reward {name!r}", "async rewards are not supported yet; use a plain def")]
        )
    if inspect.isgeneratorfunction(function):
        raise TypeError(f"reward {name!r} is a generator; return one value instead of yielding")
    parameters, _ = call_parameters(target, name)
    if not parameters or parameters[0].kind not in POSITIONAL:
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
    if not isinstance(value, str | list | tuple | set | frozenset):
        raise TypeError(f"@reward on {name!r}: needs must be names of fields, got {value!r}")
    needs = (value,) if isinstance(value, str) else tuple(value)
    for field in needs:
        if field not in _COMPLETION_FIELDS:
            raise ValueError(
                f"@reward on {name!r}: needs names no field of Completion: {field!r}; "
                f"fields are {listed(_COMPLETION_FIELDS)}"
            )
    return needs
