"""Reads relations, lists and profiles through the caches.

The caches must not answer a viewer about the targets of the viewer's pending writes. These are read
before the caches: if they were read after, a write could reach a cache after the cache was read and
be acknowledged before the targets are read, and would appear in neither. One server runs a pipeline
in order, so both reads take one round trip; a cluster needs two.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from graph.edge import UserId
from graph.errors import Unavailable
from storage.cache.cached_kinds import cached_kinds_of
from storage.cache.codec.pending import NO_PENDING_WRITES, pending_in
from storage.cache.fill import Fills, Part, together
from storage.cache.lease import Leases
from storage.cache.local import LocalCache
from storage.cache.pages import PageLookup
from storage.cache.pending import PendingLookup
from storage.cache.profiles import AccountLookup, ProfileColumnLookup, ProfileLookup
from storage.cache.ranges import RangeCache
from storage.cache.read_counts import ACCOUNT, LIST_READS, PENDING, PROFILE, RELATIONS
from storage.cache.relations import RelationHashes, RelationLookup
from storage.cache.tables import Tables
from storage.cache.value_lookup import Sources, ValueLookup
from storage.ports.reader import (
    AccountsOf,
    Consistency,
    PagesOf,
    ProfilesOf,
    ReadRequest,
    RelationsOf,
)
from storage.redis.connection import REDIS, Redis
from storage.redis.wire import Command, Reply
from storage.settings import StorageSettings
from storage.shielded_tasks import abandonable

Lookup: TypeAlias = ValueLookup[Any, Any] | RelationLookup

_LOOKUPS: Mapping[type, Callable[[Any, UserId | None, Sources], Lookup]] = {
    RelationsOf: RelationLookup,
    PagesOf: PageLookup,
    ProfilesOf: ProfileLookup,
    AccountsOf: AccountLookup,
}
_LOOKUPS_ALONE: Mapping[type, Callable[[Any, UserId | None, Sources], Lookup]] = {
    **_LOOKUPS,
    ProfilesOf: ProfileColumnLookup,
}
"""For a read of one request."""


class CountingRedis(Redis, Protocol):
    """Redis with a count of its failures."""

    @property
    def failures(self) -> int: ...


class CacheReader:
    """Implements `storage.ports.reader.Reader`."""

    def __init__(
        self,
        settings: StorageSettings,
        redis: CountingRedis,
        tables: Tables,
        local: LocalCache | None = None,
        leases: Leases | None = None,
    ) -> None:
        """`leases`: for tests."""
        leases = leases or Leases(redis, settings.cache.lease.ms, settings.cache.lease.wait_ms)
        cached_kinds = cached_kinds_of(tables, settings)
        self._redis = redis
        self._local = local
        self._sources = Sources(
            cached_kinds, tables, RangeCache(redis, leases, settings.cache.range_max)
        )
        self._fills = Fills(redis, leases)
        self._hashes = RelationHashes(redis, leases, cached_kinds.relations, tables.relations)
        self._filling: dict[UserId, asyncio.Task[Collection[UserId]]] = {}

    @property
    def failures(self) -> int:
        return self._redis.failures

    def read(
        self,
        viewer: UserId | None,
        *requests: ReadRequest[Any],
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[Any]:
        if consistency is Consistency.ROWS:
            return self._rows(viewer, requests)
        if consistency is Consistency.FRESH or self._local is None:
            return self._cached(viewer, requests)
        return self._local_first(self._local, viewer, requests)

    async def _local_first(
        self, local: LocalCache, viewer: UserId | None, requests: Sequence[ReadRequest[Any]]
    ) -> Any:
        """The answers from the local cache, if it has all of them and they are confirmed; otherwise
        all from Redis, and the requests count as misses."""
        held = local.answers_from_copies(viewer, requests)
        if held is not None:
            found = await local.confirm(viewer, requests, held)
            if found is not None:
                return _unwrapped(found)
        answer = await self._cached(viewer, requests)
        local.count_misses(viewer, requests)
        return answer

    async def _cached(self, viewer: UserId | None, requests: Sequence[ReadRequest[Any]]) -> Any:
        """The answers, in one round trip if all of them are in Redis."""
        is_alone = len(requests) == 1
        lookup_types = _LOOKUPS_ALONE if is_alone else _LOOKUPS
        lookups: list[Lookup] = []
        commands: list[Command] = []
        shows_own_writes = False
        for request in requests:
            lookup = lookup_types[type(request)](request, viewer, self._sources)
            lookups.append(lookup)
            commands += lookup.commands
            shows_own_writes |= lookup.shows_own_writes
        own: Collection[UserId] = ()
        replies: Sequence[Reply]
        try:
            if viewer is None or not shows_own_writes or not commands:
                replies = await self._redis.partly(commands)
            else:
                first = ("GET", self._sources.cached_kinds.pending.key(viewer))
                pending, *replies = await self._redis.after(first, commands)
                if pending == NO_PENDING_WRITES:
                    PENDING.redis += 1
                else:
                    own, replies = await self._with_own_writes(viewer, pending, commands, replies)
        except Unavailable as error:
            if error.part != REDIS:
                raise
            return await self._rows(viewer, requests)
        found: list[Any] = []
        is_complete, end = not own, 0
        for lookup in lookups:
            start, end = end, end + len(lookup.commands)
            answer = lookup.answer(replies if is_alone else replies[start:end])
            found.append(answer)
            if answer is None:
                is_complete = False
            elif not (own and lookup.shows_own_writes):
                lookup.read_counts.redis += len(answer)
        if not is_complete:
            found = await self._completed(own, lookups, replies, found)
        return found[0] if is_alone else tuple(found)

    async def _with_own_writes(
        self,
        viewer: UserId,
        cached_pending: Reply,
        commands: Sequence[Command],
        replies: Sequence[Reply],
    ) -> tuple[Collection[UserId], Sequence[Reply]]:
        """The users about whom the caches must not answer this viewer, and the replies."""
        if cached_pending:
            PENDING.redis += 1
            return _around(viewer, pending_in(cached_pending)), replies
        own = _around(viewer, await self._filled(viewer))
        if any(any(one) if isinstance(one, list) else one for one in replies):
            # These were read before the pending writes, so a write could be missing in both.
            replies = await self._redis.partly(commands)
        return own, replies

    async def _completed(
        self,
        own: Collection[UserId],
        lookups: Sequence[Lookup],
        replies: Sequence[Reply],
        found: Sequence[Any],
    ) -> list[Any]:
        """The answers, completed by filling the caches and from the tables."""
        parts: dict[int, Part[Any, Any]] = {}
        hashes: dict[int, Awaitable[Any]] = {}
        end = 0
        for n, lookup in enumerate(lookups):
            start, end = end, end + len(lookup.commands)
            hidden: Collection[UserId] = own if lookup.shows_own_writes else ()
            if found[n] is not None and not hidden:
                continue
            if isinstance(lookup, RelationLookup):
                hashes[n] = self._hashes.complete(lookup, replies[start:end])
            else:
                parts[n] = Part(lookup, lookup.column(replies[start:end]), hidden)
        completed = await together(
            [*([self._fills.complete(list(parts.values()))] if parts else ()), *hashes.values()]
        )
        answers = [parts[n].answer if n in parts else answer for n, answer in enumerate(found)]
        for n, columns in zip(hashes, completed[len(completed) - len(hashes) :], strict=True):
            answers[n] = columns
        return answers

    async def _rows(self, viewer: UserId | None, requests: Sequence[ReadRequest[Any]]) -> Any:
        """The answers from the tables."""
        tables = self._sources.tables
        reads: list[Awaitable[Any]] = []
        for request in requests:
            if isinstance(request, RelationsOf):
                RELATIONS.tables += len(request.checks)
                reads.append(tables.relations.between(request.checks))
            elif isinstance(request, PagesOf):
                kind, owners, window = request.kind, request.owners, request.window
                LIST_READS[kind].tables += len(owners)
                reads.append(tables.lists.pages(kind, owners, window, viewer))
            elif isinstance(request, ProfilesOf):
                PROFILE.tables += len(request.users)
                reads.append(tables.profiles.get_many(request.users, viewer))
            else:
                assert isinstance(request, AccountsOf)
                ACCOUNT.tables += len(request.users)
                reads.append(tables.accounts.get_many(request.users))
        return _unwrapped(await together(reads))

    async def _filled(self, viewer: UserId) -> Collection[UserId]:
        """The viewer's targets from the tables. Concurrent reads of one request share the read."""
        # Without a variable for the task: it would be a reference cycle with its exception.
        if viewer not in self._filling:
            self._filling[viewer] = abandonable(asyncio.create_task(self._fill_pending(viewer)))
        return await asyncio.shield(self._filling[viewer])

    async def _fill_pending(self, viewer: UserId) -> Collection[UserId]:
        del self._filling[viewer]  # a later caller may have written since
        part = Part(PendingLookup(viewer, self._sources), [None])
        await self._fills.complete([part])  # from the tables if the key's server is unavailable
        return part.answer[viewer] or ()


def _around(viewer: UserId, targets: Collection[UserId]) -> Collection[UserId]:
    # Includes the viewer's own lists and counts: following back makes a friend before a worker
    # applies the edge.
    return {viewer, *targets} if targets else ()


def _unwrapped(answers: Sequence[Any]) -> Any:
    """One answer, or a tuple of several."""
    return answers[0] if len(answers) == 1 else tuple(answers)
