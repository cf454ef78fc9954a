"""The local cache: what readers see when invalidations by other gateways are late or lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from graph.account import PrivacyChange
from graph.account_state import AccountState
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.errors import Unavailable
from graph.lists import ListKind
from graph.page import EMPTY_PAGE, Page, Window
from graph.relation import STRANGERS
from resolvers.policy import Policy
from resolvers.relations import visible_between
from resolvers.scope import Scope
from storage.cache.local import LocalCache, local_cache_of
from storage.cache.reader import CacheReader
from storage.ports.reader import Check, Consistency, PagesOf, ProfilesOf
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from storage.wiring.caches import tables_of
from tests.support.gateway import running_gateway
from tests.support.graphs import drain_all, follows, ids_of, unfollows, users
from tests.support.metrics import sample
from tests.support.proxy import Proxy
from tests.support.readers import Reading
from tests.support.redis_proxy import proxy_to
from tests.support.tls import server_over_tls
from tests.support.valkey import own_valkey
from tests.support.waiting import until

ONE, TWO, THREE = users(1, 2, 3)


def hot(settings: StorageSettings) -> StorageSettings:
    """Settings with which every user is hot, and copies live longer than any test."""
    return replace(settings, local=replace(settings.local, ttl_ms=60_000, requests_to_copy=1))


@dataclass(frozen=True)
class WithLocalCache:
    """A gateway's reads. Its local cache receives invalidations over a proxy that can fail."""

    stores: Stores
    local: LocalCache
    proxy: Proxy
    reading: Reading

    async def read_all(self, user: UserId, viewer: UserId | None = None) -> list[Any]:
        """The lists, relations and totals of one user."""
        pages = [
            (await self.reading.pages(kind, [user], Window(5), viewer))[user] for kind in ListKind
        ]
        relations = await self.reading.relations([Check(user, users(1, 2, 3, 4, 5))])
        return [*pages, (await self.reading.counts([user], viewer))[user], relations]

    async def warm(self, *copied: UserId, viewer: UserId | None = None) -> None:
        """Copy all values of these users, and cache the viewer's pending writes in Redis."""
        for user in copied:
            await self.read_all(user, viewer)
            await self.read_all(user)
            await self.local.wait_for_copies()

    async def round_trips(self) -> tuple[int, int]:
        """Round trips of the reader and of its local cache, after all lanes have been woken."""
        await self.stores.broker.lanes.wait_until_queued()
        return self.stores.servers.redis.round_trips, self.local.redis.round_trips

    @property
    def hits(self) -> int:
        return sum(statistics.hits for statistics in self.local.statistics().values())

    @property
    def entries(self) -> int:
        return sum(statistics.entries for statistics in self.local.statistics().values())


@asynccontextmanager
async def with_local_cache(
    settings: StorageSettings, stores: Stores, folder: Path, *, over_tls: bool = False
) -> AsyncIterator[WithLocalCache]:
    async with AsyncExitStack() as stack:
        proxy, url = await stack.enter_async_context(proxy_to(settings.redis_url, folder))
        if over_tls:
            url = await stack.enter_async_context(server_over_tls(url, folder))
        local = LocalCache(replace(settings, redis_url=url))
        try:
            reading = Reading(
                CacheReader(
                    settings,
                    stores.servers.redis,
                    tables_of(stores.servers.postgres),
                    local,
                )
            )
            yield WithLocalCache(stores, local, proxy, reading)
        finally:
            await local.close()


@pytest.fixture
async def redis_url(tmp_path: Path) -> AsyncIterator[str]:
    async with own_valkey(tmp_path) as url:
        yield url


@pytest.fixture
async def reader(
    request: pytest.FixtureRequest,
    storage_settings: StorageSettings,
    stores: Stores,
    tmp_path: Path,
) -> AsyncIterator[WithLocalCache]:
    """A reader whose copies do not expire, with a long timeout and immediate retries."""
    settings = replace(
        hot(storage_settings),
        connections=replace(
            hot(storage_settings).connections, redis_timeout_s=5, redis_retry_after_s=0
        ),
    )
    over_tls = getattr(request, "param", "") == "TLS"
    async with with_local_cache(settings, stores, tmp_path, over_tls=over_tls) as reader:
        yield reader


