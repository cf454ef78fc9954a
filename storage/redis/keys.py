"""Every key of the caches and the log, made here and nowhere else. Knows nothing of values.

The number is the value's format: raise it with the format, and old values are never read.
The braces mark a cache: they keep a key and its lease in one slot of a Redis Cluster.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial

from graph.edge import UserId
from graph.lane import Lane
from graph.page import ListKind

_LISTS = {kind: kind.name.lower() for kind in ListKind}
_PARSED = re.compile(r"kith:[a-z0-9_]+:([a-z]+):1:\{([0-9]+)\}(:beyond)?")


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one space."""

    space: str

    # Of one user, and of whole columns, whose keys are made without a call for each.

    def relations(self, user: UserId) -> str:
        return self._key("rel", user)

    def entries(self, kind: ListKind, user: UserId) -> str:
        return self._key(_LISTS[kind], user)

    def all_entries(self, kind: ListKind) -> Callable[[Iterable[UserId]], list[str]]:
        """Makes those of any users: what a kind is called, is asked once."""
        return partial(self._every, _LISTS[kind])

    def profile(self, user: UserId) -> str:
        return self._key("profile", user)

    def all_profiles(self, users: Iterable[UserId]) -> list[str]:
        return self._every("profile", users)

    def own_writes(self, user: UserId) -> str:
        return self._key("own", user)

    def all_own_writes(self, users: Iterable[UserId]) -> list[str]:
        return self._every("own", users)

    def events(self, lane: Lane) -> str:
        """A lane's part of the change feed, which is no cache: `pattern` does not mean it."""
        return f"kith:{self.space}:events:{lane}"

    def feed(self, user: UserId) -> str:
        return f"kith:{self.space}:feed:{user}"

    @property
    def feeds(self) -> str:
        """What the keys of all feeds look like."""
        return f"kith:{self.space}:feed:*"

    @property
    def bell(self) -> str:
        return f"kith:{self.space}:bell"

    def document(self, digest: str) -> str:
        """Of a persisted document, by the first 15 bits of its SHA-256 in hex: no cache either."""
        return f"kith:{self.space}:document:{int(digest[:4], 16) >> 1}"

    @property
    def pattern(self) -> str:
        """What all keys of the space's caches look like, leases included."""
        return f"kith:{self.space}:*:{{*"

    def _key(self, what: str, user: UserId) -> str:
        return f"{_head(self.space, what)}{user}}}"

    def _every(self, what: str, users: Iterable[UserId]) -> list[str]:
        head = _head(self.space, what)
        return [f"{head}{user}}}" for user in users]


@lru_cache  # there are as many as caches
def _head(space: str, what: str) -> str:
    return f"kith:{space}:{what}:1:{{"


def parsed(key: str) -> tuple[str, UserId] | None:
    """What a key holds, and of whom; None for what guards one, and for another format's key."""
    match = _PARSED.fullmatch(key)
    return (match[1] + (match[3] or ""), UserId(int(match[2]))) if match else None


def beyond(key: str) -> str:
    """Stretches of a list beyond its head, which is at `key`: in the same slot."""
    return key + ":beyond"


def lease(key: str) -> str:
    """The lease to fill `key`."""
    return key + ":lease"


def closing(key: str) -> str:
    """A hash of who has closed `key`, there while nobody may fill that."""
    return key + ":closing"
