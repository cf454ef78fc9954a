"""Reads values for local copies. The server reports the next change of the keys that are read."""

from collections.abc import Mapping, Sequence
from itertools import chain

from graph.edge import UserId
from graph.list_kind import ListKind
from graph.page import Page
from graph.profile import Profile
from graph.relation import Relation
from storage.cache.codec.lists import bytes_of_entries, entries_in
from storage.cache.codec.profiles import profiles_held
from storage.cache.codec.relations import MARKER, is_whole, relations_of_hash
from storage.cache.local_copies import Read, Sized
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.wire import Command, Reply

RelationsByUser = Mapping[int, Relation] | None
"""All relations of a user except STRANGERS. None: the local cache does not answer for this user."""

HEAD_ENTRIES = 101
"""The largest first page, and one entry more that shows whether there is a second one."""

FIELDS_MAX = 2_000
"""Larger hashes are not copied, because a copy would block the event loop for milliseconds."""

RELATION_BYTES, ENTRY_BYTES, PROFILE_BYTES = 250, 130, 220

_TRACKED: Command = ("CLIENT", "CACHING", "YES")
"""Before a read: the server reports the next change of the keys that it reads."""


async def _tracked(redis: Redis, reads: Sequence[Command]) -> Sequence[Reply]:
    """The replies to tracked reads, one for each, in one round trip."""
    replies = await redis.pipe([command for read in reads for command in (_TRACKED, read)])
    return replies[1::2]


def profiles_reader(redis: Redis, keys: Keys) -> Read[Profile]:
    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Profile]]:
        replies = await _tracked(redis, [("GET", key) for key in keys.all_profiles(users)])
        found = profiles_held(users, replies)
        return {user: Sized(profile, PROFILE_BYTES) for user, profile in found.items()}

    return read


def heads_reader(redis: Redis, keys: Keys, kind: ListKind) -> Read[Page]:
    """Return a reader of list heads: the newest `HEAD_ENTRIES` entries of each user's list."""
    last = bytes_of_entries(HEAD_ENTRIES) - 1

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Page]]:
        replies = await _tracked(
            redis, [("GETRANGE", keys.head(kind, user), 0, last) for user in users]
        )
        return {user: _head(value) for user, value in zip(users, replies, strict=True) if value}

    return read


def _head(value: bytes) -> Sized[Page]:
    entries, whole = entries_in(value)
    # Only the beginning of a longer list was read, so its flag for the whole list does not apply.
    more = not whole or len(entries) == HEAD_ENTRIES
    return Sized(Page(tuple(entries), more), len(entries) * ENTRY_BYTES)


def relations_reader(redis: Redis, keys: Keys) -> Read[RelationsByUser]:
    """A reader of relation hashes. It reads their sizes first."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[RelationsByUser]]:
        names = {user: keys.relations(user) for user in users}
        looks = await redis.pipe(
            [
                command
                for name in names.values()
                for command in (("HGET", name, MARKER), ("HLEN", name))
            ]
        )
        found: dict[UserId, Sized[RelationsByUser]] = {}
        small = []
        for user, marker, fields in zip(users, looks[::2], looks[1::2], strict=True):
            if is_whole(marker) and fields <= FIELDS_MAX:
                small.append(user)
            elif marker:
                found[user] = Sized(None, 0)
        replies = await _tracked(redis, [("HGETALL", names[user]) for user in small])
        for user, fields in zip(small, replies, strict=True):
            if fields:
                found[user] = _relations(fields)
        return found

    return read


def _relations(fields: Mapping[bytes, bytes]) -> Sized[RelationsByUser]:
    if not is_whole(fields.get(MARKER.encode())):
        return Sized(None, 0)
    known = relations_of_hash(chain.from_iterable(fields.items()))
    return Sized(known, len(known) * RELATION_BYTES)
