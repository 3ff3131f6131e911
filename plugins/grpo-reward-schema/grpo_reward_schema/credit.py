"""Partial credit: the share of a schema's leaf assertions that a value satisfies.

The schema gives the weights, not the value: a leaf assertion such as `type`, `minimum` or one name
of `required` counts once, wherever it stands. A leaf for the items of an array is worth the mean
over the items, so that more of them change nothing; the leaves of a required member that is not
there are not satisfied.

Deleting a required member never pays. What deleting could satisfy (`additionalProperties: false`,
`maxProperties`, `uniqueItems`, `not`, a branch of `anyOf`, …) is paid only where nothing required
is missing, at any depth below. For that, all schemas that apply to one place (`allOf`, `$ref`) are
looked at as one `Node`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from grpo_reward_schema.assertions import Leaf, leaves_of
from grpo_reward_schema.drafts import REF_STANDS_ALONE, additional
from grpo_reward_schema.leaves import shown
from grpo_reward_schema.patterns import matcher_of
from grpo_reward_schema.schema_check import escaped

_NEAREST = "fits; this is the nearest)"


class Found(NamedTuple):
    """What a node makes of a value.

    Attributes:
        share: Of its leaf assertions that are satisfied, 0 to 1.
        ok: True if the value is valid.
        missing: True if a required member is missing in it, at any depth.
        fault: What is wrong first: a JSON pointer and a few words; None if nothing is.
    """

    share: float
    ok: bool
    missing: bool
    fault: tuple[str, str] | None


class _Place(NamedTuple):
    """A schema with what resolves its references."""

    schema: Any
    scope: Any


class Node:
    """All schemas that apply to one place of a value, whatever the value is."""

    def __init__(self, places: Sequence[_Place], tree: Tree) -> None:
        self._tree = tree
        self._parts: list[_Place] = []
        self._is_false = False
        self._flatten(places, set())
        self.types = [_names(p.schema["type"]) for p in self._parts if "type" in p.schema]
        required = (p.schema.get("required", ()) for p in self._parts)
        self._required = tuple(dict.fromkeys(n for names in required for n in names))
        self._leaves = [leaf for part in self._parts for leaf in tree.leaves(part)]
        self._closed = [
            p.schema for p in self._parts if p.schema.get("additionalProperties") is False
        ]
        self._branches = [b for part in self._parts for b in tree.branches(part)]
        self._named = tuple(
            dict.fromkeys(n for p in self._parts for n in p.schema.get("properties", ()))
        )
        self._least = max((p.schema.get("minItems", 0) for p in self._parts), default=0)
        self._n_prefix = max((len(_prefix(p.schema)) for p in self._parts), default=0)
        self._weight: int | None = None
        self._members: dict[str, Node] = {}

    def _flatten(self, places: Iterable[_Place], seen: set[int]) -> None:
        for place in places:
            schema = place.schema
            if schema is False:
                self._is_false = True
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            if "$ref" in schema:
                found = place.scope.lookup(schema["$ref"])
                self._flatten([_Place(found.contents, found.resolver)], seen)
                if self._tree.draft in REF_STANDS_ALONE:
                    continue
            self._parts.append(place)
            self._flatten((self._tree.inner(place, s) for s in schema.get("allOf", ())), seen)

    @property
    def weight(self) -> int:
        """Leaf assertions in the schemas, members and items included; a recursive part counts 1."""
        if self._weight is None:
            self._weight = 1  # what a part that comes back here counts
            self._weight = max(1, self._own_weight() + self._inner_weight())
        return self._weight

    def _own_weight(self) -> int:
        leaves = len(self.types) + len(self._required) + len(self._leaves) + len(self._closed)
        return self._is_false + leaves + sum(b.weight for b in self._branches)

    def _inner_weight(self) -> int:
        members = sum(self._member(name).weight for name in self._named)
        items = sum(self._item(i).weight for i in range(self._n_prefix))
        rest = self._item(self._n_prefix)
        return members + self._map_weight + items + (rest.weight if rest.says_something else 0)

    @property
    def says_something(self) -> bool:
        """False if every value satisfies it."""
        return bool(self._parts) or self._is_false

    @property
    def _map_weight(self) -> int:
        return sum(self._tree.node([p]).weight for p in self._map_places())

    def _map_places(self) -> list[_Place]:
        made = []
        for part in self._parts:
            schemas = [*part.schema.get("patternProperties", {}).values()]
            extra = part.schema.get("additionalProperties")
            schemas += [extra] if isinstance(extra, dict) else []
            made += [self._tree.inner(part, schema) for schema in schemas]
        return made

    def _member(self, name: str) -> Node:
        """The node of a member: of `properties`, `patternProperties`, `additionalProperties`."""
        if name in self._members:
            return self._members[name]
        places = []
        for part in self._parts:
            schema = part.schema
            found = [schema["properties"][name]] if name in schema.get("properties", ()) else []
            for pattern, inner in schema.get("patternProperties", {}).items():
                if matcher_of(pattern)(name):
                    found.append(inner)
            if not found and isinstance(schema.get("additionalProperties"), dict):
                found.append(schema["additionalProperties"])
            places += [self._tree.inner(part, inner) for inner in found]
        node = self._tree.node(places)
        if name in self._named:  # others are the reply's, and there is no end to them
            self._members[name] = node
        return node

    def _item(self, index: int) -> Node:
        places = []
        for part in self._parts:
            prefix = _prefix(part.schema)
            if index < len(prefix):
                places.append(self._tree.inner(part, prefix[index]))
            elif (rest := _rest(part.schema)) is not None:
                places.append(self._tree.inner(part, rest))
        return self._tree.node(places)

    def judge(self, value: Any) -> Found:
        """What the schemas make of a value."""
        if self._is_false:
            return Found(0.0, False, False, ("", "nothing is allowed here"))
        for names in self.types:
            if not self._tree.has_type(value, names):
                fault = f"expected {' or '.join(names)}, got {shown(value)}"
                return Found(0.0, False, False, ("", fault))
        tally = _Tally(len(self.types))
        if isinstance(value, dict):
            self._judge_object(value, tally)
        elif isinstance(value, list):
            self._judge_array(value, tally)
        self._judge_whole(value, tally)
        share = tally.paid / tally.total if tally.total else float(tally.fault is None)
        return Found(share, tally.fault is None, tally.missing, tally.fault)

    def _judge_object(self, value: Mapping[str, Any], tally: _Tally) -> None:
        absent = [name for name in self._required if name not in value]
        tally.add(len(self._required), len(self._required) - len(absent))
        if absent:
            tally.missing = True
            tally.blame("", f"no {absent[0]!r}, which is required")
        shares: list[float] = []
        for name in self._named:
            if name in value:
                node = self._member(name)
                tally.add(node.weight, node.weight * tally.of(node.judge(value[name]), name))
            elif name in absent:
                tally.add(self._member(name).weight, 0)
        for name, member in value.items():
            if name not in self._named:
                node = self._member(name)
                if node.says_something:
                    shares.append(tally.of(node.judge(member), name))
        # A mean rises where a bad member goes, so it is paid once all that is required is there.
        if shares or absent:
            weight = self._map_weight
            tally.add(weight, 0 if absent else weight * sum(shares) / len(shares))

    def _judge_array(self, value: Sequence[Any], tally: _Tally) -> None:
        n_slots = max(len(value), self._least)
        for i in range(min(self._n_prefix, n_slots)):
            node = self._item(i)
            found = tally.of(node.judge(value[i]), str(i)) if i < len(value) else 0.0
            tally.add(node.weight, node.weight * found)
        rest = self._item(self._n_prefix)
        if n_slots > self._n_prefix and rest.says_something:
            shares = [
                tally.of(rest.judge(item), str(i))
                for i, item in enumerate(value[self._n_prefix :], self._n_prefix)
            ]
            tally.add(rest.weight, rest.weight * sum(shares) / (n_slots - self._n_prefix))

    def _judge_whole(self, value: Any, tally: _Tally) -> None:
        is_container = isinstance(value, dict | list)
        for leaf in self._leaves:
            if not leaf.applies_to(value):
                continue
            fault = leaf.check(value)
            is_paid = not fault and (leaf.is_safe or not is_container or not tally.missing)
            tally.add(1, is_paid)
            if fault:
                tally.blame("", fault)
        if isinstance(value, dict):
            for schema in self._closed:
                extra = additional(value, schema)
                tally.add(1, not extra and not tally.missing)
                if extra:
                    tally.blame("/" + escaped(extra[0]), "is not allowed here")
        was_missing = tally.missing
        for branch in self._branches:
            share, fault_ = branch.judge(value)
            tally.add(branch.weight, 0 if was_missing else branch.weight * share)
            if fault_:
                tally.blame(*fault_)


class _Tally:
    """What has been counted for one value."""

    def __init__(self, n_types: int) -> None:
        self.total: float = n_types
        self.paid: float = n_types
        self.missing = False
        self.fault: tuple[str, str] | None = None

    def add(self, total: float, paid: float) -> None:
        self.total += total
        self.paid += paid

    def blame(self, pointer: str, fault: str) -> None:
        if self.fault is None:
            self.fault = (pointer, fault)

    def of(self, found: Found, key: str) -> float:
        """The share of a part, whose faults are those of the whole."""
        if found.fault:
            self.missing |= found.missing
            if self.fault is None:
                self.fault = (f"/{escaped(key)}{found.fault[0]}", found.fault[1])
        return found.share


class Branches:
    """Schemas of which one has to fit: `anyOf`, `oneOf`, `if` with `then` and `else`."""

    def __init__(self, keyword: str, places: Sequence[_Place | None], tree: Tree) -> None:
        self._keyword = keyword
        self._places = places
        self._tree = tree

    @functools.cached_property
    def _nodes(self) -> list[Node | None]:
        # Made when they are first needed: a branch may lead back to where it stands.
        return [None if place is None else self._tree.node([place]) for place in self._places]

    @functools.cached_property
    def weight(self) -> int:
        """Leaf assertions of the largest branch, and of `oneOf` that it is the only one."""
        counted = self._nodes[1:] if self._keyword == "if" else self._nodes
        largest = max((n.weight for n in counted if n is not None), default=0)
        return largest + (self._keyword == "oneOf")

    def judge(self, value: Any) -> tuple[float, tuple[str, str] | None]:
        """The share of the branch that fits best, and the fault."""
        if self._keyword == "if":
            return self._judge_if(value)
        all_found = [node.judge(value) for node in self._nodes if node is not None]
        best = max(all_found, key=lambda found: (found.ok, found.share))
        n_valid = sum(found.ok for found in all_found)
        share = best.share
        if self._keyword == "oneOf":
            share = (share * (self.weight - 1) + (n_valid == 1)) / self.weight
            if n_valid > 1:
                return share, ("", f"{n_valid} branches of oneOf fit, and only one may")
        if best.fault is None:
            return share, None
        pointer, fault = best.fault
        if not fault.endswith(_NEAREST):  # once is enough, however deep the branches are
            fault += f" (no branch of {self._keyword} {_NEAREST}"
        return share, (pointer, fault)

    def _judge_if(self, value: Any) -> tuple[float, tuple[str, str] | None]:
        condition, then, other = self._nodes
        assert condition is not None
        branch = then if condition.judge(value).ok else other
        if branch is None:
            return 1.0, None
        found = branch.judge(value)
        return found.share, found.fault


class Tree:
    """The nodes of a schema, made when they are needed."""

    def __init__(self, validator: Any, resolver: Any, draft: str, assert_formats: bool) -> None:
        self.draft = draft
        self._validator = validator
        self._formats = assert_formats
        self._nodes: dict[tuple[int, ...], Node] = {}
        self.root = self.node([_Place(validator.schema, resolver)])

    def node(self, places: Sequence[_Place]) -> Node:
        """The node of these schemas; the same one each time."""
        key = tuple(id(p.schema) for p in places)
        if key not in self._nodes:
            # The node keeps the schemas, so that their ids stay theirs.
            self._nodes[key] = Node(places, self)
        return self._nodes[key]

    def inner(self, place: _Place, schema: Any) -> _Place:
        """A schema inside another one."""
        if not isinstance(schema, dict):
            return _Place(schema, place.scope)
        resource = self._resource(schema)
        return _Place(schema, place.scope.in_subresource(resource))

    def _resource(self, schema: Any) -> Any:
        from referencing.jsonschema import specification_with

        uri = self.draft + ("#" if "draft-0" in self.draft else "")
        return specification_with(uri).create_resource(schema)

    def has_type(self, value: Any, names: Sequence[str]) -> bool:
        """True if a value has one of the types."""
        return any(self._validator.is_type(value, name) for name in names)

    def leaves(self, part: _Place) -> list[Leaf]:
        """The leaf assertions of one schema, but for its types and required members."""
        validator = self._validator.evolve(schema=part.schema, _resolver=part.scope)
        return leaves_of(validator, self.draft, self._formats)

    def branches(self, part: _Place) -> list[Branches]:
        """The choices of one schema."""
        made = []
        for keyword in ("anyOf", "oneOf"):
            if keyword in part.schema:
                places = [self.inner(part, s) for s in part.schema[keyword]]
                made.append(Branches(keyword, places, self))
        if "if" in part.schema and "if" in self._validator.VALIDATORS:
            schemas = [part.schema.get(key) for key in ("if", "then", "else")]
            of_if = [None if s is None else self.inner(part, s) for s in schemas]
            made.append(Branches("if", of_if, self))
        return made


def _names(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types)


def _prefix(schema: Mapping[str, Any]) -> Sequence[Any]:
    if "prefixItems" in schema:
        return schema["prefixItems"]  # type: ignore[no-any-return]
    items = schema.get("items")
    return items if isinstance(items, list) else ()


def _rest(schema: Mapping[str, Any]) -> Any:
    items = schema.get("items")
    return schema.get("additionalItems") if isinstance(items, list) else items
