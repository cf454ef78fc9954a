"""Stores how close users are to others, as ranks.

Ranks are not cached: every interaction changes them, and only suggestions and friends ordered by
closeness read them. Such a read is one short range of the requesting user's own rows.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.citus.shard_groups import by_shard
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.receipts import write_interactions_receipt


@dataclass(frozen=True, slots=True)
class _Statements:
    record: str
    record_on_citus: str
    closest: str
    take_crowded: str
    find_crowded_on_citus: str
    take_crowded_on_citus: str
    prune: str
    forget: str
    forget_on_citus: str
    find_sources_on_citus: str
    forget_of_on_citus: str


_SQL = sql.load(_Statements, "affinity")

RANKS_KEPT = 2_000
"""The purge reduces a user with more than 2,200 ranks to this number: twice the default following
limit. Reads return no more, whatever is stored."""

CROWDED_BATCH = 100
"""Users with too many ranks whom one statement of the purge takes, locking their count rows
briefly."""

FORGOTTEN_BATCH = 1_000
"""Rows that one statement deletes when an account is erased: some milliseconds."""


class PostgresAffinity:
    """The affinities of one space. A user's ranks order what is shown to that user only."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Add each of `ranks` to the stored rank of its pair, durably: in one statement, or on
        Citus in one transaction with a statement for each shard. Ranks are logarithms of scores,
        and the scores are added.

        Returns the recorded pairs: all except those with a deleted account.
        """
        if not ranks or not await self._postgres.is_citus():
            return await _record(self._postgres, ranks)
        async with self._postgres.connection() as connection, connection.transaction():
            return await _record_by_shard(connection, ranks)

    async def record_once(
        self,
        ranks: Mapping[Pair, float],
        request: IdempotentRequest,
        count: Callable[[Set[Pair]], int],
    ) -> int:
        """Like `record`, in one transaction with a receipt of the request. The receipt stores the
        number of interactions, which `count` computes from the recorded pairs; this number is
        returned.

        Raises:
            ReceiptExists: the receipt exists; nothing was added.
        """
        async with self._postgres.connection() as connection, connection.transaction():
            record = _record_by_shard if connection.is_citus else _record
            recorded = count(await record(connection, ranks))
            await write_interactions_receipt(connection, request, Outcome.RECORDED, recorded)
        return recorded

    async def closest(self, user: UserId) -> dict[UserId, float]:
        """The highest ranks of `user`, at most `RANKS_KEPT`. Never show them to other users."""
        rows = await self._postgres.fetch(_SQL.closest, user, RANKS_KEPT)
        return {UserId(other): rank for other, rank in rows}

    async def prune(self, limit: int = 10_000) -> int:
        """Delete the lowest ranks of users who have too many, for about `limit` users at most.
        Returns the number of deleted ranks."""
        deleted = users_done = 0
        while users_done < limit:
            crowded = await self._take_crowded()
            for user in crowded:
                row = await self._postgres.row(_SQL.prune, user, RANKS_KEPT)
                assert row is not None
                deleted += row["count"]
            users_done += len(crowded)
            if len(crowded) < CROWDED_BATCH:
                break
        return deleted

    async def _take_crowded(self) -> Sequence[UserId]:
        """Some users with too many ranks, whose stored numbers of ranks are reset to `RANKS_KEPT`,
        so that the next call returns others."""
        if not await self._postgres.is_citus():
            rows = await self._postgres.fetch(_SQL.take_crowded, CROWDED_BATCH, RANKS_KEPT)
            return [row["user_id"] for row in rows]
        crowded = await self._postgres.fetch(_SQL.find_crowded_on_citus, CROWDED_BATCH)
        users = [UserId(row["user_id"]) for row in crowded]
        taken: list[UserId] = []
        for group in await by_shard(self._postgres, users, UserId):
            rows = await self._postgres.fetch(
                _SQL.take_crowded_on_citus, CROWDED_BATCH, RANKS_KEPT, group
            )
            taken += [row["user_id"] for row in rows]
        return taken

    async def forget(self, user: UserId, limit: int = FORGOTTEN_BATCH) -> int:
        """Delete at most `limit` of the ranks that a user has for others or others have for the
        user.

        Returns the number deleted; less than `limit` means that none is left. For accounts that are
        being erased; safe to repeat, one short statement per call, or on Citus one for each shard.
        """
        if await self._postgres.is_citus():
            return await self._forget_by_shard(user, limit)
        row = await self._postgres.row(_SQL.forget, user, limit)
        assert row is not None
        deleted: int = row["count"]
        return deleted

    async def _forget_by_shard(self, user: UserId, limit: int) -> int:
        """Like `forget`. Each statement is a transaction of its own, so none waits for a concurrent
        `record` while it has locked rows that the `record` needs."""
        (own,) = await self._postgres.fetch(_SQL.forget_on_citus, user, limit)
        deleted: int = own["count"]
        if deleted == limit:
            return deleted
        source_rows = await self._postgres.fetch(_SQL.find_sources_on_citus, user, limit - deleted)
        sources = [UserId(row["user_id"]) for row in source_rows]
        for group in await by_shard(self._postgres, sources, UserId):
            await self._postgres.fetch(_SQL.forget_of_on_citus, user, group)
        return deleted + len(sources)


async def _record(postgres: Postgres | Connection, ranks: Mapping[Pair, float]) -> Set[Pair]:
    if not ranks:
        return frozenset()
    users, others = (list(column) for column in zip(*ranks, strict=True))
    rows = await postgres.fetch(_SQL.record, users, others, list(ranks.values()))
    return {Pair(UserId(user), UserId(other)) for user, other in rows}


async def _record_by_shard(connection: Connection, ranks: Mapping[Pair, float]) -> Set[Pair]:
    """Record the pairs shard by shard. All calls use the same order of shards, and of the rows in
    each, so that two calls cannot deadlock."""
    if not ranks:
        return frozenset()
    recorded: set[Pair] = set()
    for pairs in await by_shard(connection, ranks, lambda pair: pair.source):
        users, others = (list(column) for column in zip(*pairs, strict=True))
        values = [ranks[pair] for pair in pairs]
        rows = await connection.fetch(_SQL.record_on_citus, users, others, values)
        recorded |= {Pair(UserId(user), UserId(other)) for user, other in rows}
    return recorded
