"""Small rows and a schema, to measure the engine with."""

from binascii import b2a_base64
from datetime import UTC, datetime, timedelta
from enum import Enum
from struct import Struct
from typing import Annotated, NamedTuple, TypeAlias

import strawberry

from engine import ItemOrError, Parents, batched, derived, row_classes

UserId: TypeAlias = str
START = datetime(2024, 1, 1, tzinfo=UTC)
USERS = [str(number) for number in range(1_000, 2_000)]
pack = Struct(">qq").pack


@strawberry.enum
class Status(Enum):
    NONE = "none"
    FOLLOWING = "following"
    FOLLOWED_BY = "followed_by"
    FRIENDS = "friends"


STATUSES = list(Status)
NAMES = [status.name for status in Status]


class RelationRow(NamedTuple):
    user: UserId
    flags: int
    since: datetime


class EdgeRow(NamedTuple):
    node: UserId
    position: int
    followed_at: datetime


class PageRow(NamedTuple):
    edges: list[EdgeRow]
    total_count: int


def relation(user: UserId, other: UserId) -> RelationRow:
    flags = (int(user) + int(other)) % 4
    return RelationRow(other, flags, START + timedelta(seconds=flags))


RELATIONS = {(user, other): relation(user, other) for user in USERS[:50] for other in USERS}
PAGE = [
    EdgeRow(user, index, START + timedelta(hours=index)) for index, user in enumerate(USERS[:20])
]


@strawberry.interface
class Node:
    @batched(graphql_type=strawberry.ID)
    def id(nodes: Parents[UserId]) -> list[UserId]:
        return list(nodes)


@strawberry.type
class Relation:
    status: Status = derived("flags", STATUSES.__getitem__)
    following: bool = derived("flags", lambda flags: flags & 1 != 0)
    since: datetime
    user: "User"


@strawberry.type
class Edge:
    followed_at: datetime
    node: "User"

    @batched
    def cursor(edges: Parents[EdgeRow]) -> list[str]:
        return [cursor(edge) for edge in edges]


@strawberry.type
class Page:
    total_count: int
    edges: list[Edge]


@strawberry.type
@row_classes(str)
class User(Node):
    @batched(graphql_type=list[Relation])
    async def relation_with(
        users: Parents[UserId],
        ids: Annotated[list[strawberry.ID], strawberry.argument(description="Other users.")],
    ) -> list[list[RelationRow]]:
        return [[RELATIONS[user, other] for other in ids] for user in users]

    @batched(graphql_type=Page)
    async def following(users: Parents[UserId], first: int = 20) -> list[ItemOrError[PageRow]]:
        return [PageRow(PAGE[:first], 12_345) for _ in users]


@strawberry.type
class Query:
    @batched(graphql_type=User)
    def user(roots: Parents[None], id: strawberry.ID) -> list[UserId]:  # noqa: A002
        return [id]

    @batched(graphql_type=list[User])
    def users(roots: Parents[None], ids: list[strawberry.ID]) -> list[list[strawberry.ID]]:
        return [ids]


def cursor(edge: EdgeRow) -> str:
    return b2a_base64(pack(edge.position, int(edge.node)), newline=False).decode()


schema = strawberry.Schema(Query, types=[User])
