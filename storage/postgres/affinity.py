"""Stores how close users are to others, as ranks.

Ranks are not cached: every interaction changes them, and only suggestions and friends ordered by
closeness read them. Such a read is one short range of the requesting user's own rows.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.receipt import Request
from storage.postgres import sql
from storage.postgres.pool import Connection, Postgres
from storage.postgres.receipts import write_interactions_receipt


@dataclass(frozen=True, slots=True)
class _Statements:
    record: str
    closest: str
    take_crowded: str
    prune: str
    forget: str


_SQL = sql.load(_Statements, "affinity")

KEPT = 2_000
"""Ranks kept for each user: twice the default following limit, so that every followed user has a
rank unless the user has removed it. The purge enforces it, so there may be more for a minute."""

CROWDED_BATCH = 100
"""Users for each statement of the purge, which locks their count rows briefly."""

FORGOTTEN_BATCH = 1_000
"""Rows per statement, when an account is erased: some milliseconds."""


class PostgresAffinity:
    """The affinities of one space. A user's ranks order what is shown to that user only."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Add to the rank of each pair in one statement, durable when it returns.

        Returns the recorded pairs: all except those with a deleted account.
        """
        return await _recorded(self._postgres, ranks)

    async def record_once(
        self, ranks: Mapping[Pair, float], request: Request, count: Callable[[Set[Pair]], int]
    ) -> int:
        """Like `record`, in one transaction with a receipt of the request. The receipt stores the
        number of interactions, which `count` computes from the recorded pairs; this number is
        returned.

        Raises:
            ReceiptExists: the receipt exists; nothing was added.
        """
        async with self._postgres.connection() as connection, connection.transaction():
            recorded = count(await _recorded(connection, ranks))
            await write_interactions_receipt(connection, request, Outcome.RECORDED, recorded)
        return recorded

    async def closest(self, user: UserId) -> dict[UserId, float]:
        """The highest ranks of `user`, at most `KEPT`. Never show them to other users."""
        rows = await self._postgres.fetch(_SQL.closest, user, KEPT)
        return {UserId(other): rank for other, rank in rows}

    async def prune(self, most: int = 10_000) -> int:
        """Delete the lowest ranks of users who have too many, for about `most` users at most."""
        gone = taken = 0
        while taken < most:
            crowded = await self._postgres.fetch(_SQL.take_crowded, CROWDED_BATCH, KEPT)
            for (user,) in crowded:
                row = await self._postgres.row(_SQL.prune, user, KEPT)
                assert row is not None
                gone += row["count"]
            taken += len(crowded)
            if len(crowded) < CROWDED_BATCH:
                break
        return gone

    async def forget(self, user: UserId, most: int = FORGOTTEN_BATCH) -> int:
        """Delete at most `most` ranks of a user and of others for that user.

        Returns the number deleted; less than `most` means that none is left. For accounts that are
        being erased; safe to repeat, one short statement per call.
        """
        row = await self._postgres.row(_SQL.forget, user, most)
        assert row is not None
        gone: int = row["count"]
        return gone


async def _recorded(postgres: Postgres | Connection, ranks: Mapping[Pair, float]) -> Set[Pair]:
    if not ranks:
        return frozenset()
    users, others = (list(column) for column in zip(*ranks, strict=True))
    rows = await postgres.fetch(_SQL.record, users, others, list(ranks.values()))
    return {Pair(UserId(user), UserId(other)) for user, other in rows}
