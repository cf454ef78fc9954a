"""The whole contract, ready to run or to print."""

from collections.abc import Iterable

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig

from schema.federation import REPRESENTATION, Representation
from schema.mutation import Mutation
from schema.query import Query
from schema.relation_mask import RELATION_MASK, RelationMask
from schema.subscription import Subscription
from schema.user import User
from schema.user_error import USER_ERRORS


def built(extensions: Iterable[type[SchemaExtension]] = ()) -> strawberry.Schema:
    """The contract, to be run with `extensions` of Strawberry's own executor; ours needs none."""
    return strawberry.Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[User, *USER_ERRORS],
        config=StrawberryConfig(
            scalar_map={RelationMask: RELATION_MASK, Representation: REPRESENTATION}
        ),
        extensions=list(extensions),
    )


schema = built()


def sdl() -> str:
    """The contract as `schema/schema.graphql` holds it."""
    return schema.as_str().rstrip() + "\n"
