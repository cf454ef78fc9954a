"""The local cache: values of hot users, in this process.

Redis sends invalidations of the copied keys, so a copy is dropped soon after its value changes. A
read that must not miss a change asks Redis whether the viewer has pending writes, on the connection
that carries the invalidations: the reply follows those of all acknowledged writes. So if no write
is pending, the copies are as new as Redis.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from graph.account import Account
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.page import Page
from graph.profile import Profile
from graph.relation import STRANGERS, RelationColumn, column_of
from storage.cache import read_counts
from storage.cache.codec.pending import NO_PENDING_WRITES
from storage.cache.codec.profiles import profiles_by_user
from storage.cache.invalidations import Invalidations
from storage.cache.local_copies import Bounds, LocalCopies
from storage.cache.local_reads import (
    RelationsByUser,
    heads_reader,
    profiles_reader,
    relations_reader,
)
from storage.cache.pages import page_of_head
from storage.ports.reader import AccountsOf, PagesOf, ProfilesOf, ReadRequest, RelationsOf
from storage.redis.connection import GuardedRedis
from storage.redis.keys import LIST_KEY_NAMES, Keys
from storage.redis.multiplexed import LOCAL, MultiplexedWire
from storage.redis.servers import is_cluster
from storage.redis.wire import MGET, Command, Preformatted
from storage.settings import StorageSettings

RETRY_FACTOR = 20
"""The pause of the connection after a failure, as a multiple of the pause of the connection to the
caches. Long, because Redis answers without the local cache."""

OWNERS_MAX = 4
"""If a read of pages and of other values has more owners, the local cache is not searched, because
the owners are hardly ever all hot."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of one kind of value."""

    hits: int
    misses: int
    entries: int
    size: int


