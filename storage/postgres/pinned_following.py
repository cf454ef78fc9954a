"""The users whom users have pinned, each a row of the user who pins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from graph.account_state import AccountState
from graph.edge import UserId
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
from storage.postgres.present_follows import present_follows


@dataclass(frozen=True, slots=True)
class _Statements:
    find_pinned: str
    lock_count: str
    stored_pins: str
    delete_pins: str
    write_pin: str


_SQL = sql.load(_Statements, "pinned_following")


class PostgresPinnedFollowing:
    """Implements `storage.ports.own_data.PinnedFollowing`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def pinned_by(self, user: UserId) -> Sequence[UserId]:
        return [row["other_id"] for row in await self._postgres.fetch(_SQL.find_pinned, user)]

    async def replace(
        self,
        user: UserId,
        others: Sequence[UserId],
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        change = partial(_replace_pins, user=user, others=others, request=request, pace=pace)
        return await in_transaction(self._postgres, user, change)


async def _replace_pins(
    connection: Connection,
    user: UserId,
    others: Sequence[UserId],
    request: IdempotentRequest | None,
    pace: Pace | None,
) -> OwnChange:
    # An account may be deleted after this check. The erasure finishes 30 s after the deletion at
    # the earliest, so it also deletes what this transaction writes.
    state, now = await state_and_clock(connection, user)
    if state is not AccountState.ACTIVE:
        return OwnChange(Outcome.ACCOUNT_NOT_ACTIVE)
    # Blocks other replacements by the user. A user without a count row follows nobody.
    await connection.fetch(_SQL.lock_count, user)
    follows = await present_follows(connection, user, others)
    for other in others:
        if other not in follows:
            return OwnChange(Outcome.NOT_ALLOWED, not_pinnable=other)
    pins = [(other, follows[other]) for other in others]
    outcome = Outcome.UNCHANGED
    if pins != list(map(tuple, await connection.fetch(_SQL.stored_pins, user))):
        outcome = Outcome.UPDATED
        await connection.fetch(_SQL.delete_pins, user)
        for position, pin in enumerate(pins):
            await connection.fetch(_SQL.write_pin, user, position, *pin)
    return await complete(connection, user, user, OwnChange(outcome), now, request, pace)
