"""Account states (active, deactivated, deleted) in the account table."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from graph.account_state import (
    ACTIVE_STATUS,
    AccountState,
    AccountStatus,
    Deletion,
    StateChange,
    state_outcome,
)
from graph.edge import Millis, UserId
from graph.outcome import CHANGES, REJECTIONS
from graph.receipt import IdempotentRequest
from storage.postgres import sql
from storage.postgres.account_rows import lock_account
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres
from storage.postgres.receipts import write_receipt


@dataclass(frozen=True, slots=True)
class _Statements:
    write_state: str
    states: str
    edges_left: str


_SQL = sql.load(_Statements, "account_states")


class PostgresAccountStates:
    """Implements `storage.ports.accounts.AccountStates`, and the tables that
    `storage.write_through.account_states` needs."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        rows = await self._postgres.fetch(_SQL.states, list(users))
        deleted = [row["user_id"] for row in rows if row["state"] == AccountState.DELETED]
        edges_left: dict[UserId, int] = {}
        if deleted:
            edges_left = dict(map(tuple, await self._postgres.fetch(_SQL.edges_left, deleted)))
        statuses = {
            UserId(row["user_id"]): _status(row, edges_left.get(row["user_id"], 0)) for row in rows
        }
        return {user: statuses.get(user, ACTIVE_STATUS) for user in users}

    async def change(
        self,
        user: UserId,
        state: AccountState,
        request: IdempotentRequest | None = None,
        before_absence: Callable[[], Awaitable[None]] | None = None,
    ) -> StateChange:
        """Set the state of an account, and write the receipt, in one transaction.

        `before_absence`: awaited before the writes, with the account's row locked, if `state` is
        not `ACTIVE`, also if the account has it already, unless the change is rejected. If it
        raises, nothing is written.
        """
        async with self._postgres.connection() as connection, connection.transaction():
            row = await lock_account(connection, user)
            outcome = state_outcome(AccountState(row["state"]), state)
            is_absent = state is not AccountState.ACTIVE and outcome not in REJECTIONS
            if is_absent and before_absence is not None:
                await before_absence()
            if outcome in CHANGES:
                await connection.fetch(_SQL.write_state, user, state)
            if request is not None and outcome not in REJECTIONS:
                await write_receipt(connection, request, user, outcome, row["now"])
        return StateChange(outcome)


def _status(row: Record, edges_left: int) -> AccountStatus:
    state = AccountState(row["state"])
    if state is not AccountState.DELETED:
        return AccountStatus(state)
    started, finished = row["deleted_at"], row["erased_at"]
    deletion = Deletion(
        0 if finished else edges_left,
        Millis((started or 0) // 1000),
        Millis(finished // 1000) if finished else None,
    )
    return AccountStatus(state, deletion)
