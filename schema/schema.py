"""The whole contract, ready to run or to print."""

import strawberry

from schema.mutation import Mutation
from schema.query import Query
from schema.user import User
from schema.user_error import USER_ERRORS

schema = strawberry.Schema(query=Query, mutation=Mutation, types=[User, *USER_ERRORS])


def sdl() -> str:
    """The contract as `schema/schema.graphql` holds it."""
    return schema.as_str().rstrip() + "\n"