with_and_without_tls = pytest.mark.parametrize("reader", ["unix socket", "TLS"], indirect=True)


@with_and_without_tls
async def test_reads_of_copied_values_cost_one_ping(
    reader: WithLocalCache,
) -> None:
    await follows(reader.stores, (1, 2), (3, 1))
    await drain_all(reader.stores)
    fresh = await reader.read_all(ONE)
    await reader.local.wait_for_copies()
    before = await reader.round_trips()
    statements = reader.stores.servers.postgres.statements
    assert await reader.read_all(ONE) == fresh
    after = await reader.round_trips()
    assert (after[0] - before[0], after[1] - before[1]) == (0, 1)
    assert reader.stores.servers.postgres.statements == statements
    assert reader.hits == 5


async def test_reads_of_copied_values_cost_a_viewer_one_round_trip(reader: WithLocalCache) -> None:
    await follows(reader.stores, (1, 2))
    await drain_all(reader.stores)
    await reader.warm(ONE, TWO, viewer=THREE)
    before = await reader.round_trips()
    assert await reader.reading.counts([ONE, TWO], THREE) == {
        ONE: Counts(1, 0, 0),
        TWO: Counts(0, 1, 0),
    }
    after = await reader.round_trips()
    assert (after[0] - before[0], after[1] - before[1]) == (0, 1)


async def test_a_hot_users_page_is_answered_locally_for_viewers_who_are_not_hot(
    reader: WithLocalCache,
) -> None:
    await follows(reader.stores, (2, 1), (3, 1))
    await drain_all(reader.stores)
    await reader.warm(ONE)
    fans = users(11, 12, 13)

    async def read_page_and_profiles(fan: UserId, consistency: Consistency) -> Any:
        return await reader.reading.reader.read(
            fan,
            PagesOf(ListKind.FOLLOWERS, [ONE], Window(5)),
            ProfilesOf([ONE, fan]),
            consistency=consistency,
        )

    expected = [await read_page_and_profiles(fan, Consistency.FRESH) for fan in fans]
    before = await reader.round_trips()
    hits = reader.hits
    assert [await read_page_and_profiles(fan, Consistency.CACHED) for fan in fans] == expected
    after = await reader.round_trips()
    assert (after[0] - before[0], after[1] - before[1]) == (0, len(fans))
    assert reader.hits - hits == 2 * len(fans), "the page, and the profile of its owner"


async def test_a_viewer_is_answered_locally_only_if_all_values_are_copied(
    reader: WithLocalCache,
) -> None:
    await reader.warm(ONE, viewer=THREE)
    hits, round_trips = reader.hits, reader.local.redis.round_trips
    assert await reader.reading.counts([ONE, TWO], THREE) == {ONE: NO_COUNTS, TWO: NO_COUNTS}
    await reader.local.wait_for_copies()
    assert reader.hits == hits
    assert reader.local.redis.round_trips - round_trips == 1, "only user 2 is copied"
    assert await reader.reading.counts([ONE, TWO], THREE) == {ONE: NO_COUNTS, TWO: NO_COUNTS}
    assert reader.hits == hits + 2


@pytest.mark.parametrize("drained", [False, True], ids=["pending", "drained"])
@pytest.mark.parametrize("delivery", ["late", "lost"])
@with_and_without_tls
async def test_a_viewer_sees_own_writes_though_invalidations_are_late_or_lost(
    reader: WithLocalCache, drained: bool, delivery: str
) -> None:
    """They were written through another gateway."""
    await follows(reader.stores, (2, 1))
    await drain_all(reader.stores)
    await reader.warm(ONE, TWO, viewer=ONE)
    reader.proxy.stop_answering()
    await follows(reader.stores, (1, 2))
    if drained:
        await drain_all(reader.stores)
        # A read through another gateway caches in Redis that nothing is pending.
        await reader.stores.reads.reader.read(ONE, ProfilesOf([TWO]))
    stale = (await first_pages(reader, TWO, None))[1]
    assert stale == [], "the local cache has received no invalidation"
    reads = asyncio.gather(reader.reading.counts([ONE, TWO], ONE), first_pages(reader, TWO, ONE))
    await asyncio.sleep(0)
    await (reader.proxy.restore() if delivery == "late" else reader.proxy.cut())
    counts, (following, followers, friends) = await reads
    assert counts == {ONE: Counts(1, 1, 1), TWO: Counts(1, 1, 1)}
    assert (following, followers, friends) == ([1], [1], [1])


