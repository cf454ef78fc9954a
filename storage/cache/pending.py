"""Caches the targets of a viewer's pending writes. About these targets, the other caches must not
answer the viewer."""

from collections.abc import Awaitable, Collection, Mapping, Sequence

from graph.edge import UserId
from storage.cache.codec.pending import pending_in
from storage.cache.read_counts import PENDING
from storage.cache.value_lookup import Sources, ValueLookup


class PendingLookup(ValueLookup[Collection[UserId], Collection[UserId]]):
    """The targets of a viewer's pending writes, read from the tables after a cache miss. It has no
    commands: `Fills` loads and caches the value."""

    __slots__ = ()

    read_counts = PENDING

    def __init__(self, viewer: UserId, sources: Sources) -> None:
        self.users = [viewer]
        self.cached_kind = sources.cached_kinds.pending
        self.commands = ()

    def decode(self, values: Sequence[bytes]) -> Sequence[Collection[UserId]]:
        return list(map(pending_in, values))

    def from_value(self, value: Collection[UserId]) -> Collection[UserId]:
        return value

    def rows(self, users: Sequence[UserId]) -> Awaitable[Mapping[UserId, Collection[UserId]]]:
        return self.cached_kind.load(users)