class LocalCache:
    """Answers requests from copies, and copies the values of users that become hot."""

    def __init__(self, settings: StorageSettings) -> None:
        self._keys, self.invalidations = Keys(settings.space), Invalidations()
        self.redis = redis = GuardedRedis(
            MultiplexedWire(
                settings.caches_at,
                settings.connections.redis_timeout_s,
                self.invalidations,
                purpose=LOCAL,
            ),
            RETRY_FACTOR * settings.connections.redis_retry_after_s,
        )
        keys, half_bytes = self._keys, settings.local.bytes_max // 2
        bounds = _bounds(settings, half_bytes // (1 + len(ListKind)))
        self._relations: LocalCopies[RelationsByUser] = LocalCopies(
            relations_reader(redis, keys), _bounds(settings, half_bytes)
        )
        self._profiles: LocalCopies[Profile] = LocalCopies(profiles_reader(redis, keys), bounds)
        self._heads: dict[ListKind, LocalCopies[Page]] = {
            kind: LocalCopies(heads_reader(redis, keys, kind), bounds) for kind in ListKind
        }
        for name, copies in self._all.items():
            self.invalidations.register(name, copies)

    def answers_from_copies(
        self, viewer: UserId | None, requests: Sequence[ReadRequest[Any]]
    ) -> list[Any] | None:
        """The answers in the copies; None if a part is missing, because reading the missing part
        from Redis takes as many round trips as reading everything.

        Exception: if there is a request for pages, profiles of users other than the pages' owners
        may be missing. `confirm` reads them.
        """
        answers: list[Any] = []
        owners: Sequence[UserId] | None = None
        for request in requests:
            answer: Any
            if isinstance(request, RelationsOf):
                answer = self._relation_columns(request, viewer)
            elif isinstance(request, PagesOf):
                owners = request.owners
                is_alone = len(requests) == 1
                answer = self._pages(request) if is_alone or len(owners) <= OWNERS_MAX else None
            elif isinstance(request, ProfilesOf):
                answer = self._profiles.held(request.users)
                needed = request.users if owners is None else owners
                answer = answer if all(map(answer.__contains__, needed)) else None
            else:
                assert isinstance(request, AccountsOf)
                answer = self._accounts(request.users)
            if answer is None:
                return None
            answers.append(answer)
        return answers

    async def confirm(
        self, viewer: UserId | None, requests: Sequence[ReadRequest[Any]], held: list[Any]
    ) -> list[Any] | None:
        """The answers from `held`, the result of `answers_from_copies`, with the profiles that it
        lacks. None: the viewer has pending writes or may have some, Redis cannot be reached, Redis
        lacks one of these profiles, or a copy that is needed was invalidated meanwhile. Takes a
        round trip unless the requests allow older copies."""
        answers: list[Any] | None = held
        if _needs_confirmation(viewer, requests):
            count = self.invalidations.count
            profiles = await self._confirm(viewer, self._users_without_profile(requests))
            if profiles is None:
                return None
            if self.invalidations.count != count:
                # Without copies invalidated meanwhile.
                answers = self.answers_from_copies(viewer, requests)
            answers = None if answers is None else _merged(requests, answers, profiles)
        if answers is not None:
            self._count_hits(requests)
        return answers

    def count_misses(self, viewer: UserId | None, requests: Sequence[ReadRequest[Any]]) -> None:
        """Count requests that the copies did not answer, and begin to copy the values of users who
        have become hot. Redis holds these values now."""
        is_alone = len(requests) == 1
        for request in requests:
            if isinstance(request, PagesOf) and not is_alone and len(request.owners) > OWNERS_MAX:
                return
        for request in requests:
            if isinstance(request, RelationsOf):
                if not _concerns_viewer(request, viewer):
                    self._relations.count_misses([check.user for check in request.checks])
            elif isinstance(request, PagesOf):
                # Beside other requests, heads are of use only if their owners' profiles are copied.
                if is_alone or self._profiles.may_hold(request.owners):
                    self._heads[request.kind].count_misses(request.owners)
            elif isinstance(request, ProfilesOf | AccountsOf):
                self._profiles.count_misses(request.users)

    def statistics(self) -> Mapping[str, Statistics]:
        """The statistics of each kind of value."""
        return {
            name: Statistics(copies.hits, copies.misses, len(copies), copies.size)
            for name, copies in self._all.items()
        }

    async def wait_for_copies(self) -> None:
        """Wait for the copies in progress. For tests."""
        for copies in self._all.values():
            await copies.wait()

    async def wait_for_invalidations(self) -> None:
        """Return when every invalidation until now has been processed.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self.redis.ping()

    async def close(self) -> None:
        for copies in self._all.values():
            await copies.close()
        await self.redis.close()

    @property
    def _all(self) -> Mapping[str, LocalCopies[Any]]:
        heads = {LIST_KEY_NAMES[kind]: copies for kind, copies in self._heads.items()}
        return {"rel": self._relations, "profile": self._profiles, **heads}

    def _relation_columns(
        self, request: RelationsOf, viewer: UserId | None
    ) -> list[RelationColumn] | None:
        copies = [self._relations.get(check.user) for check in request.checks]
        if None in copies or _concerns_viewer(request, viewer):
            return None
        return [
            column_of(list(map(relations.get, check.others, repeat(STRANGERS))))
            for check, relations in zip(request.checks, copies, strict=True)
            if relations is not None
        ]

    def _pages(self, request: PagesOf) -> dict[UserId, Page] | None:
        heads = self._heads[request.kind].held(request.owners)
        pages: dict[UserId, Page] = {}
        for owner in request.owners:
            head = heads.get(owner)
            page = None if head is None else page_of_head(request.window, head)
            if page is None:
                return None
            pages[owner] = page
        return pages

    def _accounts(self, users: Sequence[UserId]) -> dict[UserId, Account] | None:
        profiles = self._profiles.held(users)
        if not profiles.keys() >= set(users):
            return None
        return {user: profile.account for user, profile in profiles.items()}

    def _users_without_profile(self, requests: Sequence[ReadRequest[Any]]) -> list[UserId]:
        return [
            user
            for request in requests
            if isinstance(request, ProfilesOf)
            for user in request.users
            if self._profiles.get(user) is None
        ]

    async def _confirm(
        self, viewer: UserId | None, others: Sequence[UserId]
    ) -> Mapping[UserId, Profile] | None:
        """The profiles of `others` in Redis. None if the viewer has pending writes, or may have
        some, because their key is missing or Redis is unavailable."""
        # An anonymous reader has no writes.
        pending_read: Command = ("PING",) if viewer is None else ("GET", self._keys.pending(viewer))
        reads = [Preformatted((MGET, *self._keys.profiles(others)))] if others else []
        try:
            pending, *values = await self.redis.pipe([pending_read, *reads])
        except Unavailable:
            return None
        if viewer is not None and pending != NO_PENDING_WRITES:
            return None
        return profiles_by_user(others, values[0]) if others else {}

    def _count_hits(self, requests: Sequence[ReadRequest[Any]]) -> None:
        for request in requests:
            if isinstance(request, RelationsOf):
                self._relations.hits += len(request.checks)
                read_counts.RELATIONS.local += len(request.checks)
            elif isinstance(request, PagesOf):
                self._heads[request.kind].hits += len(request.owners)
                read_counts.LIST_READS[request.kind].local += len(request.owners)
            elif isinstance(request, ProfilesOf | AccountsOf):
                hits = len(self._profiles.held(request.users))
                self._profiles.hits += hits
                counts = (
                    read_counts.PROFILE if isinstance(request, ProfilesOf) else read_counts.ACCOUNT
                )
                counts.local += hits


def _needs_confirmation(viewer: UserId | None, requests: Sequence[ReadRequest[Any]]) -> bool:
    """Whether the copies must be as new as Redis. Accounts must be, for every viewer, so that
    privacy changes apply immediately. Pages must be if there is a viewer."""
    for request in requests:
        if isinstance(request, ProfilesOf | AccountsOf):
            return True
        if isinstance(request, PagesOf) and viewer is not None:
            return True
    return False


def _concerns_viewer(request: RelationsOf, viewer: UserId | None) -> bool:
    """Whether a check is about the viewer. Such a relation is not read from copies, because the
    viewer may have changed it through another process."""
    if viewer is None:
        return False
    return any(viewer == check.user or viewer in check.others for check in request.checks)


def _merged(
    requests: Sequence[ReadRequest[Any]], answers: list[Any], profiles: Mapping[UserId, Profile]
) -> list[Any] | None:
    """The answers with the profiles that Redis has returned. None: some are missing."""
    for n, request in enumerate(requests):
        if isinstance(request, ProfilesOf):
            answers[n] = {**answers[n], **profiles}
            if not answers[n].keys() >= set(request.users):
                return None
    return answers


def local_cache_of(settings: StorageSettings) -> LocalCache | None:
    """A local cache, or None if it is disabled or the caches are in a Redis Cluster. There, each
    server reports only its own keys, so no single connection receives all invalidations."""
    if settings.local.ttl_ms and not is_cluster(settings.caches_at):
        return LocalCache(settings)
    return None


def _bounds(settings: StorageSettings, bytes_max: int) -> Bounds:
    return Bounds(
        settings.local.ttl_ms / 1000,
        settings.local.requests_to_copy,
        settings.local.entries_max,
        bytes_max,
    )
