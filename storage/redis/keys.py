"""All keys of the caches and the event log.

The number in a key is the version of the formats of all values. Values of another version are never
read, so only a release that cannot run beside the previous one raises it: docs/deployment.md says
how else to change a format. The braces are a hash tag: a key and its lease share a
slot of a Redis Cluster. Only cache keys have braces.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from graph.edge import UserId
from graph.lane import Lane
from graph.lists import ListKind

LIST_KEY_NAMES = {kind: kind.name.lower() for kind in ListKind}
FORMAT_VERSION = 1

_CACHE_KEY = re.compile(rf"kith:[a-z0-9_]+:([a-z]+):{FORMAT_VERSION}:\{{([0-9]+)\}}(:beyond)?")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one space."""

    space: str

    def prefix(self, what: str) -> str:
        """The prefix of the keys of one kind of value, for `key_of`."""
        return _prefix(self.space, what)

    def relations(self, user: UserId) -> str:
        return key_of(self.prefix("rel"), user)

    def head(self, kind: ListKind, user: UserId) -> str:
        """The newest entries of a list."""
        return key_of(self.prefix(LIST_KEY_NAMES[kind]), user)

    def profile(self, user: UserId) -> str:
        return key_of(self.prefix("profile"), user)

    def profiles(self, users: Iterable[UserId]) -> list[str]:
        return keys_of(self.prefix("profile"), users)

    def pending(self, user: UserId) -> str:
        """The targets of the pending writes of a user. The prefix stays `own`, because gateways of
        other releases use the same keys."""
        return key_of(self.prefix("own"), user)

    def events(self, group: Lane) -> str:
        """The change feed of a lane group. `cache_pattern` does not match it."""
        return f"kith:{self.space}:events:{group}"

    def feed(self, user: UserId) -> str:
        return f"kith:{self.space}:feed:{user}"

    @property
    def feed_pattern(self) -> str:
        """A pattern that matches all feeds."""
        return f"kith:{self.space}:feed:*"

    @property
    def notifier(self) -> str:
        return f"kith:{self.space}:notifier"

    @property
    def absences(self) -> str:
        """The log of accounts that become absent. `cache_pattern` does not match it."""
        return f"kith:{self.space}:absences"

    @property
    def generation(self) -> str:
        """The generation of the database that the cached values were read from."""
        return f"kith:{self.space}:generation"

    @property
    def server(self) -> str:
        """The run id that the Redis server had when `storage.failover` last checked it."""
        return f"kith:{self.space}:server"

    def document(self, digest: str) -> str:
        """A persisted document, by 15 bits of its SHA-256. `cache_pattern` does not match it."""
        return f"kith:{self.space}:document:{int(digest[:4], 16) >> 1}"

    def budget(self, caller: str) -> str:
        """What remains of a caller's budget. `cache_pattern` does not match it."""
        return f"kith:{self.space}:budget:{caller}"

    @property
    def cache_pattern(self) -> str:
        """A pattern that matches all cache keys of the space, and their leases."""
        return f"kith:{self.space}:*:{{*"


@lru_cache  # few entries: one for each space and kind of value
def _prefix(space: str, what: str) -> str:
    return f"kith:{space}:{what}:{FORMAT_VERSION}:{{"


def key_of(prefix: str, user: UserId) -> str:
    """The cache key of a user, with the prefix of a kind of value."""
    return f"{prefix}{user}}}"


def keys_of(prefix: str, users: Iterable[UserId]) -> list[str]:
    """The cache keys of many users: `key_of` without a call for each."""
    return [f"{prefix}{user}}}" for user in users]


def parse_cache_key(key: str) -> tuple[str, UserId] | None:
    """The kind of a cache key and its user. The kind of page ranges ends with `:beyond`. None for a
    lease or closing, or another format version."""
    match = _CACHE_KEY.fullmatch(key)
    return (match[1] + (match[3] or ""), UserId(int(match[2]))) if match else None


def page_ranges_key(key: str) -> str:
    """The page ranges of the list at `key`, in the same slot."""
    return key + ":beyond"


def lease(key: str) -> str:
    """The lease to fill `key`."""
    return key + ":lease"


def closing(key: str) -> str:
    """A hash of the tokens that close `key`. While it exists, nobody may fill `key`."""
    return key + ":closing"
