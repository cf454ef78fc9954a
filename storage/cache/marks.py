"""Marks of users who are writing: set before a commit, cleared after the caches were updated.

While a mark exists, the caches do not answer its user about their own writes, and the values that
could lack a write cannot be filled. So if a process dies between the commit and the update of the
caches, its user reads no stale value: the tables answer until the mark expires. Values that are
filled after that were read after the commit.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Unavailable
from storage.cache.lease import token
from storage.redis.connection import REDIS, Redis
from storage.redis.keys import Keys, closing, lease
from storage.redis.scripts import CALL, CLEAR_MARK, MARK
from storage.redis.wire import Command

MARK_MS = 30_000
"""How long marks last after the user's last write has begun: longer than a write with all its
timeouts. After that, readers can fill the values that the mark of a killed process has closed."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one write."""

    clearing: Command
    """A command that clears it."""
    setting: "asyncio.Task[bool]"
    """Sets the mark. Returns whether it was set, at the latest after the timeout of a call to
    Redis."""


async def are_set(marks: Iterable[Mark]) -> bool:
    """Whether all marks are set."""
    return all([await mark.setting for mark in marks])


class MarkedWrite:
    """A write that waits for its marks."""

    def __init__(self, marks: Collection[Mark], *, needs_marks: bool) -> None:
        self._marks = marks
        self._needs_marks = needs_marks
        self.has_begun = False

    async def begin(self) -> None:
        """Wait until the marks are set or cannot be set. Raises Unavailable if the write needs them
        and one cannot be set."""
        if not await are_set(self._marks) and self._needs_marks:
            raise Unavailable(REDIS)
        self.has_begun = True


class Marks:
    """Sets and clears marks. All keys of a mark are on the server of its user."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def begin(self, user: UserId) -> Mark:
        """Begin to set a mark, so that the caller can read the tables meanwhile."""
        setting, clearing = self._commands(user)
        return Mark(clearing, asyncio.create_task(self._set([setting])))

    def begin_many(self, users: Iterable[UserId]) -> Mapping[UserId, Mark]:
        """Begin to set the marks of several users, in one round trip."""
        commands = {user: self._commands(user) for user in users}
        settings = [setting for setting, _ in commands.values()]
        marks = dict.fromkeys(commands, asyncio.create_task(self._set(settings)))
        return {user: Mark(commands[user][1], setting) for user, setting in marks.items()}

    def _commands(self, user: UserId) -> tuple[Command, Command]:
        """The commands that set and clear a mark. Closing the pending writes also closes the
        relations (`CachedKind.closed_with`)."""
        pending, relations = self._keys.pending(user), self._keys.relations(user)
        mark_token = token()
        keys = closing(pending), pending, lease(pending), relations, lease(relations)
        setting = (CALL, MARK, len(keys), *keys, mark_token, MARK_MS)
        return setting, (CALL, CLEAR_MARK, 2, closing(pending), relations, mark_token)

    async def clear(self, *marks: Mark) -> None:
        """Clear the marks of writes that have changed nothing. If that fails, they expire."""
        if await are_set(marks):
            with suppress(Unavailable):
                await self._redis.pipe([mark.clearing for mark in marks])

    async def _set(self, commands: Sequence[Command]) -> bool:
        try:
            await self._redis.pipe(commands)
        except Unavailable:
            return False
        return True
