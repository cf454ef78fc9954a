"""Reads relations, lists and profiles through the caches."""

from asyncio import gather
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, cast

from graph.edge import UserId
from storage.cache.tables import Accounts, Lists, ProfiledLists, Profiles, Relations
from storage.ports import AccountsOf, Consistency, PagesOf, ProfilesOf, ReadRequest, RelationsOf
from storage.redis.connection import Servers


@dataclass(frozen=True, slots=True)
class Inner:
    """The stores that answer reads of one consistency."""

    relations: Relations
    lists: Lists
    profiles: Profiles
    profiled_lists: ProfiledLists
    accounts: Accounts


class CacheReader:
    """Implements `storage.ports.Reader`."""

    def __init__(self, local: Inner, cached: Inner, rows: Inner, redis: Servers) -> None:
        self._inner = {
            Consistency.CACHED: local,
            Consistency.FRESH: cached,
            Consistency.ROWS: rows,
        }
        self._redis = redis

    @property
    def failures(self) -> int:
        return self._redis.failures

    async def read(
        self,
        viewer: UserId | None,
        *requests: ReadRequest[Any],
        consistency: Consistency = Consistency.CACHED,
    ) -> Any:
        if len(requests) == 2:
            first, second = requests
            if isinstance(first, PagesOf) and isinstance(second, ProfilesOf):
                return await self._inner[consistency].profiled_lists.pages(
                    first.kind, first.owners, first.window, viewer, second.users
                )
        found = await gather(*(self._one(viewer, one, consistency) for one in requests))
        return found[0] if len(found) == 1 else tuple(found)

    def _one(
        self, viewer: UserId | None, request: ReadRequest[Any], consistency: Consistency
    ) -> Awaitable[Any]:
        inner = self._inner[consistency]
        if isinstance(request, RelationsOf):
            if consistency is Consistency.CACHED and _involves(request, viewer):
                inner = self._inner[Consistency.FRESH]
            return inner.relations.between(request.checks)
        if isinstance(request, PagesOf):
            return inner.lists.pages(request.kind, request.owners, request.window, viewer)
        if isinstance(request, ProfilesOf):
            return inner.profiles.get_many(request.users, viewer)
        return inner.accounts.get_many(cast("AccountsOf", request).users)


def _involves(request: RelationsOf, viewer: UserId | None) -> bool:
    """Whether a check is about the viewer: another process may have changed it."""
    return any(viewer == user or viewer in others for user, others, _ in request.checks)
