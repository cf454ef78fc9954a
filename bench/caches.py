"""Fills or empties the caches before a run."""

import asyncio
from collections.abc import Iterator, Sequence

from redis.asyncio import Redis

from bench.population import Population
from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Window
from storage.ports.reader import (
    Check,
    PagesOf,
    ProfilesOf,
    RelationsOf,
)
from storage.redis.keys import Keys
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores

BATCH = 50


async def fill(settings: StorageSettings, people: Population) -> None:
    """Cache everything that the benchmark requests of its ordinary users and whales."""
    async with open_stores(settings) as stores:
        for users in _batches([*people.ordinary, *people.whales]):
            await _fill(stores, Keys(settings.space), users)


async def empty(redis_url: str) -> None:
    """Delete everything on this Redis server, also queues and feeds."""
    async with Redis.from_url(redis_url) as redis:
        await redis.flushall()


async def _fill(stores: Stores, keys: Keys, users: Sequence[UserId]) -> None:
    await stores.reads.reader.read(None, RelationsOf([Check(user, [user]) for user in users]))
    await asyncio.gather(*(stores.reads.reader.read(user, ProfilesOf([user])) for user in users))
    # Their TTL would end within the run, and `bench.raw` fails on a cache miss.
    await stores.servers.redis.pipe([("PERSIST", key) for key in keys.profiles(users)])
    for kind in (ListKind.FOLLOWING, ListKind.FOLLOWERS):
        await stores.reads.reader.read(None, PagesOf(kind, users, Window(20)))


def _batches(users: Sequence[int]) -> Iterator[Sequence[UserId]]:
    for first in range(0, len(users), BATCH):
        yield [UserId(user) for user in users[first : first + BATCH]]
