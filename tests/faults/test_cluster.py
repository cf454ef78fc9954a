"""Caches in a Redis Cluster: servers become unavailable, slots move, and replies come in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asyncpg import Record
from redis.crc import key_slot

from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import lane_of
from graph.lists import ListKind
from graph.page import Window
from storage import drain as draining
from storage.cache.lease import Leases
from storage.ports.reader import Check, PagesOf, ProfilesOf, RelationsOf
from storage.postgres.connection.acquired import Connection
from storage.redis.cluster import ClusterRedis
from storage.redis.keys import Keys
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command, Reply
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.gateway import running_gateway
from tests.support.graphs import drain_all, follows, ids_of, unfollows, users
from tests.support.tls import cluster_over_tls
from tests.support.valkey_cluster import Cluster, ClusterServer
from tests.support.waiting import until
from workers.sweep import sweep

KEYS = Keys("public")
FOLLOWERS = users(*range(1, 31))
STAR = UserId(99)
RETRY_S = 0.05


def settings_at(cluster: Cluster, settings: StorageSettings) -> StorageSettings:
    return replace(
        settings,
        cache=replace(settings.cache, url=cluster.url),
        connections=replace(settings.connections, redis_retry_after_s=RETRY_S),
    )


@asynccontextmanager
async def opened(settings: StorageSettings, cluster: Cluster) -> AsyncIterator[Stores]:
    """Stores in which all `FOLLOWERS` follow the star, with these relations cached."""
    async with open_stores(settings_at(cluster, settings)) as stores:
        await follows(stores, *((user, STAR) for user in FOLLOWERS))
        await drain_all(stores)
        await stores.reads.reader.read(None, RelationsOf(checks(FOLLOWERS)))
        yield stores


def checks(of: Iterable[UserId]) -> list[Check]:
    return [Check(user, [STAR]) for user in of]


def servers_of_users(cluster: Cluster) -> dict[UserId, ClusterServer]:
    """The server of each user's keys, as long as no slot was moved."""
    size = len(cluster.servers)
    slots = {user: key_slot(KEYS.relations(user).encode()) for user in [*FOLLOWERS, STAR]}
    ends = [16_384 * (turn + 1) // size for turn in range(size)]
    return {
        user: next(one for one, end in zip(cluster.servers, ends, strict=True) if slot < end)
        for user, slot in slots.items()
    }


async def followers(stores: Stores, of: Iterable[UserId]) -> set[UserId]:
    """The users of `of` who follow the star."""
    of = list(of)
    found = await stores.reads.reader.read(None, RelationsOf(checks(of)))
    return {user for user, (relation,) in zip(of, found, strict=True) if relation.kinds}


async def test_an_unavailable_server_affects_only_its_own_users(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    server_of, dead = servers_of_users(own_cluster), own_cluster.servers[1]
    users_of_dead = [user for user in FOLLOWERS if server_of[user] is dead]
    other_users = [user for user in FOLLOWERS if server_of[user] is not dead]
    assert users_of_dead
    assert other_users
    async with opened(storage_settings, own_cluster) as stores:
        dead.kill()
        assert await followers(stores, users_of_dead) == set(users_of_dead)  # from the tables
        before = stores.servers.postgres.statements
        for _ in range(3):
            assert await followers(stores, other_users) == set(other_users)
        assert stores.servers.postgres.statements == before
        await unfollows(stores, (users_of_dead[0], STAR))
        assert await followers(stores, users_of_dead) == set(users_of_dead[1:])

        await dead.start()
        await until(own_cluster.is_whole, "the cluster is whole again")

        async def cached_again() -> bool:
            before = stores.servers.postgres.statements
            assert await followers(stores, FOLLOWERS) == set(FOLLOWERS) - {users_of_dead[0]}
            return stores.servers.postgres.statements == before

        await until(cached_again, "all users are cached again")


@contextmanager
def users_of_statements() -> Iterator[set[UserId]]:
    """The users whose rows are read during the block: the first list among the arguments of each
    statement."""
    users: set[UserId] = set()
    fetch = Connection.fetch

    async def recorded(
        connection: Connection, sql: str, *args: Any, **options: Any
    ) -> list[Record]:
        users.update(next((arg for arg in args if isinstance(arg, list)), ()))
        return await fetch(connection, sql, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "fetch", recorded)
        yield users


async def test_only_the_users_of_an_unavailable_server_are_read_from_the_tables(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    server_of, dead = servers_of_users(own_cluster), own_cluster.servers[1]
    users_of_dead = {user for user in FOLLOWERS if server_of[user] is dead}
    other_user = next(user for user in FOLLOWERS if user not in users_of_dead)
    async with opened(storage_settings, own_cluster) as stores:
        dead.kill()

        async def lists(viewer: UserId | None) -> None:
            pages = await stores.reads.reader.read(
                viewer, PagesOf(ListKind.FOLLOWING, FOLLOWERS, Window(5))
            )
            assert all(ids_of(page.entries) == [STAR] for page in pages.values())

        async def profiles(viewer: UserId | None) -> None:
            found = await stores.reads.reader.read(viewer, ProfilesOf(FOLLOWERS))
            assert all(profile.counts.following == 1 for profile in found.values())

        async def relations(_: UserId | None) -> None:
            assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)

        for viewer in (None, other_user, min(users_of_dead)):
            for read in (lists, profiles, relations):
                await read(viewer)  # fills the missing values of the other users
                with users_of_statements() as read_users:
                    await read(viewer)
                assert read_users == users_of_dead, (viewer, read)


async def test_changes_of_users_of_a_stopped_server_do_not_delay_others(
    storage_settings: StorageSettings, own_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, even if more changes wait than a batch holds."""
    monkeypatch.setattr(draining, "BATCH", 4)
    server_of = servers_of_users(own_cluster)
    stopped = next(one for one in own_cluster.servers if one is not server_of[STAR])
    users_of_dead = [user for user in FOLLOWERS if server_of[user] is stopped]
    other = next(user for user in FOLLOWERS if server_of[user] is not stopped)
    remaining = set(FOLLOWERS) - {*users_of_dead, other}
    lane = lane_of(STAR)
    assert len(users_of_dead) > 4
    async with opened(storage_settings, own_cluster) as stores:
        await stores.reads.reader.read(None, ProfilesOf([STAR]))
        stopped.stop()  # and it keeps its data
        await unfollows(stores, *((user, STAR) for user in users_of_dead), (other, STAR))
        await stores.jobs.lanes.drain.lane(lane)
        totals = await stores.reads.reader.read(None, ProfilesOf([STAR]))
        assert totals[STAR].counts.followers == len(remaining), (
            "applied, and sent to the available servers"
        )
        assert await followers(stores, FOLLOWERS) == remaining
        assert await stores.jobs.lanes.progress.lanes_with_changes() == {}
        assert (await stores.jobs.lanes.progress.backlog()).rows == len(users_of_dead)
        result = await stores.changes.catch_up.reach(
            {lane: (await stores.jobs.lanes.progress.watermarks()).now}, 5
        )
        assert not result, "the stopped server may return with old values"
        await sweep(stores)
        assert (await stores.jobs.lanes.progress.backlog()).rows == len(users_of_dead)
        copies = await stores.servers.redis.partly([("EXISTS", KEYS.profile(STAR))])
        assert copies == [1], "a server that has the update does not get it again"

    # New stores: the pending invalidations of the first ones are lost.
    async with open_stores(settings_at(own_cluster, storage_settings)) as stores:
        stopped.resume()
        await until(own_cluster.is_whole, "the cluster is whole again")

        async def nothing_waits() -> bool:
            await sweep(stores)
            return not (await stores.jobs.lanes.progress.backlog()).rows

        assert await followers(stores, users_of_dead), "the server still has old values"
        await until(nothing_waits, "all updates are sent")
        with users_of_statements() as read_users:
            assert await followers(stores, users_of_dead) == set()
        assert not read_users
        assert await stores.changes.catch_up.reach(
            {lane: (await stores.jobs.lanes.progress.watermarks()).now}, 5
        )


async def test_a_restarted_server_gets_its_updates_while_those_of_another_server_wait(
    storage_settings: StorageSettings, own_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "BATCH", 2)
    server_of, (returned, stopped) = servers_of_users(own_cluster), own_cluster.servers[1:]
    first = [user for user in FOLLOWERS if server_of[user] is stopped]
    second = [user for user in FOLLOWERS if server_of[user] is returned]
    async with opened(storage_settings, own_cluster) as stores:
        stopped.kill()
        returned.kill()
        await unfollows(stores, *((user, STAR) for user in [*first, *second]))
        await stores.jobs.lanes.drain.lane(lane_of(STAR))
        await returned.start()

        async def caches_are_updated() -> bool:
            await sweep(stores)
            return await stores.jobs.lanes.progress.unacknowledged(second) == set()

        await until(caches_are_updated, "the caches are updated")
        assert await stores.jobs.lanes.progress.unacknowledged(first) == set(first)


async def test_without_any_cache_server_reads_use_postgresql(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    for server in own_cluster.servers:
        server.kill()
    async with open_stores(settings_at(own_cluster, storage_settings)) as stores:
        await follows(stores, *((user, STAR) for user in FOLLOWERS))
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)
        page = await stores.reads.reader.read(
            FOLLOWERS[0], PagesOf(ListKind.FOLLOWERS, [STAR], Window(50))
        )
        assert ids_of(page[STAR].entries) == [
            FOLLOWERS[0]
        ]  # their own follow; those of others are pending
        with pytest.raises(Unavailable):
            await stores.servers.redis.ping()
        assert stores.servers.redis.failures
        for server in own_cluster.servers:
            await server.start()
        await until(own_cluster.is_whole, "the cluster is whole again")

        async def answers() -> bool:
            try:
                await drain_all(stores)
            except Unavailable:
                return False
            return True

        await until(answers, "the caches can be updated")
        page = await stores.reads.reader.read(
            FOLLOWERS[0], PagesOf(ListKind.FOLLOWERS, [STAR], Window(50))
        )
        assert len(page[STAR].entries) == len(FOLLOWERS)


@pytest.fixture
async def reached_cluster(
    transport: str, own_cluster: Cluster, tmp_path: Path
) -> AsyncIterator[Cluster]:
    """`own_cluster`, which clients reach over TCP or over TLS."""
    async with AsyncExitStack() as stack:
        if transport == "TLS":
            reached = cluster_over_tls(own_cluster, tmp_path)
            own_cluster.address = await stack.enter_async_context(reached)
        yield own_cluster


@pytest.mark.parametrize("transport", ["TCP", "TLS"])
async def test_reads_and_writes_succeed_while_and_after_a_slot_moves(
    storage_settings: StorageSettings, reached_cluster: Cluster
) -> None:
    own_cluster = reached_cluster
    user = FOLLOWERS[0]
    slot, source = key_slot(KEYS.relations(user).encode()), servers_of_users(own_cluster)[user]
    target = next(one for one in own_cluster.servers if one is not source)
    settings = settings_at(own_cluster, storage_settings)
    async with (
        opened(storage_settings, own_cluster) as stores,
        open_stores(settings) as other_stores,
    ):
        await other_stores.reads.reader.read(user, PagesOf(ListKind.FOLLOWING, [user], Window(5)))
        await own_cluster.begin_move(slot, source, target)
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)
        page = await stores.reads.reader.read(user, PagesOf(ListKind.FOLLOWING, [user], Window(5)))
        assert ids_of(page[user].entries) == [STAR]  # of a key that neither server has
        await unfollows(stores, (user, STAR))
        page = await other_stores.reads.reader.read(
            user, PagesOf(ListKind.FOLLOWING, [user], Window(5))
        )
        assert not page[user].entries, "another process sees it too"
        assert await followers(other_stores, [user]) == set()
        await drain_all(stores)
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS[1:])
        await own_cluster.end_move(slot, source, target)
        await drain_all(stores)
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS[1:])
        await follows(stores, (user, STAR))
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)

        async def location_is_known() -> bool:
            before = stores.servers.postgres.statements
            assert await followers(stores, [user]) == {user}
            return stores.servers.postgres.statements == before

        await until(location_is_known, "the new server of the slot is known")


async def test_leases_are_taken_once_although_a_moved_slot_repeats_the_command(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    """The second run of the command finds the tokens of the first one."""
    user, server_of = FOLLOWERS[0], servers_of_users(own_cluster)
    slot, source = key_slot(KEYS.relations(user).encode()), server_of[user]
    target = next(one for one in own_cluster.servers if one is not source)
    keys = [KEYS.profile(one) for one in FOLLOWERS if server_of[one] is source]
    assert len(keys) > 1
    async with open_stores(settings_at(own_cluster, storage_settings)) as stores:
        await stores.servers.redis.ping()
        await own_cluster.begin_move(slot, source, target)
        await own_cluster.end_move(slot, source, target)
        leases = Leases(stores.servers.redis, 60_000, 1)
        assert set(await leases.take(keys)) == set(keys)
        assert await leases.take(keys) == {}


async def test_a_client_without_cluster_mode_reads_the_tables(
    storage_settings: StorageSettings, cluster: Cluster
) -> None:
    url = cluster.url.replace("+cluster", "")
    async with open_stores(
        replace(storage_settings, cache=replace(storage_settings.cache, url=url))
    ) as stores:
        await follows(stores, *((user, STAR) for user in FOLLOWERS))
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)


async def test_with_a_wrong_password_the_caches_are_unavailable_and_the_log_tells_why(
    storage_settings: StorageSettings, own_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """As with a single server, reads continue without the caches."""
    for server in own_cluster.servers:
        await server.ask("CONFIG", "SET", "requirepass", "right")
    wrong = own_cluster.url.replace("//", "//:wrong@")
    async with running_gateway(
        replace(storage_settings, cache=replace(storage_settings.cache, url=wrong))
    ) as gateway:
        health = (await gateway.http.get("/readyz")).json()
    assert (health["status"], health["parts"]["redis"]["status"]) == ("degraded", "down")
    assert "WRONGPASS" in caplog.text
    assert "wrong@" not in caplog.text
    async with open_stores(
        replace(storage_settings, cache=replace(storage_settings.cache, url=wrong))
    ) as stores:
        await follows(stores, *((user, STAR) for user in FOLLOWERS))
        await drain_all(stores)
        assert await followers(stores, FOLLOWERS) == set(FOLLOWERS)
        assert (await stores.jobs.lanes.progress.backlog()).rows == len(FOLLOWERS)
    right = replace(
        storage_settings, cache=replace(storage_settings.cache, url=wrong.replace("wrong", "right"))
    )
    async with open_stores(right) as stores:
        await sweep(stores)
        assert (await stores.jobs.lanes.progress.backlog()).rows == 0
        await stores.servers.redis.ping()


async def test_a_slot_map_without_servers_is_ignored(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    server_of, seed = servers_of_users(own_cluster), own_cluster.servers[0]
    other_users = [user for user in FOLLOWERS if server_of[user] is not seed]
    async with opened(storage_settings, own_cluster) as stores:
        seed.kill()
        for file in seed.folder.iterdir():
            file.unlink()
        await seed.start()  # without a slot map
        for _ in range(3):
            await followers(stores, FOLLOWERS)
            await asyncio.sleep(2 * RETRY_S)  # the slot map is read again
        before = stores.servers.postgres.statements
        assert await followers(stores, other_users) == set(other_users)
        assert stores.servers.postgres.statements == before


async def test_a_pending_invalidation_is_sent_to_the_new_server_of_its_slot(
    storage_settings: StorageSettings, own_cluster: Cluster
) -> None:
    user = FOLLOWERS[0]
    key, source = KEYS.relations(user), servers_of_users(own_cluster)[user]
    target = next(one for one in own_cluster.servers if one is not source)
    async with opened(storage_settings, own_cluster) as stores:
        stores.servers.redis.add_pending([key])
        await own_cluster.begin_move(key_slot(key.encode()), source, target)
        await own_cluster.end_move(key_slot(key.encode()), source, target)
        assert await target.ask("EXISTS", key) == 1
        assert (await stores.servers.redis.pipe([("EXISTS", key)])) == [0]


async def test_only_the_caches_are_in_the_cluster(
    storage_settings: StorageSettings, cluster: Cluster
) -> None:
    async with opened(storage_settings, cluster) as stores:
        await stores.broker.events.open(STAR)
        cache_keys = [set(await server.ask("KEYS", "*")) for server in cluster.servers]
        assert all(cache_keys), "every server has keys"
        assert all(":{" in key for keys in cache_keys for key in keys)
        broker_keys = [key async for keys in stores.servers.broker.scan("*", 100) for key in keys]
        assert broker_keys
        assert not [key for key in broker_keys if b":{" in key]
        await stores.delete_caches()
        assert not [key for server in cluster.servers for key in await server.ask("KEYS", "*")]


class RecordingWire:
    """A `Wire` that records which commands are sent and answered, in order."""

    def __init__(self, url: str, log: list[tuple[str, Command]]) -> None:
        self._wire = MultiplexedWire(url, 1)
        self._log = log
        self.round_trips = 0

    def send(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self._send(commands)

    async def _send(self, commands: Sequence[Command]) -> list[Reply]:
        self._log.extend(("sent", command) for command in commands)
        replies = await self._wire.send(commands)
        await asyncio.sleep(0.01)  # other commands that were sent would be recorded by now
        self._log.extend(("answered", command) for command in commands)
        return replies

    async def close(self) -> None:
        await self._wire.close()


async def test_the_first_command_is_answered_before_the_others_are_sent(cluster: Cluster) -> None:
    log: list[tuple[str, Command]] = []
    url = cluster.url.replace("+cluster", "")
    redis = ClusterRedis(url, lambda one: RecordingWire(one, log), timeout_s=1, retry_after_s=1)
    first: Command = ("GET", "kith:x:own:1:{1}")
    rest: list[Command] = [("MGET", *(f"kith:x:counts:1:{{{user}}}" for user in range(20)))]
    try:
        await redis.ping()
        log.clear()
        answer = await redis.after(first, rest)
    finally:
        await redis.close()
    assert answer == [None, [None] * 20]
    assert log[:2] == [("sent", first), ("answered", first)]
    assert len(log) == 2 * 21
