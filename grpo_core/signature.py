"""Reads signatures: what a call and `__init__` take, with types, whatever way they are written."""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# Their arguments are no types alone, so str() writes them.
_OWN_FORMS: tuple[Any, ...] = (typing.Annotated, collections.abc.Callable)


@dataclass(frozen=True)
class Parameter:
    """An input or option of a reward.

    Attributes:
        name: Its name in the signature.
        annotation: Its type; Any where the signature has none or it cannot be evaluated.
        required: True if it has no default.
        default: The default; meaningless if required.
        text: The annotation as written, where the signature keeps it as text, else "".
    """

    name: str
    annotation: Any
    required: bool
    default: Any = None
    text: str = ""

    @property
    def type_name(self) -> str:
        """The type as a person would write it."""
        return self.text or _type_text(self.annotation)


def _type_text(annotation: Any) -> str:
    """A type as a person would write it: classes by their own names, without their modules."""
    if isinstance(annotation, str):
        return annotation
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_type_text, inner))
    if isinstance(origin, type) and origin not in _OWN_FORMS:
        return f"{origin.__name__}[{', '.join(map(_type_text, inner))}]"
    if annotation is types.NoneType:
        return "None"
    if annotation is ...:
        return "..."
    if isinstance(annotation, type) and not inner:
        return annotation.__name__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


def parameter_of(p: inspect.Parameter, names: dict[str, Any]) -> Parameter:
    """Makes an input or option of a parameter; `names` as of `call_parameters`."""
    annotation: Any = Any if p.annotation is p.empty else p.annotation
    text = ""
    for _ in range(2):  # twice: "Quoted" under `from __future__ import annotations`
        if isinstance(annotation, str):
            text = annotation
            annotation = _evaluated(annotation, names)
    if isinstance(annotation, str):
        annotation = Any
    required = p.default is p.empty
    return Parameter(p.name, annotation, required, None if required else p.default, text)


def _evaluated(text: str, names: dict[str, Any]) -> Any:
    """The type an annotation's text means, or Any.

    The text may be prose or name what only the type checker imports; Python runs such code, so it
    is no reason to refuse a reward. Linters move imports of `typing` and `collections.abc` under
    TYPE_CHECKING: those are looked up, or an input typed Mapping would not be decoded.
    """
    known = dict(names)
    while True:
        try:
            return eval(text, known)
        except NameError as exc:
            missing = exc.name or ""
            found = getattr(collections.abc, missing, None) or getattr(typing, missing, None)
            if found is None or missing in known:
                return Any
            known[missing] = found
        except Exception:  # whatever evaluating raises, the type is not known here
            return Any


def names_for(function: Callable[..., Any]) -> dict[str, Any]:
    """What the names in a function's annotations mean."""
    return dict(getattr(inspect.unwrap(function), "__globals__", {}))


def is_async(target: Callable[..., Any]) -> bool:
    """True if a call of the function, of the object, or of the class's instances is awaited."""
    if isinstance(target, type):
        target = target.__call__
    elif not inspect.isroutine(target):
        target = type(target).__call__
    return inspect.iscoroutinefunction(target)


def named_parameters(function: Callable[..., Any]) -> dict[str, bool] | None:
    """Names of a function's parameters with whether it needs them; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):  # some builtins have no signature
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name: p.default is p.empty for p in parameters if p.kind is not p.VAR_POSITIONAL}


def _signature(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (NameError, ValueError, TypeError, SyntaxError) as exc:
        raise TypeError(f"reward {name!r}: its signature cannot be read: {exc}") from exc


def call_parameters(
    target: Callable[..., Any], name: str
) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    """Parameters of a call, the completion first, and what the names in them mean."""
    function: Callable[..., Any] = target
    bound = 0
    if isinstance(target, type):
        function = target.__call__
        raw = inspect.getattr_static(target, "__call__")
        bound = 0 if isinstance(raw, staticmethod | classmethod) else 1
    parameters = list(_signature(function, name).parameters.values())
    return parameters[bound:], names_for(function)


def init_options(target: type, name: str) -> list[inspect.Parameter]:
    """Parameters of a class's `__init__`, all keyword-only.

    Raises:
        TypeError: One is not, or the signature cannot be read.
    """
    # A class without its own __init__ inherits object's, whose signature says nothing.
    init = target.__init__  # type: ignore[misc]  # reading the class's own __init__ is the point
    if init is object.__init__:
        return []
    parameters = list(_signature(init, name).parameters.values())[1:]
    is_data = dataclasses.is_dataclass(target)
    advice = "declare @dataclass(kw_only=True)" if is_data else "put it after a bare *"
    for p in parameters:
        if p.kind is not p.KEYWORD_ONLY:
            raise TypeError(
                f"reward {name!r}: __init__ parameter {p.name!r} must be keyword-only "
                f"({advice}), because options are given by name"
            )
    if not is_data:
        return parameters
    # The signature shows a placeholder where a field's default is made anew for each object.
    factories = {
        f.name: f.default_factory
        for f in dataclasses.fields(target)
        if f.default_factory is not dataclasses.MISSING
    }
    return [
        p.replace(default=factories[p.name]()) if p.name in factories else p for p in parameters
    ]


@contextlib.contextmanager
def showing_signature(target: Callable[..., Any]) -> Iterator[None]:
    """Adds the signature, and what each parameter was taken for, to a TypeError from inside."""
    try:
        yield
    except TypeError as exc:
        raise TypeError(f"{exc}. Read as {_as_read(target)}") from None


def _as_read(target: Callable[..., Any]) -> str:
    name = getattr(target, "__name__", "")
    called, _ = call_parameters(target, name)
    roles = [_role(p, i == 0, isinstance(target, type)) for i, p in enumerate(called)]
    text = f"{name}({_written(called)})"
    if isinstance(target, type):
        init = target.__init__  # type: ignore[misc]  # reading the class's own __init__
        own = init is not object.__init__
        made = list(_signature(init, name).parameters.values())[1:] if own else []
        text = f"{name}({_written(made)}) with __call__({_written(called)})"
        kinds = ["an option" if p.kind is p.KEYWORD_ONLY else "nothing" for p in made]
        called, roles = made + called, kinds + roles
    taken = [f"{_starred(p)} is {role}" for p, role in zip(called, roles, strict=True)]
    return f"{text}: {', '.join(taken) or 'it has no parameters'}"


def _role(p: inspect.Parameter, is_first: bool, of_class: bool) -> str:
    if p.kind in POSITIONAL:
        return "the completion" if is_first else "an input"
    return "an option" if p.kind is p.KEYWORD_ONLY and not of_class else "nothing"


def _starred(p: inspect.Parameter) -> str:
    return ("*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else "") + p.name


class _AsWritten(str):
    """The text of an annotation, which a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _written(parameters: list[inspect.Parameter]) -> str:
    shown = [
        p if p.annotation is p.empty else p.replace(annotation=_AsWritten(_type_text(p.annotation)))
        for p in parameters
    ]
    return str(inspect.Signature(shown))[1:-1]


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself; looks through Annotated and aliases."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return alternatives(typing.get_args(annotation)[0])
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return tuple(k for a in typing.get_args(annotation) for k in alternatives(a))
    for alias in ("__value__", "__supertype__"):  # type X = …, NewType
        if origin is None and hasattr(annotation, alias):
            return alternatives(getattr(annotation, alias))
    if annotation is None:
        return (type(None),)
    return (annotation,)
