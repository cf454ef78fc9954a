"""Measures the bytes of a graph in tables, indexes and caches."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg
from redis.asyncio import Redis

from graph.edge import UserId
from graph.lists import ListKind
from storage.cache.codec.lists import bytes_of_entries
from storage.redis.keys import Keys

SAMPLE = 500
"""Users whose cached values are measured."""

_TABLES = """
SELECT parent.relname AS table,
       sum(pg_relation_size(part.oid))::bigint AS rows_bytes,
       sum(pg_indexes_size(part.oid))::bigint AS indexes_bytes,
       sum(pg_total_relation_size(part.oid))::bigint AS all_bytes
FROM pg_class parent
LEFT JOIN pg_inherits i ON i.inhparent = parent.oid
JOIN pg_class part ON part.oid = coalesce(i.inhrelid, parent.oid)
WHERE parent.relnamespace = $1::text::regnamespace AND parent.relkind IN ('r', 'p')
  AND NOT parent.relispartition
GROUP BY 1 ORDER BY 1
"""
_INDEXES = """
SELECT parent.relname AS index, sum(pg_relation_size(part.oid))::bigint AS bytes
FROM pg_class parent
LEFT JOIN pg_inherits i ON i.inhparent = parent.oid
JOIN pg_class part ON part.oid = coalesce(i.inhrelid, parent.oid)
WHERE parent.relnamespace = $1::text::regnamespace AND parent.relkind IN ('i', 'I')
  AND NOT parent.relispartition
GROUP BY 1 ORDER BY 1
"""
_EDGES = "SELECT coalesce(sum(follows), 0)::bigint FROM following_count"
_USERS = "SELECT count(*) FROM following_count FULL JOIN follower_count USING (user_id)"


@dataclass(frozen=True, slots=True)
class TableSize:
    table: str
    rows_bytes: int
    indexes_bytes: int
    all_bytes: int


@dataclass(frozen=True, slots=True)
class GraphSize:
    """The size of a space's tables and of each index."""

    users: int
    edges: int
    tables: Sequence[TableSize]
    indexes: dict[str, int]

    def bytes_per_edge(self, table: str) -> float:
        """Bytes per edge of one table with its indexes."""
        return sum(size.all_bytes for size in self.tables if size.table == table) / self.edges


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The size of the cached values of one kind, of all sampled users together."""

    kind: str
    keys: int
    entries: int
    bytes: int


async def graph_size(database_url: str, space: str) -> GraphSize:
    """Count the users and edges of a space, and measure its tables and indexes."""
    connection = await asyncpg.connect(database_url, server_settings={"search_path": space})
    try:
        tables = [TableSize(*row) for row in await connection.fetch(_TABLES, space)]
        indexes = {row[0]: row[1] for row in await connection.fetch(_INDEXES, space)}
        edges, users = await connection.fetchval(_EDGES), await connection.fetchval(_USERS)
    finally:
        await connection.close()
    return GraphSize(users, edges, tables, indexes)


async def cache_sizes(redis_url: str, space: str, users: Sequence[int]) -> list[CacheSize]:
    """Measure the cached values of users who have all kinds of them."""
    keys, sample = Keys(space), [UserId(user) for user in users[:SAMPLE]]
    async with Redis.from_url(redis_url) as redis:
        return [
            await _hashes(redis, [keys.relations(user) for user in sample]),
            await _lists(redis, "following", [keys.head(ListKind.FOLLOWING, u) for u in sample]),
            await _lists(redis, "followers", [keys.head(ListKind.FOLLOWERS, u) for u in sample]),
            await _plain(redis, "profile", keys.profiles(sample)),
        ]


async def _hashes(redis: Redis, keys: Sequence[str]) -> CacheSize:
    # Each hash has one field that is not an edge: its marker.
    entries = sum([int(await redis.hlen(key)) - 1 for key in keys])  # type: ignore[misc]
    return CacheSize("relations", len(keys), entries, await _size(redis, keys))


async def _lists(redis: Redis, kind: str, keys: Sequence[str]) -> CacheSize:
    entry = bytes_of_entries(1) - bytes_of_entries(0)
    entries = sum([(await redis.strlen(key)) // entry for key in keys])
    return CacheSize(kind, len(keys), entries, await _size(redis, keys))


async def _plain(redis: Redis, kind: str, keys: Sequence[str]) -> CacheSize:
    return CacheSize(kind, len(keys), len(keys), await _size(redis, keys))


async def _size(redis: Redis, keys: Sequence[str]) -> int:
    """The bytes of all keys. SAMPLES 0 counts every field instead of estimating."""
    return sum([await redis.memory_usage(key, samples=0) or 0 for key in keys])
