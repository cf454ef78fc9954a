"""Updates caches and wakes the erasure workers after changes of account states."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from graph.account_state import AccountState, AccountStatus, StateChange
from graph.edge import UserId
from graph.errors import Unavailable
from graph.receipt import IdempotentRequest, ReceiptExists
from storage.cache.lease import GuardedWrite, account_keys_closed_while_written, invalidate
from storage.ports.accounts import AbsenceLog, Absences, ErasureQueue, Neighbours
from storage.redis.connection import KeyKind, Redis
from storage.redis.events import RedisEvents
from storage.redis.keys import Keys
from storage.shielded_tasks import ShieldedTasks
from storage.subscriptions import Notification

NEIGHBOURS_MAX = 20_000
"""The `limit` of `Neighbours.neighbours`, for the users whose cached totals are deleted. Those of
further users expire within minutes."""

USERS_AT_ONCE = 1_000
"""Users in one pipeline, few enough not to block Redis."""


class AccountStateTables(Protocol):
    """The tables of account states."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        """See `storage.ports.accounts.AccountStates`."""
        ...

    async def change(
        self,
        user: UserId,
        state: AccountState,
        request: IdempotentRequest | None = None,
        before_absence: Callable[[], Awaitable[None]] | None = None,
    ) -> StateChange:
        """See `storage.ports.accounts.AccountStates`. `before_absence` is awaited before the
        account becomes absent, or if it is so already; if it raises, nothing is written."""
        ...


class WriteThroughAccountStates:
    """Implements `storage.ports.accounts.AccountStates` around the tables."""

    def __init__(
        self,
        tables: AccountStateTables,
        neighbours: Neighbours,
        absences: Absences,
        absence_log: AbsenceLog,
        erasures: ErasureQueue,
        redis: Redis,
        keys: Keys,
        events: RedisEvents,
        shielded: ShieldedTasks,
        *,
        delayed_writes: bool = True,
    ) -> None:
        """`delayed_writes`: whether to write without closing the caches, or without an entry in the
        absence log, if these are unavailable."""
        self._tables = tables
        self._neighbours = neighbours
        self._absences = absences
        self._log = absence_log
        self._erasures = erasures
        self._redis = redis
        self._keys = keys
        self._events = events
        self._shielded = shielded
        self._delayed_writes = delayed_writes

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        return await self._tables.get_many(users)

    async def change(
        self, user: UserId, state: AccountState, request: IdempotentRequest | None = None
    ) -> StateChange:
        return await self._shielded.run(self._change(user, state, request))

    async def _change(
        self, user: UserId, state: AccountState, request: IdempotentRequest | None
    ) -> StateChange:
        closing = GuardedWrite()

        async def add_to_log() -> None:
            try:
                await self._log.add(user)
            except Unavailable:
                if not self._delayed_writes:
                    raise
                closing.is_delayed = True

        try:
            async with account_keys_closed_while_written(
                self._redis,
                [self._keys.profile(user)],
                must_close=not self._delayed_writes,
            ) as closing:
                try:
                    change = await self._tables.change(user, state, request, add_to_log)
                finally:
                    self._absences.expire()
            return replace(change, is_delayed=closing.is_delayed)
        except ReceiptExists as exists:
            exists.is_delayed = closing.is_delayed
            raise
        finally:
            # Also if nothing has changed: a repeated request may follow one that was cancelled
            # here.
            await self._events.notify(Notification(absences=[user]))
            if state is AccountState.DELETED:
                await self._erasures.wake([user])
            with contextlib.suppress(Unavailable):
                await self._invalidate_neighbour_totals(user)

    async def _invalidate_neighbour_totals(self, user: UserId) -> None:
        """Delete the cached totals of the users whose lists contain this one, and notify their
        subscribers."""
        users = [user, *await self._neighbours.neighbours(user, NEIGHBOURS_MAX)]
        for first in range(0, len(users), USERS_AT_ONCE):
            slice_of_users = users[first : first + USERS_AT_ONCE]
            await invalidate(self._redis, self._keys.profiles(slice_of_users), KeyKind.TOTALS)
            await self._events.notify(Notification(absences=slice_of_users))
