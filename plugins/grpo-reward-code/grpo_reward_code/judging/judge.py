"""Runs inside the second box: the text of the tests, against what stands for the submission.

The submission never runs here, and what it sends is data. The report goes down a pipe that only
this process holds.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from grpo_reward_code.judging.contexts import is_of_program, may_be_swallowed
from grpo_reward_code.judging.names import MODULE, Broken, Names, offer_program, offer_unittest
from grpo_reward_code.judging.objects import (
    ARITHMETIC,
    ORDER,
    CannotSubclass,
    Raised,
    Remote,
    RemoteClass,
    Value,
    is_builtin_type,
    is_remote,
)
from grpo_reward_code.judging.operators import FUNCTIONS
from grpo_reward_code.judging.peer import _BY_NAME, Ended, Peer
from grpo_reward_code.judging.pytest_names import offer_pytest
from grpo_reward_code.judging.running import run_test

_LINE, _REPORT = 3, 4
_INPUT = builtins.input
_COMPARED = ("eq", "ne")
_MIXED = {*ORDER, *ARITHMETIC, *(f"r{n}" for n in ARITHMETIC), *(f"i{n}" for n in ARITHMETIC)}
# Of an object that the test made: what these come to, made by the program's operators, counts too.
_PASSED_ON = {*_MIXED, "neg", "pos", "abs", "invert", "round", "enter"} - {*ORDER}
# Of an instance of a subclass of list, dict or set, its value answers these.
_OF_CONTENTS = ("len", "bool", "iter", "reversed", "contains")
_CHANGING_NAMES = {"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"}
_CHANGING_NAMES |= {"popitem", "setdefault", "update", "add", "discard"}
# Methods that say yes or no of a value of the test, or of the object's text.
_ANSWERS = {"startswith", "endswith", "issubset", "issuperset", "isdisjoint", "equals"}
_SAYS = {name for name in dir(str) if name.startswith("is")}


class Refused(BaseException):
    """A test has the program decide. It fails, whatever it catches."""


class Judge(Peer):
    """The end of the line beside the tests.

    What a function or method returns is a claim, and so is all that is read of it: a claim cannot
    know what the test expects. So an object that the program returned is never asked anything with
    a value of the test but for a method that the test names: it equals no plain value, and an
    operator of it and a plain value fails the test. Objects that the test itself made, of a class
    under a name with a capital letter, are what is tested; their operators count.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._unknown: dict[tuple[str, str], type] = {}
        self._clock = 0  # requests and stand-ins so far
        self.refused = ""  # what the present test had the program decide

    def refuse(self, why: str) -> Refused:
        """Notes that the test fails, and why."""
        self.refused = self.refused or why
        return Refused(why)

    def make(self, kind: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An instance of a class of the submission; one that is new is what the test is about."""
        began = self._clock
        made = self.call(kind, args, kwargs)
        if kind._grpo_trusted:
            self._trust(made, began)
        return made

    def get(self, owner: Any, name: str) -> Any:
        """An attribute of an object of the submission."""
        if isinstance(owner, RemoteClass) and owner._grpo_trusted and _makes(name):
            return self._constructor(owner, super().get(owner, name))
        if isinstance(owner, RemoteClass | Raised) or _is_trusted(owner):
            return super().get(owner, name)
        changing = getattr(type(owner), "_grpo_changing", None)
        if changing is not None and hasattr(changing, name) and name not in _CHANGING_NAMES:
            return getattr(self.base(owner), name)
        found = super().get(owner, name)
        if name not in _ANSWERS and name not in _SAYS:
            return found

        def answer(*args: Any) -> Any:
            if name in _SAYS or not all(map(is_remote, args)):
                raise self.refuse(f"{name} of the program's own {type(owner).__name__}")
            return found(*args)

        return answer if is_remote(found) else found

    def operate(self, name: str, owner: Any, *args: Any) -> Any:
        """What an operator of an object of the submission comes to."""
        if name == "exit":
            ask = super().operate
            return self._left(args[1], lambda error: ask("exit", owner, None, error))
        mixed = not all(map(is_remote, args))
        if name in _COMPARED and mixed:
            return (name == "ne") is not self._equals(owner, args[0])
        changing = getattr(type(owner), "_grpo_changing", None)
        if _is_trusted(owner):
            began = self._clock
            result = super().operate(name, owner, *args)
            return self._passed_on(owner, result, began) if name in _PASSED_ON else result
        if changing is not None and (name in _OF_CONTENTS or (mixed and name in _MIXED)):
            return FUNCTIONS[name](self.base(owner), *args)
        if mixed and name == "contains":
            return any(each is args[0] or each == args[0] for each in iter(owner))
        if mixed and name in _MIXED:
            raise self.refuse(f"{name} of the program's own {type(owner).__name__} and a value")
        return super().operate(name, owner, *args)

    def _equals(self, owner: Any, plain: Any) -> bool:
        changing = getattr(type(owner), "_grpo_changing", None)
        if changing is None or not owner._grpo_equals or not isinstance(plain, changing):
            return False
        return bool(self.base(owner) == plain)

    def wait(self, owner: Any, method: str, *args: Any) -> Any:
        """What an asynchronous method of an object of the submission comes to."""
        ask = super().wait
        if method == "__aexit__":
            return self._left(args[0], lambda error: ask(owner, method, error))
        return ask(owner, method, *args)

    def _left(self, error: BaseException | None, leave: Callable[[Any], Any]) -> bool:
        """Leaves a context of the submission, which learns of no error of the test."""
        if error is None or is_of_program(error):
            leave(error)
            return False
        if not may_be_swallowed(error):
            leave(RuntimeError("the test failed"))
            return False
        return bool(leave(error))

    # Whose operators count.

    def _constructor(self, kind: Any, function: Any) -> Any:
        """A method of a class that by its name, which the test chose, makes an instance."""

        def make(*args: Any, **kwargs: Any) -> Any:
            began = self._clock
            made = function(*args, **kwargs)
            if type(made) is kind:
                self._trust(made, began)
            return made

        return make if is_remote(function) and callable(function) else function

    def _made(self, number: int, about: Any) -> Any:
        made = super()._made(number, about)
        self._clock += 1
        if isinstance(made, Remote | Value):
            vars(made)["_grpo_born"] = self._clock
        return made

    def _trust(self, made: Any, began: int) -> None:
        """The test made this object, unless it came from the program before."""
        if isinstance(made, Remote | Value) and vars(made)["_grpo_born"] > began:
            vars(made)["_grpo_trusted"] = True

    def _passed_on(self, owner: Any, result: Any, began: int) -> Any:
        """What an operator of an object of the test came to; its own object stays what it is."""
        if isinstance(result, Remote) and result._grpo_number == owner._grpo_number:
            return owner
        self._trust(result, began)
        return result

    def mentioned(self, stand_in: Any) -> Any:
        """What stands for an object that the submission returns again.

        A method that returns its own object must not have it stand for a number. So there is a
        second stand-in for one that the test made, whose operators do not count.
        """
        if not isinstance(stand_in, Remote | Value) or not _is_trusted(stand_in):
            return stand_in
        held = vars(stand_in)
        if isinstance(stand_in, Value):
            del held["_grpo_trusted"]
            return stand_in
        if "_grpo_twin" not in held:
            held["_grpo_twin"] = twin = object.__new__(type(stand_in))
            vars(twin).update(_grpo_number=stand_in._grpo_number, _grpo_born=held["_grpo_born"])
        return held["_grpo_twin"]

    # What the submission may ask. Its objects that it was handed may be called and, if their class
    # is the test's own, used; nothing else of this process is in its reach.

    def on_get(self, owner: Any, name: str) -> Any:
        """Reads a public attribute of an object of a test."""
        self._check(owner, name)
        return getattr(owner, name)

    def on_set(self, owner: Any, name: str, value: Any) -> None:
        """Sets a public attribute of an object of a test."""
        self._check(owner, name)
        if _replaces_code(owner, name):
            raise AttributeError(f"{name} is code of the test")
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

    def on_input(self) -> Any:
        """A line from what the test put in the place of `input` or of standard input."""
        if builtins.input is not _INPUT:
            return builtins.input()
        if sys.stdin is sys.__stdin__:
            return super().on_input()
        line = sys.stdin.readline()
        return line.removesuffix("\n") if line else super().on_input()

    def _receive(self) -> dict[str, Any]:
        message = super()._receive()
        printed = message.pop("printed", "")
        if isinstance(printed, str) and sys.stdout is not sys.__stdout__:
            sys.stdout.write(printed)  # a test captures it
        return message

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


def _is_trusted(owner: Any) -> bool:
    return bool(vars(owner).get("_grpo_trusted")) if isinstance(owner, Remote | Value) else False


def _makes(name: str) -> bool:
    return name.startswith("from_") or name in ("of", "zero", "zeros", "identity")


def _replaces_code(owner: Any, name: str) -> bool:
    """True if a class of a test has a method of this name."""
    kept = next((vars(kind)[name] for kind in type(owner).__mro__ if name in vars(kind)), None)
    return hasattr(kept, "__get__") and not hasattr(kept, "__set__")


def _is_tests(owner: Any) -> bool:
    """True of an instance of a class that a test defines."""
    kind = type(owner)
    return isinstance(kind, type) and getattr(kind, "__module__", "") == MODULE and kind is not type


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
    if any("unittest" in str(test.get("setup")) + str(test.get("code")) for test in asked["tests"]):
        offer_unittest()
    try:
        names = Names(asked["tests"], asked["entry"])
        for test in asked["tests"]:
            if test["kind"] == "assert":
                names.compiled(test["setup"], "<setup>")
                names.compiled(test["code"], "<test>")
    except (Broken, Exception) as exc:  # nothing of the program has had a say yet
        what = str(exc) if isinstance(exc, Broken) else f"{type(exc).__name__}: {exc}"
        say(broken=what[:400])
        return
    began = time.monotonic()
    told = False
    for number, test in enumerate(asked["tests"]):
        end.asked, end.refused = 0, ""
        end.links.clear()
        try:
            why = run_test(end, test, names, asked["tolerance"])
        except (Broken, CannotSubclass) as exc:
            say(i=number, broken=str(exc)[:400])
            return
        why = (end.refused and f"the program would decide: {end.refused}") or why
        if end.ended:
            say(i=number, ok=False, why=f"the program: {end.ended}", ended=True)
            return
        after = round(time.monotonic() - began, 3)
        say(i=number, ok=not why, after=after, **({} if told or not why else {"why": why[:600]}))
        told = told or bool(why)
        if why and asked["stop"]:
            return
