"""How close users are to others, kept as ranks. Knows nothing of what an interaction weighs.

Not cached: ranks change with everything that people do, and are read only where somebody asks for
suggestions or orders friends by them, which is one short range of the asker's own rows.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from graph.decision import Outcome
from graph.edge import Pair, UserId
from graph.receipt import Request
from storage.postgres import sql
from storage.postgres.pool import Connection, Postgres
from storage.postgres.receipts import write_receipt_of_batch


@dataclass(frozen=True, slots=True)
class _Statements:
    record: str
    closest: str
    take_crowded: str
    prune: str
    forget: str


_SQL = sql.load(_Statements, "affinity")

KEPT = 2_000
"""Others a user: twice as many as anybody follows by default, so whoever is followed and was not
forgotten by oneself has a rank. The purge sees to it, so for a minute there may be more."""

CROWDED_BATCH = 100
"""Users whom one statement of the purge takes: it holds their counts for a moment only."""

FORGOTTEN_BATCH = 1_000
"""Rows a statement, of one account that goes away: some milliseconds."""


class PostgresAffinity:
    """One space's affinities: what users did orders what they, and nobody else, are shown."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Adds to how close each pair is: one statement, durable when it returns.

        Tells which pairs: all but those of whom one is deleted.
        """
        return await _recorded(self._postgres, ranks)

    async def record_once(
        self, ranks: Mapping[Pair, float], request: Request, count: Callable[[Set[Pair]], int]
    ) -> int:
        """The same, in one transaction with a receipt of the request: of what was asked for, and of
        how many interactions, as `count` finds them from the pairs.

        Raises:
            AlreadyNoted: there is such a receipt; nothing was added.
        """
        async with self._postgres.connection() as connection, connection.transaction():
            recorded = count(await _recorded(connection, ranks))
            await write_receipt_of_batch(connection, request, Outcome.RECORDED, recorded)
        return recorded

    async def closest(self, user: UserId) -> dict[UserId, float]:
        """The ranks of those to whom `user` is closest, at most `KEPT`; never for other eyes."""
        rows = await self._postgres.fetch(_SQL.closest, user, KEPT)
        return {UserId(other): rank for other, rank in rows}

    async def prune(self, most: int = 10_000) -> int:
        """Forgets the least close of users with too many, of about `most` users at most."""
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
        """Forgets at most `most` of what a user was close to, and of who was close to them.

        How many that were: less than `most` says that nothing is left. For accounts that go away;
        safe to repeat, in one short statement each time.
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
