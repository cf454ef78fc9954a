"""The fields of an Apollo Federation 2 subgraph: its schema, and users by reference."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, NewType

import strawberry
from graphql import (
    REMOVE,
    FieldDefinitionNode,
    Node,
    ObjectTypeDefinitionNode,
    TypeDefinitionNode,
    Visitor,
    parse,
    print_ast,
    visit,
)
from graphql.language.visitor import VisitorAction
from strawberry.schema.base import BaseSchema

from engine import ItemOrError, any_value
from graph.edge import UserId
from graph.errors import BadInput
from schema import arguments
from schema.user import User

REFERENCES_PER_TURN = 2_500
"""The references that are read before the event loop does other work: 4 ms."""

Representation = NewType("Representation", object)

REPRESENTATION = strawberry.scalar(
    name="_Any",
    description="A reference to an entity: its `__typename` and the fields of its key.",
    serialize=lambda value: value,
    parse_value=any_value,
)

Representations = Annotated[
    list[Representation],
    strawberry.argument(
        description='Up to 10,000 references to users, each like `{ __typename: "User", id: "7" '
        "}`. Duplicates are allowed."
    ),
]

Entity = Annotated[
    User,
    strawberry.union(name="_Entity", description="The types that other subgraphs can reference."),
]


@strawberry.type(name="_Service", description="This subgraph, for a federation router.")
class Service:
    sdl: str = strawberry.field(description="The schema with its federation directives.")


async def users_of(
    representations: Sequence[Representation], maximum: int
) -> list[ItemOrError[UserId]]:
    """Return one user id, or one BadInput, for each reference. Pauses after each 2,500 references.

    Raises:
        BadInput: there are more than `maximum`.
    """
    arguments.at_most("representations", representations, maximum)
    users = list(map(_user_of, representations[:REFERENCES_PER_TURN]))
    for start in range(REFERENCES_PER_TURN, len(representations), REFERENCES_PER_TURN):
        await asyncio.sleep(0)
        users += map(_user_of, representations[start : start + REFERENCES_PER_TURN])
    return users


def _user_of(representation: object) -> ItemOrError[UserId]:
    try:
        return arguments.user_id("representations", _id_of(representation))
    except BadInput as error:
        return arguments.without_traceback(error)


def _id_of(representation: object) -> str:
    if isinstance(representation, Mapping) and representation.get("__typename") == "User":
        found = representation.get("id")
        if type(found) is str or type(found) is int:
            return str(found)
    message = 'must contain only references like { __typename: "User", id: "7" }.'
    raise BadInput("representations", message)


_LINK = """
extend schema @link(
  url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"]
)
"""
_WITH_DIRECTIVES = """
type User @key(fields: "id")
type PageInfo @shareable
"""
_DIRECTIVES = {
    one.name.value: one.directives
    for one in parse(_WITH_DIRECTIVES).definitions
    if isinstance(one, ObjectTypeDefinitionNode)
}
SCHEMA_TEXTS = frozenset({"sdl"})
"""The fields that return the whole schema."""

_DEFINED_BY_ROUTERS = {"_Any", "_Entity", "_Service", "_entities", "_service"}
"""Types and fields that a router adds to each subgraph itself."""


_NOT_FOR_ROUTERS = {"node", "nodes", "rateLimit"}
"""Root fields that other subgraphs have too, each for its own objects and requests."""


class _ForRouters(Visitor):
    """Removes the fields that routers do not need, and adds the federation directives."""

    def enter_object_type_definition(
        self, node: ObjectTypeDefinitionNode, *_: object
    ) -> Node | VisitorAction:
        if node.name.value != "Query":
            return self.enter(node)
        fields = [field for field in node.fields or () if field.name.value not in _NOT_FOR_ROUTERS]
        return replace(node, fields=tuple(fields))

    def enter(self, node: Node, *_: object) -> Node | VisitorAction:
        name = (
            node.name.value if isinstance(node, TypeDefinitionNode | FieldDefinitionNode) else None
        )
        if name in _DEFINED_BY_ROUTERS:
            return REMOVE
        if name in _DIRECTIVES and isinstance(node, ObjectTypeDefinitionNode):
            return replace(node, directives=_DIRECTIVES[name])
        return None


@cache
def subgraph(schema: BaseSchema) -> str:
    """Return the schema with its federation directives. Takes about 50 ms, once per process."""
    return print_ast(visit(parse(_LINK + schema.as_str()), _ForRouters()))
