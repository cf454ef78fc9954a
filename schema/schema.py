"""The GraphQL schema, to run and to print."""

from collections.abc import Iterable
from datetime import datetime

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig

from schema.federation import REPRESENTATION, Representation
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import DATE_TIME, RELATION_MASK, RelationMask
from schema.subscription import Subscription
from schema.user import User
from schema.user_errors import USER_ERRORS

DESCRIPTION = """A social graph: who follows, requests, blocks and mutes whom, and who can see it.

User ids are those of the platform. The viewer is the user who makes the request. Fields return
what the viewer may see; hidden relationships are returned as if they did not exist.

Terms: friends are two users who follow each other. A whisper is a follow that other users do not
see. A close follow is a follow that the viewer has marked, invisible to other users. A protected
user approves their followers, so that following them begins with a follow request.

Lists are Relay connections. A rejected mutation returns the reason in `userErrors`; every other
failure is an error with `extensions.code`. A mutation can be repeated with the same
`idempotencyKey`: the service makes the change once and returns the first result."""

_ROOTS = """schema {
  query: Query
  mutation: Mutation
  subscription: Subscription
}"""


def build(extensions: Iterable[type[SchemaExtension]] = ()) -> strawberry.Schema:
    """Build the schema. Only Strawberry's own executor, not ours, runs `extensions`."""
    schema = strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[User, *(rejection.type for rejection in USER_ERRORS)],
        config=StrawberryConfig(
            scalar_map={
                RelationMask: RELATION_MASK,
                Representation: REPRESENTATION,
                datetime: DATE_TIME,
            }
        ),
        extensions=list(extensions),
    )
    schema._schema.description = DESCRIPTION  # Strawberry has no parameter for it
    return schema


schema = build()


def sdl() -> str:
    """Return the text of `schema/schema.graphql`."""
    # Strawberry prints no description of the schema itself.
    return f'"""\n{DESCRIPTION}\n"""\n{_ROOTS}\n\n{schema.as_str().rstrip()}\n'
