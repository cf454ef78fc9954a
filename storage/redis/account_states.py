"""Account states that are announced: to the account's own cache, and to the totals of others.

Knows nothing of where they are kept.
"""

import contextlib
from collections.abc import Mapping, Sequence

from graph.account_state import AccountState, AccountStatus, StateOutcome
from graph.edge import UserId
from graph.errors import Unavailable
from storage.finishing import Finishing
from storage.ports import Absences
from storage.postgres.account_states import PostgresAccountStates
from storage.redis.accounts import CLOSED_MS
from storage.redis.connection import Debt, Redis
from storage.redis.events import ABSENCES, rung
from storage.redis.keys import Keys, lease
from storage.redis.leases import closed, forget

NEIGHBOURS_MAX = 20_000
"""Of each kind and direction. The totals of others follow when their caches end, in an hour."""

USERS = 1_000
"""Users a pipeline: none holds Redis up."""


class AnnouncedStates:
    """Keeps `storage.ports.AccountStates`."""

    def __init__(
        self,
        worn: PostgresAccountStates,
        absences: Absences,
        redis: Redis,
        keys: Keys,
        finishing: Finishing,
    ) -> None:
        self._worn = worn
        self._absences = absences
        self._redis = redis
        self._keys = keys
        self._finishing = finishing

    async def of(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        return await self._worn.of(users)

    async def change(self, user: UserId, state: AccountState) -> StateOutcome:
        return await self._finishing.run(self._change(user, state))

    async def _change(self, user: UserId, state: AccountState) -> StateOutcome:
        own = self._keys.account(user)
        with contextlib.suppress(Unavailable):
            await self._redis.pipe(closed([own], CLOSED_MS))
        try:
            outcome = await self._worn.change(user, state)
        finally:
            self._absences.expire()
            await self._tell([own], [user], Debt.ACCOUNTS)
        # Also where it was so already: who repeats a change may have been cut off right here.
        with contextlib.suppress(Unavailable):
            neighbours = await self._worn.neighbours(user, NEIGHBOURS_MAX)
            users = [user, *neighbours]
            for first in range(0, len(users), USERS):
                some = users[first : first + USERS]
                await self._tell(list(map(self._keys.counts, some)), some, Debt.TOTALS)
        return outcome

    async def _tell(self, keys: Sequence[str], users: Sequence[UserId], debt: Debt) -> None:
        """These keys are no longer true, and who waits for news of these users looks again."""
        try:
            await self._redis.pipe([*forget(keys), rung(self._keys, users, ABSENCES)])
        except Unavailable:
            self._redis.owe([*keys, *map(lease, keys)], debt)