@pytest.mark.parametrize("delivery", ["late", "lost"])
@pytest.mark.parametrize("viewer", [None, THREE])
async def test_no_reader_sees_an_account_as_open_after_it_was_protected(
    reader: WithLocalCache, viewer: UserId | None, delivery: str
) -> None:
    """Another gateway has made the account protected."""
    await reader.warm(ONE, viewer=THREE)
    reader.proxy.stop_answering()
    hidden = (
        await reader.stores.writes.accounts.set_privacy(ONE, PrivacyChange(protected=True))
    ).account
    reading = reader.reading
    reads = asyncio.gather(
        reading.profiles([ONE], viewer),
        reading.accounts([ONE]),
        reading.reader.read(
            viewer, PagesOf(ListKind.FOLLOWING, [ONE], Window(5)), ProfilesOf([ONE])
        ),
    )
    await asyncio.sleep(0)
    await (reader.proxy.restore() if delivery == "late" else reader.proxy.cut())
    profile, account, paged = await reads
    assert (profile, account) == ({ONE: (hidden, NO_COUNTS)}, {ONE: hidden})
    assert paged == ({ONE: EMPTY_PAGE}, profile)


async def test_a_viewers_own_relations_are_never_answered_locally(reader: WithLocalCache) -> None:
    await reader.warm(ONE, TWO)
    reader.proxy.stop_answering()
    await follows(reader.stores, (1, 2))
    await drain_all(reader.stores)
    own_check, reverse_check = Check(ONE, [TWO]), Check(TWO, [ONE])
    assert await reader.reading.relations([own_check, reverse_check]) == [[STRANGERS], [STRANGERS]]
    reads = replace(reader.stores.reads, reader=reader.reading.reader)
    stores = replace(reader.stores, reads=reads)
    scope = Scope(stores, ONE, Policy())
    for checks in (
        [own_check],
        [reverse_check],
        [own_check, reverse_check, Check(THREE, [TWO, ONE])],
    ):
        result = await visible_between(scope, checks)
        kinds = {
            check.user: relations[-1].kinds for check, relations in zip(checks, result, strict=True)
        }
        assert kinds == {user: {ONE: 1, TWO: 1 << 4, THREE: 0}[user] for user in kinds}
    assert (await scope.viewer_relations.get_many([TWO]))[0].kinds == 1


async def first_pages(
    reader: WithLocalCache, user: UserId, viewer: UserId | None
) -> list[list[int]]:
    """The users in the first page of each list of `user`."""
    pages: list[Page] = [
        (await reader.reading.pages(kind, [user], Window(5), viewer))[user] for kind in ListKind
    ]
    return [ids_of(page.entries) for page in pages]


async def test_others_see_a_write_once_its_invalidation_arrives(
    reader: WithLocalCache,
) -> None:
    await reader.warm(ONE, TWO)
    await follows(reader.stores, (1, 2))
    await drain_all(reader.stores)
    await reader.local.wait_for_invalidations()
    assert reader.local.invalidations.received > 0
    for user, counts in ((ONE, Counts(1, 0, 0)), (TWO, Counts(0, 1, 0))):
        result = await reader.read_all(user)
        await reader.local.wait_for_copies()
        assert result[3] == counts
        assert await reader.read_all(user) == result
    await unfollows(reader.stores, (1, 2))
    await drain_all(reader.stores)
    await reader.local.wait_for_invalidations()
    assert (await reader.read_all(TWO))[3] == NO_COUNTS


async def test_others_see_a_write_within_the_ttl_though_all_invalidations_are_lost(
    storage_settings: StorageSettings, stores: Stores, tmp_path: Path
) -> None:
    settings = replace(
        storage_settings,
        local=replace(storage_settings.local, ttl_ms=50, requests_to_copy=1),
        connections=replace(storage_settings.connections, redis_timeout_s=5),
    )
    async with with_local_cache(settings, stores, tmp_path) as reader:
        await reader.warm(TWO)
        reader.proxy.stop_answering()
        await follows(stores, (1, 2))
        await drain_all(stores)

        async def seen() -> bool:
            (relations, counts) = (await reader.read_all(TWO))[-1:-3:-1]
            return bool(relations[0][0].kinds) and counts == Counts(0, 1, 0)

        await until(seen)


