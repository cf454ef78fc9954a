"""The shards of a space on Citus: their machines and sizes, and users who have shards alone."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Unavailable
from storage.postgres import sql
from storage.postgres.citus.distribution import is_coordinator, is_distributed
from storage.postgres.connection import locks
from storage.postgres.connection.connector import Connection
from storage.postgres.connection.session import session
from storage.settings import StorageSettings

NOT_DISTRIBUTED = (
    "The tables of this space are not on Citus: `kith migrate --citus` distributes them."
)
NOT_COORDINATOR = (
    "DATABASE_URL is a worker of Citus: shards can only be changed at the coordinator."
)
ANOTHER_RUNS = (
    "Another user is being isolated in this database. Try again when that is finished, because its "
    "end would undo the preparations of the second isolation."
)
NOT_PREPARED = (
    "The machines could not be prepared for the copy of the shards. The role needs to be a "
    "superuser on each of them: {failure}"
)
NOT_APPLIED = (
    "Citus could not apply a change to the new shards, and would repeat it forever. The isolation "
    "was cancelled, and nothing has moved. The log of the machine with the user's rows says why."
)

ISOLATION_TIMEOUT = "6h"
"""The statement timeout of an isolation, which copies all rows of a shard group."""
ISOLATION_LOCK_TIMEOUT = "60s"
"""How long an isolation waits for the locks of writers before the copy replaces the shard group.
New writers wait for it meanwhile."""

CHECK_INTERVAL_S = 5
"""How often an isolation is checked for changes that Citus could not apply to the new shards."""
FAILURES_MIN = 2
"""An isolation is cancelled when a check finds more failures than the previous check, which had
found at least this number."""
RESET_ATTEMPTS = 10
"""How often the reset of the replica identity is tried."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Statements:
    shard_groups: str
    edges: str
    whales: str
    shard_of: str
    try_isolation: str
    isolate: str
    identify_new_shards: str
    reset_identity: str
    failed_applies: str


_SQL = sql.load(_Statements, "shards")


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """The shards, one of each table, that have the same users, on one machine."""

    shard_id: int
    """The number of its shard of `following`."""
    node: str
    bytes: int
    edges: int
    """An estimate: the rows of both directions. 0 before the first ANALYZE."""
    is_of_one: bool
    """Whether its range has a single hash, because a user was isolated into it."""


@dataclass(frozen=True, slots=True)
class Whale:
    """One of the users with the most edges to them."""

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


async def whales(settings: StorageSettings, limit: int) -> Sequence[Whale]:
    """The `limit` users with the most edges to them. Reads the counts of all users.

    Raises:
        ValueError: the tables of the space are not on Citus.
        Unavailable: PostgreSQL cannot be reached.
    """
    async with session(settings, "shards") as connection:
        await _require_distributed(connection)
        return [
            Whale(user, edges, await connection.fetchval(_SQL.shard_of, user))
            for user, edges in await connection.fetch(_SQL.whales, limit)
        ]


async def isolate(settings: StorageSettings, user: UserId) -> int | None:
    """Move the rows of a user into a shard group of their own. Reads and writes go on; at the end,
    writes to the old group wait for some moments. Returns the number of the new shard of
    `following`, or None if the user has a shard group of their own already.

    Raises:
        ValueError: the tables of the space are not on Citus, this is not the coordinator, the role
            is no superuser, or Citus cannot apply the changes that were made during the copy.
        Unavailable: PostgreSQL cannot be reached, or another isolation in this database is running.
    """
    async with session(settings, "shards") as connection, session(settings, "shards") as monitor:
        await _require_distributed(connection)
        if not await is_coordinator(connection):
            raise ValueError(NOT_COORDINATOR)
        if not await connection.fetchval(_SQL.try_isolation, locks.ISOLATION):
            raise Unavailable("shards", ANOTHER_RUNS)
        # After the lock: another isolation replaces shards by new ones.
        groups = {group.shard_id: group for group in await shard_groups(settings)}
        if groups[await connection.fetchval(_SQL.shard_of, user)].is_of_one:
            return None
        await connection.execute(f"SET statement_timeout = '{ISOLATION_TIMEOUT}'")
        await connection.execute(f"SET lock_timeout = '{ISOLATION_LOCK_TIMEOUT}'")
        try:
            await _identify_new_shards(monitor)
            return await _run_isolation(connection, monitor, user)
        finally:
            await _reset_identity(monitor)


async def _run_isolation(connection: Connection, monitor: Connection, user: UserId) -> int:
    """Run the isolation on `connection`. Cancel it if checks on `monitor` find that it cannot
    succeed."""
    isolation = asyncio.ensure_future(connection.fetchval(_SQL.isolate, user))
    try:
        failed = 0
        while not (await asyncio.wait([isolation], timeout=CHECK_INTERVAL_S))[0]:
            failed, previously_failed = await monitor.fetchval(_SQL.failed_applies), failed
            if failed > previously_failed >= FAILURES_MIN:
                raise ValueError(NOT_APPLIED)
        return int(await isolation)
    finally:
        isolation.cancel()
        await asyncio.gather(isolation, return_exceptions=True)


async def _identify_new_shards(connection: Connection) -> None:
    failure = await connection.fetchval(_SQL.identify_new_shards)
    if failure is not None:
        raise ValueError(NOT_PREPARED.format(failure=failure))


async def _reset_identity(connection: Connection) -> None:
    """Reset the replica identity of all shards. Give up after `RESET_ATTEMPTS` attempts: a shard
    that keeps the identity FULL only writes more WAL."""
    for _ in range(RESET_ATTEMPTS):
        failure = await connection.fetchval(_SQL.reset_identity)
        if failure is None:
            return
    log.warning("the replica identity of shards was not reset: %s", failure)


async def _require_distributed(connection: Connection) -> None:
    if not await is_distributed(connection):
        raise ValueError(NOT_DISTRIBUTED)
