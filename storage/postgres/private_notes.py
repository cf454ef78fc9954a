"""Private notes of users about others, each a row of its author."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.account_state import AccountState
from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.pace import Pace
from graph.private_note import SavedNote
from graph.receipt import Request
from storage.postgres import sql
from storage.postgres.accounts import charge_rate_limit
from storage.postgres.pool import Connection, Postgres
from storage.postgres.receipts import write_receipt


@dataclass(frozen=True, slots=True)
class _Statements:
    find_notes: str
    account_states_of_note: str
    write_note: str
    delete_note: str


_SQL = sql.load(_Statements, "private_notes")


class _TooFast(Exception):
    """Rolls the transaction back; carries the result to return."""

    def __init__(self, saved: SavedNote) -> None:
        self.saved = saved


class PostgresPrivateNotes:
    """Implements `storage.ports.PrivateNotes`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, author: UserId, others: Sequence[UserId]) -> Mapping[UserId, str]:
        rows = await self._postgres.fetch(_SQL.find_notes, author, list(others))
        return {UserId(row["other_id"]): row["note"] for row in rows}

    async def set_note(
        self,
        pair: Pair,
        note: str | None,
        request: Request | None = None,
        pace: Pace | None = None,
    ) -> SavedNote:
        async with self._postgres.connection() as connection:
            try:
                async with connection.transaction():
                    return await _set(connection, pair, note, request, pace)
            except _TooFast as too_fast:
                return too_fast.saved


async def _set(
    connection: Connection,
    pair: Pair,
    note: str | None,
    request: Request | None,
    pace: Pace | None,
) -> SavedNote:
    # Either account may be deleted a moment later, so an erasure waits longer than any statement
    # takes, and then deletes the note.
    states = await connection.row(_SQL.account_states_of_note, *pair)
    assert states is not None
    if states["author"] != AccountState.ACTIVE:
        return SavedNote(Outcome.ACCOUNT_NOT_ACTIVE)
    if note is not None and states["other"] != AccountState.ACTIVE:
        return SavedNote(Outcome.NOT_ALLOWED)
    if note is None:
        changed = await connection.row(_SQL.delete_note, *pair)
    else:
        changed = await connection.row(_SQL.write_note, *pair, note)
    if pace is not None and (request or changed):
        later = await charge_rate_limit(connection, pair.source, pace, states["now"])
        if later is not None:
            raise _TooFast(SavedNote(Outcome.RATE_LIMITED, later))
    outcome = Outcome.UPDATED if changed else Outcome.UNCHANGED
    if request is not None:
        await write_receipt(connection, request, pair.target, outcome, states["now"])
    return SavedNote(outcome)
