"""A limit of each user's concurrent changes, so that connections are left to others.

Changes of one user wait for each other in PostgreSQL, because each locks the user's counts. Every
one of them would wait on a connection of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Overloaded
from storage.postgres.connection.connector import POSTGRESQL


@dataclass(slots=True)
class _UserSlots:
    """The slots of one user, and how many callers hold or wait for one."""

    slots: asyncio.Semaphore
    callers: int = 0


class UserConcurrency:
    """Lets at most `limit` changes of each user run at once. Further changes of the same user wait
    in order, for `timeout_s` at most, and then fail."""

    def __init__(self, limit: int, timeout_s: float) -> None:
        self._limit = limit
        self._timeout_s = timeout_s
        self._users: dict[UserId, _UserSlots] = {}

    @asynccontextmanager
    async def slot(self, user: UserId) -> AsyncIterator[None]:
        """A context that holds a slot of the user.

        Raises:
            Overloaded: no slot became free in time.
        """
        user_slots = self._users.get(user)
        if user_slots is None:
            user_slots = self._users[user] = _UserSlots(asyncio.Semaphore(self._limit))
        user_slots.callers += 1
        try:
            await self._take(user_slots.slots)
            try:
                yield
            finally:
                user_slots.slots.release()
        finally:
            user_slots.callers -= 1
            if user_slots.callers == 0:
                del self._users[user]

    async def _take(self, slots: asyncio.Semaphore) -> None:
        if not slots.locked():
            await slots.acquire()  # does not wait
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await slots.acquire()
        except TimeoutError as error:
            raise Overloaded(
                POSTGRESQL, "Too many changes of this user are waiting. Try again later."
            ) from error
