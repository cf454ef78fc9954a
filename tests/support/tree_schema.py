"""A small schema whose resolvers record how often, and for how many parents, they are called."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import strawberry
from strawberry import Info

from engine import Engine, EngineSettings, Parents, batched, derived

Calls = list[tuple[str, int]]


class TreeRow(NamedTuple):
    number: int
    flags: int = 0


@strawberry.type
class Tree:
    number: int
    even: bool = derived("flags", lambda flags: flags % 2 == 0)
    odd: bool = derived("flags", lambda flags: flags % 2 == 1)

    @batched
    async def size(trees: Parents[TreeRow], info: Info, scale: int = 1) -> list[int]:
        info.context.append(("size", len(trees)))
        await asyncio.sleep(0)
        return [tree.number * scale for tree in trees]

    @batched(graphql_type="list[Tree]")
    async def branches(trees: Parents[TreeRow], info: Info, count: int = 3) -> list[list[TreeRow]]:
        info.context.append(("branches", len(trees)))
        await asyncio.sleep(0)
        return [[TreeRow(tree.number * 10 + i, i) for i in range(count)] for tree in trees]

    @batched
    async def forever(trees: Parents[TreeRow], info: Info) -> list[int]:
        try:
            await asyncio.Event().wait()
        finally:
            info.context.append(("cancelled", len(trees)))
        return []

    @batched
    async def failing(trees: Parents[TreeRow], info: Info) -> list[int | None]:
        info.context.append(("failing", len(trees)))
        await asyncio.sleep(0)
        raise RuntimeError("the batch has failed")

    @strawberry.field
    def hidden_wait(self: Any) -> list[int]:
        return [wait()]  # type: ignore[list-item]


def wait() -> Awaitable[int]:
    async def later() -> int:
        return 7

    return later()


@strawberry.type
class Query:
    @strawberry.field
    def tree(self, number: int = 1) -> Tree:
        return TreeRow(number)  # type: ignore[return-value]

    @strawberry.field
    def now(self) -> datetime:
        return datetime(2024, 5, 17, 12, 0, 0, 120, tzinfo=UTC)


@strawberry.type
class Mutation:
    @strawberry.mutation
    def plant(self, number: int) -> Tree:
        return TreeRow(number)  # type: ignore[return-value]


schema = strawberry.Schema(Query, Mutation)


async def answer(query: str, settings: EngineSettings | None = None, **given: Any) -> Any:
    result = await Engine(schema, settings).execute(query=query, **given)
    return result.response()
