"""The whole contract, ready to run or to print."""

from collections.abc import Iterable
from datetime import datetime

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig

from schema.date_time import DATE_TIME
from schema.federation import REPRESENTATION, Representation
from schema.mutation import Mutation
from schema.query import Query
from schema.relation_mask import RELATION_MASK, RelationMask
from schema.subscription import Subscription
from schema.user import User
from schema.user_error import USER_ERRORS

DESCRIPTION = """The social graph: who follows, requests, blocks and mutes whom, and who may see it.

Users have the ids of the platform. `viewer` is the user who makes the request; what a field shows
depends on them, and hidden edges look as if they did not exist. Lists are Relay connections.
A mutation that is rejected says why in `userErrors`; every other failure is an error with
`extensions.code`. A client that repeats a mutation with its `idempotencyKey` gets the first
result."""

_ROOTS = """schema {
  query: Query
  mutation: Mutation
  subscription: Subscription
}"""


def built(extensions: Iterable[type[SchemaExtension]] = ()) -> strawberry.Schema:
    """The contract, to be run with `extensions` of Strawberry's own executor; ours needs none."""
    made = strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[User, *USER_ERRORS],
        config=StrawberryConfig(
            scalar_map={
                RelationMask: RELATION_MASK,
                Representation: REPRESENTATION,
                datetime: DATE_TIME,
            }
        ),
        extensions=list(extensions),
    )
    made._schema.description = DESCRIPTION  # Strawberry has no parameter for it
    return made


schema = built()


def sdl() -> str:
    """The contract as `schema/schema.graphql` holds it."""
    # Strawberry prints no description of the schema itself.
    return f'"""\n{DESCRIPTION}\n"""\n{_ROOTS}\n\n{schema.as_str().rstrip()}\n'
