"""Reads values for local copies, so that Redis reports the next change of the keys."""

from collections.abc import Mapping, Sequence
from itertools import chain

from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page
from graph.profile import Profile
from graph.relation import Relation
from storage.cache.codec.lists import bytes_of_entries, entries_in
from storage.cache.codec.profiles import profiles_by_user
from storage.cache.codec.relations import MARKER, is_whole, relations_of_hash
from storage.cache.local_copies import Read, Sized
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.wire import Command, Reply

RelationsByUser = Mapping[int, Relation] | None
"""All relations of a user except STRANGERS. None: this user's hash is not copied."""

HEAD_ENTRIES = 101
"""The largest first page, and one more entry, which shows whether there is a second page."""

FIELDS_MAX = 2_000
"""Larger hashes are not copied, because a copy would block the event loop for milliseconds."""

RELATION_BYTES, ENTRY_BYTES, PROFILE_BYTES = 250, 130, 220
"""Approximate memory of one decoded value."""

_TRACKED: Command = ("CLIENT", "CACHING", "YES")
"""Sent before a read, so that Redis reports the next change of the keys that are read."""


async def _tracked(redis: Redis, reads: Sequence[Command]) -> Sequence[Reply]:
    """The replies to tracked reads, one for each, in one round trip."""
    replies = await redis.pipe([command for read in reads for command in (_TRACKED, read)])
    return replies[1::2]


def profiles_reader(redis: Redis, keys: Keys) -> Read[Profile]:
    """Return a reader of profiles."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[Profile]]:
        replies = await _tracked(redis, [("GET", key) for key in keys.profiles(users)])
        profiles = profiles_by_user(users, replies)
        return {user: Sized(profile, PROFILE_BYTES) for user, profile in profiles.items()}

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
    entries, is_whole_list = entries_in(value)
    # If only the beginning of the value was read, its flag for the whole list does not apply.
    more = not is_whole_list or len(entries) == HEAD_ENTRIES
    return Sized(Page(tuple(entries), more), len(entries) * ENTRY_BYTES)


def relations_reader(redis: Redis, keys: Keys) -> Read[RelationsByUser]:
    """Return a reader of relation hashes. It first reads their markers and sizes, and copies only
    hashes that are complete and not too large. For the other hashes, the copy is None."""

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[RelationsByUser]]:
        names = {user: keys.relations(user) for user in users}
        markers_and_sizes = await redis.pipe(
            [
                command
                for name in names.values()
                for command in (("HGET", name, MARKER), ("HLEN", name))
            ]
        )
        copies: dict[UserId, Sized[RelationsByUser]] = {}
        to_copy = []
        markers, sizes = markers_and_sizes[::2], markers_and_sizes[1::2]
        for user, marker, size in zip(users, markers, sizes, strict=True):
            if is_whole(marker) and size <= FIELDS_MAX:
                to_copy.append(user)
            elif marker:
                copies[user] = Sized(None, 0)
        replies = await _tracked(redis, [("HGETALL", names[user]) for user in to_copy])
        for user, fields in zip(to_copy, replies, strict=True):
            if fields:
                copies[user] = _relations(fields)
        return copies

    return read


def _relations(fields: Mapping[bytes, bytes]) -> Sized[RelationsByUser]:
    if not is_whole(fields.get(MARKER.encode())):
        return Sized(None, 0)
    relations = relations_of_hash(chain.from_iterable(fields.items()))
    return Sized(relations, len(relations) * RELATION_BYTES)
