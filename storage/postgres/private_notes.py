"""Private notes of users about others, each a row of its author."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graph.account_state import AccountState
from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.transactions import in_transaction
from storage.postgres.own_changes import complete


@dataclass(frozen=True, slots=True)
class _Statements:
    find_notes: str
    account_states_of_note: str
    write_note: str
    delete_note: str


_SQL = sql.load(_Statements, "private_notes")


class PostgresPrivateNotes:
    """Implements `storage.ports.own_data.PrivateNotes`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, author: UserId, others: Sequence[UserId]) -> Mapping[UserId, str]:
        rows = await self._postgres.fetch(_SQL.find_notes, author, list(others))
        return {UserId(row["other_id"]): row["note"] for row in rows}

    async def set_note(
        self,
        pair: Pair,
        note: str | None,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        change = partial(_set_note, pair=pair, note=note, request=request, pace=pace)
        return await in_transaction(self._postgres, pair.source, change)


async def _set_note(
    connection: Connection,
    pair: Pair,
    note: str | None,
    request: IdempotentRequest | None,
    pace: Pace | None,
) -> OwnChange:
    # Either account may be deleted after this check. The erasure finishes 30 s after the deletion
    # at the earliest, so it also deletes what this transaction writes.
    states = await connection.row(_SQL.account_states_of_note, *pair)
    assert states is not None
    if states["author"] != AccountState.ACTIVE:
        return OwnChange(Outcome.ACCOUNT_NOT_ACTIVE)
    if note is not None and states["other"] == AccountState.DELETED:
        return OwnChange(Outcome.NOT_ALLOWED)
    if note is None:
        changed = await connection.row(_SQL.delete_note, *pair)
    else:
        changed = await connection.row(_SQL.write_note, *pair, note)
    outcome = Outcome.UPDATED if changed else Outcome.UNCHANGED
    return await complete(connection, *pair, OwnChange(outcome), states["now"], request, pace)
