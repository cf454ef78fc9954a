"""The shards of a space on Citus: where they are, how large they are, and who has one alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.connector import Connection
from storage.postgres.distribution import is_distributed
from storage.postgres.session import session
from storage.settings import StorageSettings

NOT_DISTRIBUTED = (
    "The tables of this space are not on Citus: `kith migrate --citus` distributes them."
)
NOT_COORDINATOR = (
    "DATABASE_URL is a worker of Citus: shards can only be changed at the coordinator."
)

ISOLATION_TIMEOUT = "6h"
"""Of one isolation, which copies all rows of a shard group."""
ISOLATION_LOCK_TIMEOUT = "60s"
"""How long it waits for writers before the copy becomes the shard group, while they wait for it."""


@dataclass(frozen=True, slots=True)
class _Statements:
    shard_groups: str
    edges: str
    whales: str
    shard_of: str
    isolate: str


_SQL = sql.load(_Statements, "shards")


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """The shards of all tables with the same users, on one machine."""

    shard_id: int
    """The number of its shard of `following`."""
    node: str
    bytes: int
    edges: int
    """An estimate: the rows of both directions. 0 before the first ANALYZE."""
    is_of_one: bool
    """Whether it has a single hash, so that a user was isolated into it."""


@dataclass(frozen=True, slots=True)
class Whale:
    """A user with many edges to them."""

    user: UserId
    edges: int
    shard_id: int


async def shard_groups(settings: StorageSettings) -> list[ShardGroup]:
    """All shard groups of a space.

    Raises:
        ValueError: the tables of the space are not on Citus.
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "shards") as connection:
        await _require_distributed(connection)
        edges = dict(map(tuple, await connection.fetch(_SQL.edges)))
        return [
            ShardGroup(
                row["shard_id"],
                row["node"],
                row["bytes"],
                edges.get(row["first_hash"], 0),
                row["first_hash"] == row["last_hash"],
            )
            for row in await connection.fetch(_SQL.shard_groups)
        ]


async def whales(settings: StorageSettings, most: int) -> Sequence[Whale]:
    """The `most` users with the most edges to them. Reads the counts of all users.

    Raises:
        ValueError: the tables of the space are not on Citus.
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "shards") as connection:
        await _require_distributed(connection)
        return [
            Whale(user, edges, await connection.fetchval(_SQL.shard_of, user))
            for user, edges in await connection.fetch(_SQL.whales, most)
        ]


async def isolate(settings: StorageSettings, user: UserId) -> int | None:
    """Move the rows of a user into a shard group of their own. Reads and writes go on; at the end,
    writes to the old group wait for some moments. Returns the new shard's number, or None if the
    user has a shard group alone already.

    Raises:
        ValueError: the tables of the space are not on Citus, or this is not the coordinator.
        Unavailable: PostgreSQL cannot be reached.
    """
    groups = {group.shard_id: group for group in await shard_groups(settings)}
    async with session(settings, "shards") as connection:
        if groups[await connection.fetchval(_SQL.shard_of, user)].is_of_one:
            return None
        await connection.execute(f"SET statement_timeout = '{ISOLATION_TIMEOUT}'")
        await connection.execute(f"SET lock_timeout = '{ISOLATION_LOCK_TIMEOUT}'")
        try:
            return int(await connection.fetchval(_SQL.isolate, user))
        except asyncpg.InternalServerError as error:
            if "not allowed on this node" in str(error):
                raise ValueError(NOT_COORDINATOR) from error
            raise


async def _require_distributed(connection: Connection) -> None:
    if not await is_distributed(connection):
        raise ValueError(NOT_DISTRIBUTED)