async def test_a_lost_connection_drops_all_copies_at_once(reader: WithLocalCache) -> None:
    await reader.warm(ONE, TWO)
    assert reader.entries == 10
    await reader.proxy.cut()
    await until(lambda: _completed(reader.entries == 0))
    hits = reader.hits
    await follows(reader.stores, (1, 2))
    result = await reader.read_all(ONE)
    assert (result[3], reader.hits) == (Counts(1, 0, 0), hits)
    await reader.local.wait_for_copies()
    assert reader.entries == 0
    await reader.proxy.restore()
    await until(lambda: _completed(not reader.local.redis.open_breakers))
    await reader.warm(ONE)
    hits = reader.hits
    assert await reader.read_all(ONE) == result
    assert (reader.hits, reader.entries) == (hits + 5, 5)


async def _completed(value: bool) -> bool:
    return value


@pytest.mark.parametrize("removal", ["FLUSHDB", "deleted", "expired"])
async def test_a_local_copy_of_a_deleted_key_is_dropped(
    reader: WithLocalCache, removal: str
) -> None:
    await reader.warm(ONE)
    redis = reader.stores.servers.redis
    (keys,) = await redis.pipe([("KEYS", "kith:*")])
    await redis.pipe(
        {
            "FLUSHDB": [("FLUSHDB",)],
            "deleted": [("DEL", *keys)],
            "expired": [("PEXPIRE", key, 0) for key in keys],
        }[removal]
    )
    await reader.local.wait_for_invalidations()
    assert reader.entries == 0


