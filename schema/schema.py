"""The whole contract, ready to run or to print."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from schema.mutation import Mutation
from schema.query import Query
from schema.relation_mask import RELATION_MASK, RelationMask
from schema.subscription import Subscription
from schema.user import User
from schema.user_error import USER_ERRORS

schema = strawberry.Schema(
    query=Query,
    mutation=Mutation,
    subscription=Subscription,
    types=[User, *USER_ERRORS],
    config=StrawberryConfig(scalar_map={RelationMask: RELATION_MASK}),
)


def sdl() -> str:
    """The contract as `schema/schema.graphql` holds it."""
    return schema.as_str().rstrip() + "\n"
