"""Partial credit: the share of a schema's leaf assertions that a value satisfies.

The schema gives the weights, not the value: a leaf assertion such as `type`, `minimum` or one name
of `required` counts once, wherever it stands. Items of an array are worth what the wrong ones leave
of them, so that more right ones change nothing; the leaves of a required member that is not there
are not satisfied.

Deleting a required member never pays, nor does a value of the wrong type. What either could satisfy
(`additionalProperties: false`, `maxProperties`, `uniqueItems`, `not`, a branch of `anyOf`, …) is
paid only where nothing required is missing or of the wrong type, at any depth below. For that, all
schemas that apply to one place (`allOf`, `$ref`) are looked at as one `Node`.

The same holds for what is asked for without its name being known here: by `minItems`, `contains`,
`dependentRequired`, a branch, …. While it is not there, any absent part may be it, and lacks.

A place of the value is judged once by each node, and the nodes that are judged are counted as work.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from grpo_reward_schema.assertions import Leaf, leaves_of
from grpo_reward_schema.choices import Branches, union
from grpo_reward_schema.drafts import LATEST, REF_STANDS_ALONE, additional
from grpo_reward_schema.leaves import shown
from grpo_reward_schema.patterns import matcher_of
from grpo_reward_schema.plain import escaped
from grpo_reward_schema.reference import in_subresource
from grpo_reward_schema.tally import Found, Tally, worth
from grpo_reward_schema.work import STEPS_OF_FAULT, Work, current, spend


class _Place(NamedTuple):
    """A schema with what resolves its references."""

    schema: Any
    scope: Any


Kept = dict[tuple[int, ...], "Node"]
# For a node that is made for the name of a member.
_STEPS_OF_NODE = 80


class Node:
    """All schemas that apply to one place of a value, whatever the value is."""

    def __init__(self, places: Sequence[_Place], tree: Tree, kept: Kept | None = None) -> None:
        self._tree = tree
        self._kept = kept
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
        self._n_patterns = sum(len(p.schema.get("patternProperties", ())) for p in self._parts)
        prefixes = (tree.prefix(p.schema) for p in self._parts)
        self._n_prefix = max(map(len, prefixes), default=0)
        n_looked_at = len(self._required) + len(self._leaves) + len(self._named) + self._n_prefix
        self._steps = 2 + n_looked_at
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
            self.weigh()
        assert self._weight is not None
        return self._weight

    def weigh(self) -> None:
        """Counts the leaf assertions, once."""
        # Without recursion: references may lead further than the stack goes.
        todo = [(self, False)]
        while todo:
            node, is_ready = todo.pop()
            if is_ready:
                node._weight = max(1, node._own_weight() + node._inner_weight())
            elif node._weight is None:
                n_names = len(node._named) + node._n_prefix + 1
                spend(n_names * (len(node._parts) + node._n_patterns) // 2)
                node._weight = 1  # what a part that comes back here counts
                todo.append((node, True))
                todo += [(part, False) for part in reversed(node._weighed_parts())]

    def _weighed_parts(self) -> list[Node]:
        members = [self._member(name) for name in self._named]
        others = [self._tree.node([place]) for place in self._map_places()]
        items = [self._item(i) for i in range(self._n_prefix + 1)]
        return [*members, *others, *items, *(b for bs in self._branches for b in bs.counted)]

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

    @functools.cached_property
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
        if name in self._named:
            self._members[name] = node = self._tree.node(places, self._kept)
            return node
        # Others are the reply's, and there is no end to them: what is made for several schemas
        # that happen to describe one lasts as long as the reply does.
        kept = self._kept
        if len(places) > 1 and kept is None and (work := current()) is not None:
            kept = work.known("nodes", self._tree)
            if kept is None:
                work.keep("nodes", kept := {}, self._tree)
        return self._tree.node(places, kept)

    def _item(self, index: int) -> Node:
        places = []
        for part in self._parts:
            prefix = self._tree.prefix(part.schema)
            if index < len(prefix):
                places.append(self._tree.inner(part, prefix[index]))
            elif (rest := _rest(part.schema)) is not None:
                places.append(self._tree.inner(part, rest))
        return self._tree.node(places, self._kept)

    @functools.cached_property
    def looks_at(self) -> frozenset[str] | None:
        """Names of the members that it says something about; None if it is about more."""
        is_about_more = self._leaves or self._closed or self._map_places()
        if is_about_more or self._n_prefix or self._item(0).says_something:
            return None
        return union(
            [frozenset((*self._named, *self._required)), *(b.looks_at for b in self._branches)]
        )

    @functools.cached_property
    def decided_by(self) -> frozenset[str] | None:
        """Names of the members that an `if` looks at; None if one looks at more."""
        return union(b.decided_by for b in self._branches)

    def judge(self, value: Any, work: Work) -> Found:
        """What the schemas make of a value."""
        if not isinstance(value, dict | list):
            return self._judge(value, work)
        found: Found | None = work.known("found", self, value)
        if found is None:
            found = self._judge(value, work)
            work.keep("found", found, self, value)
        return found

    def _judge(self, value: Any, work: Work) -> Found:
        work.spend(self._steps)
        if self._is_false:
            return Found(0.0, False, False, 0.0, ("", "nothing is allowed here"))
        for names in self.types:
            if not self._tree.has_type(value, names):
                work.spend(STEPS_OF_FAULT)
                fault = f"expected {' or '.join(names)}, got {shown(value)}"
                return Found(0.0, False, True, math.inf, ("", fault))
        tally = Tally(len(self.types))
        if isinstance(value, dict):
            self._judge_object(value, tally, work)
        elif isinstance(value, list):
            self._judge_array(value, tally, work)
        self._judge_whole(value, tally, work)
        return tally.found()

    def _judge_object(self, value: Mapping[str, Any], tally: Tally, work: Work) -> None:
        absent = [name for name in self._required if name not in value]
        tally.add(len(self._required), len(self._required) - len(absent))
        if absent:
            tally.lack(len(absent))
            tally.blame("", f"no {absent[0]!r}, which is required")
        for name in self._named:
            node = self._member(name)
            if name in value:
                tally.add(node.weight, node.weight * tally.of(node.judge(value[name], work), name))
            elif name in absent:
                tally.add(node.weight, 0)
            else:
                tally.leave_out(node.weight)
        if not self._map_weight:
            return
        lacks = 0.0
        for name, member in value.items():
            if name not in self._named:
                work.spend(1 + self._n_patterns)
                node = self._member(name)
                if node.says_something:
                    lacks += 1 - tally.of(node.judge(member, work), name)
        tally.add_pool(self._map_weight, lacks)

    def _judge_array(self, value: Sequence[Any], tally: Tally, work: Work) -> None:
        n = self._n_prefix
        for i in range(n):
            node = self._item(i)
            if i < len(value):
                share = tally.of(node.judge(value[i], work), str(i))
                tally.add(node.weight, node.weight * share)
            else:
                tally.spare(node.weight)
        rest = self._item(n)
        if rest.says_something:
            items = enumerate(value[n:], n)
            lacks = sum(1 - tally.of(rest.judge(item, work), str(i)) for i, item in items)
            tally.add_pool(rest.weight, lacks)

    def _judge_whole(self, value: Any, tally: Tally, work: Work) -> None:
        is_container = isinstance(value, dict | list)
        for leaf in self._leaves:
            if not leaf.applies_to(value):
                continue
            fault = leaf.check(value)
            if leaf.is_safe or not is_container:
                tally.add(1, not fault)
            else:
                tally.add_if_whole(1, not fault)
            if fault:
                work.spend(STEPS_OF_FAULT)
                tally.lack(leaf.asks_for(value))
                tally.blame("", fault)
        if isinstance(value, dict):
            for schema in self._closed:
                work.spend(len(value) * (1 + self._n_patterns))
                extra = additional(value, schema)
                tally.add_if_whole(1, worth(len(extra)))
                if extra:
                    tally.blame("/" + escaped(extra[0]), "is not allowed here")
        self._judge_branches(value, tally, work)

    def _judge_branches(self, value: Any, tally: Tally, work: Work) -> None:
        is_missing, is_wrong, wrong = tally.missing, tally.fault is not None, set(tally.wrong)
        all_found = [branches.judge(value, work) for branches in self._branches]
        # A wrong member would choose the branch that asks for less, and hides what is missing.
        open_ = [
            is_wrong if b.decided_by is None else bool(b.decided_by & wrong) for b in self._branches
        ]
        missing = [
            found.missing or is_open for found, is_open in zip(all_found, open_, strict=True)
        ]
        n_missing = sum(missing)
        for i, (branches, found) in enumerate(zip(self._branches, all_found, strict=True)):
            # What it asks for may be described beside it, and be wrong there before it is deleted.
            is_absent = found.absent and (self._named or self._map_weight)
            is_paid = not (open_[i] or is_absent or is_missing or n_missing > missing[i])
            tally.add(branches.weight, branches.weight * found.share if is_paid else 0)
            tally.missing |= missing[i]
            tally.lack(found.absent)
            if found.fault:
                tally.blame(*found.fault)


class Tree:
    """The nodes of a schema, made when they are needed."""

    def __init__(self, validator: Any, resolver: Any, draft: str, assert_formats: bool) -> None:
        self.draft = draft
        self._validator = validator
        self._formats = assert_formats
        self._nodes: Kept = {}
        self.root = self.node([_Place(validator.schema, resolver)])

    def judge(self, value: Any, work: Work) -> Found:
        """What the schema makes of a value."""
        # What a recursive part weighs depends on where counting begins, so it begins here.
        self.root.weigh()
        return self.root.judge(value, work)

    def node(self, places: Sequence[_Place], kept: Kept | None = None) -> Node:
        """The node of these schemas; the same one each time.

        Args:
            places: The schemas.
            kept: Where it is kept, if it is not to be for ever.
        """
        key = tuple(id(p.schema) for p in places)
        if key in self._nodes:
            return self._nodes[key]
        nodes = self._nodes if kept is None or len(places) < 2 else kept
        if key not in nodes:
            spend(_STEPS_OF_NODE if nodes is kept else 0)
            # The node keeps the schemas, so that their ids stay theirs.
            nodes[key] = Node(places, self, None if nodes is self._nodes else kept)
        return nodes[key]

    def inner(self, place: _Place, schema: Any) -> _Place:
        """A schema inside another one."""
        return _Place(schema, in_subresource(place.scope, schema, self.draft))

    def has_type(self, value: Any, names: Sequence[str]) -> bool:
        """True if a value has one of the types."""
        return any(self._validator.is_type(value, name) for name in names)

    def prefix(self, schema: Mapping[str, Any]) -> Sequence[Any]:
        """The schemas of the first items, under the keyword that the draft has for them."""
        if self.draft == LATEST:
            return schema.get("prefixItems", ())  # type: ignore[no-any-return]
        items = schema.get("items")
        return items if isinstance(items, list) else ()

    def leaves(self, part: _Place) -> list[Leaf]:
        """The leaf assertions of one schema, but for its types and required members."""
        validator = self._validator.evolve(schema=part.schema, _resolver=part.scope)
        return leaves_of(validator, self.draft, self._formats)

    def branches(self, part: _Place) -> list[Branches[Node]]:
        """The choices of one schema."""
        made: list[Branches[Node]] = [
            Branches(keyword, [self._maker(part, schema) for schema in part.schema[keyword]])
            for keyword in ("anyOf", "oneOf")
            if keyword in part.schema
        ]
        if "if" in part.schema and "if" in self._validator.VALIDATORS:
            schemas = [part.schema.get(key) for key in ("if", "then", "else")]
            of_if = [None if s is None else self._maker(part, s) for s in schemas]
            made.append(Branches("if", of_if))
        return made

    def _maker(self, part: _Place, schema: Any) -> Callable[[], Node]:
        return lambda: self.node([self.inner(part, schema)])


def _names(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else list(types)


def _rest(schema: Mapping[str, Any]) -> Any:
    items = schema.get("items")
    return schema.get("additionalItems") if isinstance(items, list) else items
