"""Values across processes."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction

import pytest
from grpo_reward_code.judging.wire import NotAMessage, Writer, dumped, loaded, read, written_back


def refuse(value):
    raise NotAMessage(str(value))


def crossed(value):
    message = loaded(dumped(Writer(refuse).message({"value": value})))
    return read(message, refuse).roots["value"]


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -5, 2**53, -(2**70), 10**5000, 1.5, -0.0, math.inf, "a", "é",
        "\ud83d\ude00",
        "\ud800", b"\0\xff", (1, (2, [3])), [1, [2, (3,)]], {1: 2, "a": [1], (1, 2): {3}},
        {1, (3, 4)},
        frozenset({1, (2,)}), bytearray(b"x"), range(3), 1 + 2j, ..., Fraction(1, 3),
        Decimal("1.50"),
        Counter("aab"), OrderedDict(a=1), deque([1]), defaultdict(int, {1: 2}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_value_is_the_same(value):
    got = crossed(value)
    assert got == value
    assert type(got) is type(value)


def test_what_is_shared_is_shared_and_what_holds_itself_does():
    shared, holder = [1], []
    holder.append((holder,))
    got = crossed([shared, (shared, 2), holder])
    assert got[0] is got[1][0]
    assert got[2][0][0] is got[2]


def test_depth_has_no_end():
    deep: object = ()
    for _ in range(50_000):
        deep = [(deep,)]
    got = crossed(deep)
    depth = 0
    while got:
        got, depth = got[0], depth + 1
    assert depth == 100_000


def test_containers_are_filled_anew_in_place():
    mine = [1, 2]
    writer = Writer(refuse)
    writer.message({"args": (mine,)})
    (number,) = writer.containers
    reply = Writer(refuse).message({"value": None, str(number): [3]})

    read(reply, refuse, written_back(reply, writer.containers))

    assert mine == [3]


@pytest.mark.parametrize(
    "message",
    [
        None, [], {}, {"roots": {}, "nodes": 3}, {"roots": {"v": [0]}, "nodes": []},
        {"roots": {"v": [-1]}, "nodes": [["list", []]]}, {"roots": {"v": {}}, "nodes": []},
        {"roots": {"v": [0]}, "nodes": [["tuple", [[0]]]]}, {"roots": {}, "nodes": [["int", "x"]]},
        {"roots": {}, "nodes": [["numpy", "|O", [1], "00"]]},
        {"roots": {}, "nodes": [["set", [[1]]], ["list", []]]},
        {"roots": {}, "nodes": [["dict", [1]]]}, {"roots": {}, "nodes": [[[]]]},
        {"roots": {}, "nodes": [[]]},
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(message):
    with pytest.raises(NotAMessage):
        read(message, refuse)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(NotAMessage):
        loaded(data)
