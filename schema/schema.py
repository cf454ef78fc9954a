"""The whole contract, ready to run or to print."""

import strawberry

from schema.mutation import Mutation
from schema.query import Query
from schema.subscription import Subscription
from schema.user import User

schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription, types=[User])


def sdl() -> str:
    """The contract as `schema/schema.graphql` holds it."""
    return schema.as_str().rstrip() + "\n"
