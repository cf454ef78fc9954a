"""A small schema: three users, a counter, and fields that fail."""

import asyncio
from dataclasses import dataclass, field

import strawberry

from engine import Engine, Result
from gateway.authentication.identify import ANONYMOUS, Identity
from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.execution import EngineExecutor
from gateway.graphql.request import GraphQLRequest
from graph.errors import BadInput, Unavailable
from schema.errors import formatted


@dataclass(slots=True)
class Context:
    """The context of the resolvers below, with the records that tests check."""

    identity: Identity = ANONYMOUS
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[str] = field(default_factory=list)


Info = strawberry.Info[Context, None]


@strawberry.type
class User:
    id: strawberry.ID

    @strawberry.field
    async def friends(self) -> list["User"]:
        return [User(id=strawberry.ID("2")), User(id=strawberry.ID("3"))]

    @strawberry.field
    async def friend(self) -> "User":
        return User(id=strawberry.ID("2"))

    @strawberry.field
    def friend_count(self) -> int:
        return 2


@strawberry.input
class Wish:
    text: str
    inner: "Wish | None" = None


@strawberry.type
class Query:
    @strawberry.field
    async def user(self, id: strawberry.ID) -> User:  # noqa: A002
        return User(id=id)

    @strawberry.field
    def who(self, info: Info) -> str:
        return str(info.context.identity.user_id)

    @strawberry.field
    def repeat(self, times: int) -> int:
        return times

    @strawberry.field
    def wish(self, wish: Wish) -> str:
        return wish.text

    @strawberry.field
    async def broken(self) -> str | None:
        raise RuntimeError("password=hunter2")

    @strawberry.field
    async def broken_for_good(self) -> str:
        raise RuntimeError("password=hunter2")

    @strawberry.field
    async def rejected(self) -> str | None:
        raise BadInput("first", "must be at most 100.")

    @strawberry.field
    async def down(self) -> str | None:
        raise Unavailable("postgresql")

    @strawberry.field
    async def forever(self, info: Info) -> str:
        try:
            info.context.started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            info.context.cancelled.append("forever")
            raise
        return "never"


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def follow(self) -> str:
        return "followed"


schema = strawberry.Schema(Query, Mutation)


def executor() -> EngineExecutor:
    return EngineExecutor(Engine(schema))


async def answered(query: str) -> Result:
    """Execute a valid operation. Returns its result."""
    request, running, context = GraphQLRequest(query), executor(), Context()
    operation = await running.prepare(request, context)
    return await running.run(running.charge(operation, request, context), request, context)


def endpoint(context: Context | None = None) -> GraphQLEndpoint:
    shared = context or Context()
    return GraphQLEndpoint(executor(), lambda _: shared, formatted)
