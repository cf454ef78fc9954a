"""The local cache of hot users, and the connection that invalidates it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph.page import ListKind, Page
from graph.profile import Profile
from storage.cache.tables import Accounts, Lists, ProfiledLists, Profiles, Relations
from storage.hot.hot_lists import HotLists, heads_reader
from storage.hot.hot_profiled_lists import HotProfiledLists
from storage.hot.hot_profiles import HotAccounts, HotProfiles, profiles_reader
from storage.hot.hot_relations import HotRelations, Known, relations_reader
from storage.hot.hot_values import Bounds, HotValues
from storage.hot.invalidations import Invalidations
from storage.hot.viewers import Viewers
from storage.redis.connection import GuardedRedis
from storage.redis.keys import Keys
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.servers import is_cluster
from storage.settings import StorageSettings

PATIENCE = 20
"""The pause after a failure, as a multiple of that of the caches' connection: the caches answer
meanwhile."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of one kind of value."""

    hits: int
    misses: int
    entries: int
    size: int


class Memory:
    """Wraps stores with a local cache of hot users."""

    def __init__(self, settings: StorageSettings) -> None:
        keys, self.invalidations = Keys(settings.space), Invalidations()
        self.redis = GuardedRedis(
            MultiplexedWire(settings.caches_at, settings.redis_timeout_s, self.invalidations),
            PATIENCE * settings.redis_retry_after_s,
        )
        self._viewers = Viewers(self.redis, keys, self.invalidations)
        self._relations: HotValues[Known] = HotValues(
            relations_reader(self.redis, keys), _bounds(settings, settings.hot_bytes_max // 2)
        )
        small = _bounds(settings, settings.hot_bytes_max // 2 // (1 + len(ListKind)))
        self._profiles: HotValues[Profile] = HotValues(profiles_reader(self.redis, keys), small)
        self._heads: dict[ListKind, HotValues[Page]] = {
            kind: HotValues(heads_reader(self.redis, keys, kind), small) for kind in ListKind
        }
        for what, values in self._all.items():
            self.invalidations.tell(what, values)

    def relations(self, inner: Relations) -> Relations:
        return HotRelations(inner, self._relations)

    def lists(self, inner: Lists) -> Lists:
        return HotLists(inner, self._heads, self._viewers)

    def accounts(self, inner: Accounts) -> Accounts:
        return HotAccounts(inner, self._profiles, self._viewers)

    def profiles(self, inner: Profiles) -> Profiles:
        return HotProfiles(inner, self._profiles, self._viewers)

    def profiled_lists(self, inner: ProfiledLists) -> ProfiledLists:
        return HotProfiledLists(inner, self._heads, self._profiles, self._viewers)

    def figures(self) -> Mapping[str, Figures]:
        """The statistics of each kind of value."""
        return {
            what: Figures(values.hits, values.misses, len(values), values.size)
            for what, values in self._all.items()
        }

    async def copied(self) -> None:
        """Wait for the copies in progress."""
        for values in self._all.values():
            await values.copied()

    async def caught_up(self) -> None:
        """Return when every invalidation until now has been processed.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        await self.redis.ping()

    async def close(self) -> None:
        for values in self._all.values():
            await values.close()
        await self.redis.close()

    @property
    def _all(self) -> Mapping[str, HotValues[Any]]:
        heads = {kind.name.lower(): values for kind, values in self._heads.items()}
        return {"rel": self._relations, "profile": self._profiles, **heads}


def opened_memory(settings: StorageSettings) -> Memory | None:
    """A local cache, or None if it is disabled or the caches are in a cluster: its servers report
    only their own keys, so no single connection receives all invalidations."""
    if settings.hot_ttl_ms and not is_cluster(settings.caches_at):
        return Memory(settings)
    return None


def _bounds(settings: StorageSettings, bytes_max: int) -> Bounds:
    return Bounds(
        settings.hot_ttl_ms / 1000, settings.hot_often, settings.hot_entries_max, bytes_max
    )
