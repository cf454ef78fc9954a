"""A request for cached values: its commands, its answers, and the reads of what is not cached.

The subclasses of `ValueLookup` are in `pages`, `profiles` and `pending`. The lookup in `relations`
is of another kind.
"""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from graph.edge import UserId
from storage.cache.cached_kind import CachedKind
from storage.cache.cached_kinds import CachedKinds
from storage.cache.ranges import RangeCache
from storage.cache.read_counts import ReadCounts
from storage.cache.tables import Tables
from storage.redis.wire import MGET, Command, Preformatted, Reply

V = TypeVar("V")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that lookups read from."""

    cached_kinds: CachedKinds
    tables: Tables
    ranges: RangeCache


class ValueLookup(Generic[V, A]):
    """A request for cached values of one kind, one for each of `users`."""

    __slots__ = ("cached_kind", "commands", "users")

    read_counts: ReadCounts
    cached_kind: CachedKind[V]
    users: Sequence[UserId]
    commands: Sequence[Command]
    shows_own_writes = True
    """Whether the viewer's pending writes can change the answer."""

    def reads(self, keys: Sequence[str]) -> list[Command]:
        """The commands that read these keys."""
        return [Preformatted((MGET, *keys))] if keys else []

    def column(self, replies: Sequence[Reply]) -> Sequence[Reply]:
        """One reply for each key, from the replies to `reads`."""
        return replies[0] if replies else ()

    def decode(self, values: Sequence[bytes]) -> Sequence[A | None]:
        """The answers in these values. None: the value does not hold all that was requested."""
        raise NotImplementedError

    def from_value(self, value: V) -> A | None:
        """The answer in a value that was just loaded. None: the value does not hold all that was
        requested."""
        raise NotImplementedError

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, A]]:
        """The answers from the tables, with the viewer's own pending writes."""
        raise NotImplementedError

    def read_beyond(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, A]]:
        """The answers, the same for every viewer, about users whose values do not hold all that was
        requested."""
        return self.rows(users)

    def answer(self, replies: Sequence[Reply]) -> Mapping[UserId, A] | None:
        """The whole answer, if all of it is cached."""
        raise NotImplementedError
