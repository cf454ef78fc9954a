"""The moment up to which each user has seen their followers: a column of their count row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graph.account_state import AccountState
from graph.edge import Millis, UserId
from graph.new_followers import NEVER_SEEN
from graph.outcome import Outcome
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.account_rows import state_and_clock
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import in_transaction
from storage.postgres.own_changes import complete


@dataclass(frozen=True, slots=True)
class _Statements:
    find_seen: str
    mark_seen: str


_SQL = sql.load(_Statements, "seen_followers")


class PostgresSeenFollowers:
    """Implements `storage.ports.own_data.SeenFollowers`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Millis]:
        rows = await self._postgres.fetch(_SQL.find_seen, list(users))
        return dict.fromkeys(users, NEVER_SEEN) | dict(map(tuple, rows))

    async def mark(
        self,
        user: UserId,
        until: Millis,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        change = partial(_mark, user=user, until=until, request=request, pace=pace)
        return await in_transaction(self._postgres, user, change)


async def _mark(
    connection: Connection,
    user: UserId,
    until: Millis,
    request: IdempotentRequest | None,
    pace: Pace | None,
) -> OwnChange:
    # The account may be deleted after this check. The erasure finishes 30 s after the deletion at
    # the earliest, so it also deletes what this transaction writes.
    state, now = await state_and_clock(connection, user)
    if state is not AccountState.ACTIVE:
        return OwnChange(Outcome.ACCOUNT_NOT_ACTIVE)
    outcome = Outcome.UNCHANGED
    if until > NEVER_SEEN and await connection.row(_SQL.mark_seen, user, until):
        outcome = Outcome.UPDATED
    return await complete(connection, user, user, OwnChange(outcome), now, request, pace)
