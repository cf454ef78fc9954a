"""Generate operations for Kith's own schema, with values that exist in the sample graph."""

from collections.abc import Collection, Iterator
from random import Random
from typing import Any

from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLObjectType,
    VariableNode,
    Visitor,
    get_named_type,
    is_leaf_type,
    parse,
    visit,
)

from gateway.sample import CAST
from gateway.sample_cast import ASKED, ASKED_SECRETLY, ASKS, ASKS_TOO, ME
from schema.schema import schema
from tests.support.documentation import found
from tests.support.random_inputs import Draw, Request
from tests.support.random_operations import Operations

VARYING_FIELDS = {
    ("Query", "rateLimit"): "the remaining budget, and the cost of this operation",
    ("ListFreshness", "asOf"): "the time of the request",
    ("ListFreshness", "lagMs"): "the age of the data",
    ("ListFreshness", "degraded"): "whether the caches were used, which may differ",
}
"""The fields that are left out, because two executions may return different values, and why."""

FOR_SERVICES = (("Query", "account"), ("Query", "accounts"), ("Query", "relationsBetween"))
"""For other callers, each of these fields is null beside an error."""

STAR, STRANGER, FOLLOWS_NOBODY, DELETED = 2, 30, 390, 379

_SAMPLE_USERS = list(map(str, CAST))
_OTHERS = tuple(map(str, (STAR, STRANGER, FOLLOWS_NOBODY, DELETED)))
_UNKNOWN = ("999999", "9223372036854775807")
_MALFORMED = ("0", "-1", "007", "x", "", "9223372036854775808", "request:1:x")
_REQUESTS = tuple(
    f"request:{source}:{target}"
    for source, target in (
        (ME, ASKED),
        (ME, ASKED_SECRETLY),
        (ASKS, ME),
        (ASKS_TOO, ME),
        (ME, STAR),
    )
)


def _user(random: Random) -> str:
    roll = random.random()
    if roll < 0.01:
        return random.choice(_MALFORMED)
    if roll < 0.05:
        return random.choice(_UNKNOWN)
    if roll < 0.2:
        return str(ME)
    return random.choice(_OTHERS if roll < 0.35 else _SAMPLE_USERS)


def _node(random: Random) -> str:
    return random.choice(_REQUESTS) if random.random() < 0.4 else _user(random)


def _nodes(random: Random) -> list[str]:
    return [_node(random) for _ in range(random.randint(0, 4))]


def _representation(random: Random) -> Any:
    if random.random() < 0.02:
        return random.choice(({"__typename": "Cat", "id": "1"}, {"id": "1"}, "1", 7))
    return {"__typename": "User", "id": _user(random)}


def _last(random: Random) -> Any:
    """Usually omitted (`...`), because together with `first` it is rejected."""
    return random.choices((..., None, 1, 2, 5), (50, 20, 10, 10, 10))[0]


def _cursor(random: Random) -> Any:
    """Usually omitted (`...`). `paged_on` inserts cursors of a response."""
    return random.choices((..., None, "nonsense"), (80, 18, 2))[0]


def _dates(random: Random) -> str:
    dates = ("1970-01-01T00:00:00Z", "2025-03-01T12:00:00+02:00", "2026-01-01T00:00:00Z")
    return random.choice(dates * 10 + ("2025-03-01T00:00:00", "today"))


def _object_types() -> Iterator[GraphQLObjectType]:
    types = schema._schema.type_map.values()
    return (one for one in types if isinstance(one, GraphQLObjectType))


def _fields(names: Collection[tuple[str, str]]) -> list[GraphQLField]:
    return [
        field
        for on in _object_types()
        for name, field in on.fields.items()
        if (on.name, name) in names
    ]


def _leaves(on: GraphQLObjectType) -> str:
    """The leaf fields of a type that take no arguments; for a connection, also its cursors.

    If each field were drawn alone, few operations would select the dates of relations.
    """
    leaves = [
        name
        for name, field in on.fields.items()
        if is_leaf_type(get_named_type(field.type)) and not field.args
        if (on.name, name) not in VARYING_FIELDS
    ]
    if "edges" in on.fields:
        leaves.append("pageInfo { startCursor endCursor } edges { cursor node { __typename } }")
    return " ".join(leaves)


def _argument_paths(*arguments: str) -> list[str]:
    """All arguments with these names, as TYPE.FIELD.ARGUMENT."""
    return [
        f"{on.name}.{name}.{argument}"
        for on in _object_types()
        for name, field in on.fields.items()
        for argument in arguments
        if argument in field.args
    ]


def operations(*, of_service: bool, token: str) -> Operations:
    """Draws operations of a service or of other callers. `token`: a consistency token."""

    def as_fresh_as(random: Random) -> Any:
        return random.choices((..., token, None, "nonsense"), (70, 20, 9, 1))[0]

    values: dict[str, Draw] = {
        "ID": _user,
        "Int": lambda random: random.choice((0, 1, 2, 3, 5, 8) * 8 + (-1, 101)),
        "Boolean": lambda random: random.random() < 0.5,
        "DateTime": _dates,
        "_Any": _representation,
        "Query.node.id": _node,
        "Query.nodes.ids": _nodes,
        **dict.fromkeys(_argument_paths("last"), _last),
        **dict.fromkeys(_argument_paths("after", "before"), _cursor),
        **dict.fromkeys(_argument_paths("atLeastAsFresh"), as_fresh_as),
    }
    left_out = _fields({*VARYING_FIELDS, *(() if of_service else FOR_SERVICES)})
    return Operations(
        schema._schema,
        values,
        lambda field: all(field is not one for one in left_out),
        often={on.name: text for on in _object_types() if (text := _leaves(on))},
    )


def paged_on(request: Request, data: Any, random: Random) -> dict[str, Any] | None:
    """The variables of the request with cursors of its response; None if it has no cursors."""
    cursors = {
        variable: random.choice(given)
        for key, variable in _cursor_variables(request.query)
        if (given := list(_cursors(found(data, key)))) and random.random() < 0.8
    }
    return {**request.variables, **cursors} if cursors else None


def _cursors(connections: list[Any]) -> Iterator[str]:
    for name in ("cursor", "startCursor", "endCursor"):
        yield from (cursor for cursor in found(connections, name) if cursor)


def _cursor_variables(query: str) -> list[tuple[str, str]]:
    """(key of a connection in the response, variable of its cursor argument) of each."""
    seen: list[tuple[str, str]] = []

    class Paging(Visitor):
        def enter_field(self, node: FieldNode, *_: object) -> None:
            for argument in node.arguments or ():
                if argument.name.value in ("after", "before"):
                    assert isinstance(argument.value, VariableNode)
                    seen.append(((node.alias or node.name).value, argument.value.name.value))

    visit(parse(query), Paging())
    return seen
