"""Runs inside the second box: the text of the tests, against what stands for the submission.

The submission never runs here, and what it sends is data. The report goes down a pipe that only
this process holds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from grpo_reward_code.judging.names import Broken, Names, offer_program
from grpo_reward_code.judging.objects import (
    ARITHMETIC,
    ORDER,
    CannotSubclass,
    Remote,
    is_builtin_type,
    is_remote,
)
from grpo_reward_code.judging.operators import FUNCTIONS
from grpo_reward_code.judging.peer import _BY_NAME, Ended, Peer
from grpo_reward_code.judging.pytest_names import offer_pytest
from grpo_reward_code.judging.running import run_test

_LINE, _REPORT = 3, 4
_COMPARED = ("eq", "ne")
_MIXED = {*ORDER, *ARITHMETIC, *(f"r{n}" for n in ARITHMETIC), *(f"i{n}" for n in ARITHMETIC)}
_PLAIN_RESULTS: tuple[str, ...] = (
    "abs",
    "int",
    "float",
    "complex",
    "index",
    "round",
    "trunc",
    "floor",
    "ceil",
)
_PLAIN_RESULTS += ("bool", "str", "repr", "format", "bytes", "hash", "len", "neg", "pos", "invert")


class Judge(Peer):
    """The end of the line beside the tests.

    An object of the submission never decides a comparison with a value of the test, so no `__eq__`
    and no `__sub__` earns anything: it equals no plain value, and what an operator makes of it and
    a plain value cannot become a plain value. Objects of a class that the test itself made an
    instance of, under a name with a capital letter, are what is tested; their operators count.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._unknown: dict[tuple[str, str], type] = {}

    def operate(self, name: str, owner: Any, *args: Any) -> Any:
        """What an operator of an object of the submission comes to."""
        mixed = any(not is_remote(arg) for arg in args)
        if name in _COMPARED and mixed:
            return (name == "ne") is not self._equals(owner, args[0])
        held = vars(owner) if isinstance(owner, Remote) else {}
        changing = getattr(type(owner), "_grpo_changing", None)
        if mixed and not held.get("_grpo_trusted"):
            if name in _MIXED or name == "contains":
                return self._mixed(name, owner, changing, args)
        if held.get("_grpo_seen") and name in _PLAIN_RESULTS:
            raise TypeError(f"{name} of what the program made of a value of the test")
        result = super().operate(name, owner, *args)
        return result and _may_be_swallowed(args[1]) if name == "exit" else result

    def mentioned(self, stand_in: Any) -> Any:
        """An object that the submission returns; its operators count no longer.

        Else a method that returns its own object would have it stand for a number.
        """
        if isinstance(stand_in, Remote):
            vars(stand_in).pop("_grpo_trusted", None)
        return stand_in

    def _equals(self, owner: Any, plain: Any) -> bool:
        changing = getattr(type(owner), "_grpo_changing", None)
        if changing is None or not owner._grpo_equals or not isinstance(plain, changing):
            return False
        return bool(self.base(owner) == plain)

    def _mixed(self, name: str, owner: Any, changing: type | None, args: tuple[Any, ...]) -> Any:
        """An operator of an object that the submission returned, and a value of the test."""
        if changing is not None and not name.startswith("i"):
            return FUNCTIONS[name](self.base(owner), *args)
        if name == "contains":
            return any(each is args[0] or each == args[0] for each in iter(owner))
        if name in ORDER:
            raise TypeError(f"{name} is not decided by the program's own {type(owner).__name__}")
        made = super().operate(name, owner, *args)
        if not isinstance(made, Remote):
            raise TypeError(f"{name} of the program's own {type(owner).__name__} and a plain value")
        vars(made)["_grpo_seen"] = True
        return made

    # What the submission may ask. Its objects that it was handed may be called and, if their class
    # is the test's own, used; nothing else of this process is in its reach.

    def on_get(self, owner: Any, name: str) -> Any:
        """Reads a public attribute of an object of a test."""
        self._check(owner, name)
        return getattr(owner, name)

    def on_set(self, owner: Any, name: str, value: Any) -> None:
        """Sets a public attribute of an object of a test."""
        self._check(owner, name)
        setattr(owner, name, value)

    def on_delete(self, owner: Any, name: str) -> None:
        """Deletes a public attribute of an object of a test."""
        self._check(owner, name)
        delattr(owner, name)

    def on_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls what a test handed over."""
        if not self.handed_over(function) or not callable(function):
            raise TypeError("not handed over by the test")
        return function(*args, **kwargs)

    def on_operate(self, name: str, owner: Any, *args: Any) -> Any:
        """Applies an operator to an object of a test."""
        if type(name) is not str or name not in FUNCTIONS or is_remote(owner):
            raise TypeError("no such operator")
        if name not in ("iter", "next", "bool", "hash") and not _is_tests(owner):
            raise TypeError(f"{name} of an object of the test")
        return FUNCTIONS[name](owner, *args)

    def on_base(self, owner: Any) -> Any:
        """Nothing: only the judge compares."""
        raise TypeError("no built-in value")

    on_await = on_base

    def _check(self, owner: Any, name: Any) -> None:
        if type(name) is not str or name.startswith("_") or not _is_tests(owner):
            raise AttributeError(f"no attribute {name!r}")

    def may_name(self, value: Any) -> bool:
        """Also functions of modules without effects."""
        module, name = getattr(value, "__module__", ""), getattr(value, "__name__", "")
        if module in _BY_NAME and getattr(sys.modules.get(module), name, None) is value:
            return True
        return super().may_name(value)

    def found(self, module: str, name: str) -> Any:
        """A built-in type, or an exception of a module of the standard library that is loaded."""
        kind = None if "." in name else vars(sys.modules.get(module, sys)).get(name)
        if module == "builtins" and is_builtin_type(kind):
            return kind
        if (
            isinstance(kind, type)
            and issubclass(kind, Exception)
            and module.partition(".")[0] in sys.stdlib_module_names
            and not module.startswith("unittest")  # its SkipTest would skip a test
        ):
            return kind
        return self._unknown.setdefault((module, name), type(name, (Exception,), {}))


def _may_be_swallowed(error: BaseException | None) -> bool:
    """False of what says that a test failed, which a context of the submission must not end."""
    if isinstance(error, AssertionError | TypeError | AttributeError | NameError):
        return False
    return not getattr(error, "__dict__", {}).get("_grpo_remote")


def _is_tests(owner: Any) -> bool:
    """True of an instance of a class that a test defines."""
    kind = type(owner)
    return isinstance(kind, type) and getattr(kind, "__module__", "") == "test" and kind is not type


def judge() -> None:
    """Runs the tests that stand on standard input; writes a line a test."""
    with open(0, "rb", closefd=False) as source:
        asked = json.load(source)
    end = Judge(_LINE)
    report = os.fdopen(_REPORT, "w", encoding="utf-8", errors="backslashreplace", closefd=False)

    def say(**what: Any) -> None:
        report.write(json.dumps(what) + "\n")
        report.flush()

    say(start=True)
    try:
        error = end.receive().get("ready")
    except Ended as exc:
        say(load=f"before its tests, the program: {exc}", ended=True)
        return
    if error != "":
        say(load=str(error)[:400])
        return
    offer_pytest()
    offer_program(end)
    try:
        names = Names(asked["tests"], asked["entry"])
    except Broken as exc:
        say(broken=str(exc)[:400])
        return
    began = time.monotonic()
    told = False
    for number, test in enumerate(asked["tests"]):
        end.asked = 0
        try:
            why = run_test(end, test, names, asked["tolerance"])
        except (Broken, CannotSubclass) as exc:
            say(i=number, broken=str(exc)[:400])
            return
        if end.ended:
            say(i=number, ok=False, why=f"the program: {end.ended}", ended=True)
            return
        after = round(time.monotonic() - began, 3)
        say(i=number, ok=not why, after=after, **({} if told or not why else {"why": why[:600]}))
        told = told or bool(why)
        if why and asked["stop"]:
            return
