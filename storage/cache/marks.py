"""Marks of users who are writing: set before a commit, cleared after the caches were updated.

While a mark exists, the caches do not answer its user about their own writes, and the values that
could hide a write cannot be filled. So a writer that dies between the commit and the update of the
caches leaves nothing stale for its user: the tables answer until the mark expires. Values that are
filled later were read after the commit.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Unavailable
from storage.cache.lease import token
from storage.redis.connection import Redis
from storage.redis.keys import Keys, closing, lease
from storage.redis.scripts import CALL, CLEAR_MARK, MARK
from storage.redis.wire import Command

MARK_MS = 30_000
"""Longer than a write takes, with all its deadlines. After it, a value that a killed writer's mark
has kept out is filled again."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one write."""

    clearing: Command
    """A command that clears it."""
    setting: "asyncio.Task[bool]"

    async def is_set(self) -> bool:
        """Whether it is set; it may take the deadline of a call to Redis."""
        return await self.setting


class Marks:
    """Sets and clears marks. All keys of a mark are on the server of its user."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def begin(self, user: UserId) -> Mark:
        """Begin to set a mark. The caller reads the tables meanwhile."""
        own, relations, mine = self._keys.pending(user), self._keys.relations(user), token()
        keys = closing(own), own, lease(own), relations, lease(relations)
        setting = asyncio.create_task(self._set((CALL, MARK, len(keys), *keys, mine, MARK_MS)))
        return Mark((CALL, CLEAR_MARK, 2, closing(own), relations, mine), setting)

    async def clear(self, mark: Mark) -> None:
        """Clear the mark of a write that has changed nothing. If that fails, it expires."""
        if await mark.is_set():
            with suppress(Unavailable):
                await self._redis.pipe([mark.clearing])

    async def _set(self, command: Command) -> bool:
        try:
            await self._redis.pipe([command])
        except Unavailable:
            return False
        return True