async def test_local_answers_stay_correct_while_a_user_becomes_a_whale(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    settings = hot(
        replace(storage_settings, cache=replace(storage_settings.cache, relations_max=3))
    )
    async with (
        open_stores(replace(settings, local=replace(settings.local, ttl_ms=0))) as stores,
        with_local_cache(settings, stores, tmp_path) as reader,
    ):
        fans = list(range(2, 11))
        for grown, fan in enumerate(fans, 1):
            await follows(stores, (fan, 1))
            await drain_all(stores)
            await reader.local.wait_for_invalidations()
            for _ in range(2):
                (result,) = await reader.reading.relations([Check(ONE, users(*fans))])
                await reader.local.wait_for_copies()
                assert [bool(relation.kinds) for relation in result] == [
                    index < grown for index in range(len(fans))
                ]
        statistics = reader.local.statistics()["rel"]
        # A hash that is updated in place drops a direction at twice the allowed size.
        assert (statistics.hits, statistics.entries) == (6, 1)


async def test_without_permission_to_track_nothing_is_copied(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    allowed = ("resetpass", "nopass", "on", "~*", "&*", "+@all", "-client|tracking")
    await stores.servers.redis.pipe([("ACL", "SETUSER", "mute", *allowed)])
    try:
        url = urlunsplit(urlsplit(storage_settings.redis_url)._replace(netloc="mute:any@"))
        async with open_stores(hot(replace(storage_settings, redis_url=url))) as muted:
            assert muted.caches.local is not None
            for turn in range(3):
                await muted.reads.reader.read(TWO if turn else None, ProfilesOf([ONE]))
                await muted.caches.local.wait_for_copies()
            with pytest.raises(Unavailable):
                await muted.caches.local.wait_for_invalidations()
            assert muted.caches.local.statistics()["profile"].entries == 0
    finally:
        await stores.servers.redis.pipe([("ACL", "DELUSER", "mute")])


def test_the_local_cache_can_be_off(storage_settings: StorageSettings) -> None:
    assert (
        local_cache_of(replace(storage_settings, local=replace(storage_settings.local, ttl_ms=0)))
        is None
    )
    cluster = hot(
        replace(
            storage_settings,
            cache=replace(storage_settings.cache, url="redis+cluster://cache:6379"),
        )
    )
    assert local_cache_of(cluster) is None


async def test_the_local_cache_works_over_tls(storage_settings: StorageSettings) -> None:
    local = local_cache_of(hot(replace(storage_settings, redis_url="rediss://cache:6380")))
    assert local is not None
    await local.close()


SCREEN = """
query ($ids: [ID!]!) { users(ids: $ids) {
  followingCount followerCount friendCount
  following(first: 9) { nodes { id } } followers(first: 9) { nodes { id } }
  friends(first: 9) { nodes { id } }
  relationWith(ids: $ids) { state } viewerRelation { state }
} }
"""
CHANGE = """mutation ($id: ID!) { change: %s(input: { userId: $id }) {
  relation { state } user { followerCount } viewer { user { followingCount } }
} }"""


async def test_a_viewer_sees_own_writes_through_any_gateway_whatever_it_has_copied(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    """After a write, a user gets the response of a gateway without a local cache, every time."""
    copying = hot(storage_settings)
    async with AsyncExitStack() as stack:
        one, two, plain = [
            await stack.enter_async_context(running_gateway(settings))
            for settings in (copying, copying, storage_settings)
        ]
        ids = ["1", "2", "3"]
        for turn in range(24):
            for gateway in (one, two):
                for viewer in (None, 1, 2):
                    await gateway.data(SCREEN, viewer, ids=ids)
            writer, reader = (one, two) if turn % 2 else (two, one)
            viewer, other = (1, 2) if turn % 3 else (2, 1)
            field = "unfollowUser" if turn % 4 > 1 else "followUser"
            changed = await writer.data(CHANGE % field, viewer, id=str(other))
            if turn % 5 < 3:
                await drain_all(stores)
            screen = await reader.data(SCREEN, viewer, ids=ids)
            assert screen == await plain.data(SCREEN, viewer, ids=ids)
            assert (
                changed["change"]["user"]["followerCount"]
                == (screen["users"][other - 1]["followerCount"])
            )


@pytest.mark.parametrize("state", [AccountState.DEACTIVATED, AccountState.DELETED])
async def test_nobody_sees_an_absent_account_whatever_is_copied(
    storage_settings: StorageSettings, stores: Stores, state: AccountState
) -> None:
    """Another process changes the state. Totals change when their invalidation arrives."""
    settings = replace(storage_settings, local=replace(storage_settings.local, absent_age_ms=0))
    await follows(stores, (1, 2), (2, 1), (3, 1), (1, 3), (3, 2))
    await drain_all(stores)
    async with running_gateway(hot(settings)) as gateway, running_gateway(settings) as plain:
        ids = ["1", "2", "3"]

        async def both(viewer: int | None) -> tuple[Any, Any]:
            screen = await gateway.data(SCREEN, viewer, ids=ids)
            return screen, await plain.data(SCREEN, viewer, ids=ids)

        async def same(viewer: int | None) -> bool:
            screen, expected = await both(viewer)
            return bool(screen == expected)

        for _ in range(3):
            before = [await both(viewer) for viewer in (None, 1, 2)]
        await stores.writes.account_states.change(THREE, state)
        for viewer, (screen_before, _) in zip((None, 1, 2), before, strict=True):
            assert is_listed(screen_before, 3)
            assert not is_listed((await both(viewer))[0], 3)
            await until(partial(same, viewer))
        await stores.writes.account_states.change(THREE, AccountState.ACTIVE)
        for viewer, (screen_before, _) in zip((None, 1, 2), before, strict=True):
            await until(partial(same, viewer))
            screen_after = (await both(viewer))[0]
            assert (screen_after == screen_before) == (state is AccountState.DEACTIVATED)


def is_listed(screen: Any, user: int) -> bool:
    """Whether a list on the screen shows the user."""
    lists = [
        one[kind]["nodes"]
        for one in screen["users"]
        if one
        for kind in ("following", "followers", "friends")
    ]
    return any({"id": str(user)} in nodes for nodes in lists)


async def test_metrics_show_the_local_cache(storage_settings: StorageSettings) -> None:
    hits = 'kith_local_cache_hits_total{entry="profile"}'
    lost = "kith_local_cache_connections_lost_total"
    async with running_gateway(hot(storage_settings)) as gateway:
        before = [await sample(gateway.http, name) for name in (hits, lost)]
        for _ in range(5):
            await gateway.data("{ user(id: 1) { followerCount } }")
        after = [await sample(gateway.http, name) for name in (hits, lost)]
        assert await sample(gateway.http, 'kith_local_cache_entries{entry="relations"}') == 0
    assert after[0] > before[0]
    assert after[1] == before[1]
