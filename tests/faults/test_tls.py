"""Redis over TLS: `rediss://` for everything, and `rediss+cluster://` for the caches."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from graph.errors import Unavailable
from graph.lane import lane_of
from storage.ports import ProfilesOf
from storage.queue import arq_redis
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows, users
from tests.support.tls import certificate, cluster_over_tls, server_over_tls
from tests.support.valkey_cluster import Cluster

ONE, TWO = users(1, 2)
FANS = users(*range(10, 40))
DEADLINE_S = 20


async def are_cached(stores: Stores) -> bool:
    """Whether what is asked again is not asked of the tables again."""
    for _ in range(2):
        before = stores.servers.postgres.statements
        found = await stores.reads.reader.read(None, ProfilesOf([TWO, *FANS]))
        assert found[TWO].counts.followers == len(FANS)
    return stores.servers.postgres.statements == before


async def test_one_server_serves_everything_over_tls(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with server_over_tls(storage_settings.redis_url, tmp_path) as url:
        settings = replace(storage_settings, redis_url=url, hot_ttl_ms=5_000)
        async with open_stores(settings) as stores:
            assert stores.caches.local is None, "it has no one connection to remember by"
            with stores.changes.subscriptions.of(TWO) as subscription:
                await follows(stores, *((fan, TWO) for fan in FANS))
                await stores.broker.lanes.woken()
                queue = arq_redis(settings)
                jobs = await queue.queued_jobs()
                await queue.aclose(close_connection_pool=True)
                assert [list(job.args) for job in jobs] == [[lane_of(TWO)]]
                await drain_all(stores)
                async with asyncio.timeout(DEADLINE_S):
                    await subscription.news()
            assert await are_cached(stores)
            assert stores.servers.redis.failures == 0


async def test_a_cluster_serves_the_caches_over_tls(
    storage_settings: StorageSettings, own_cluster: Cluster, tmp_path: Path
) -> None:
    async with cluster_over_tls(own_cluster, tmp_path) as url:
        async with open_stores(replace(storage_settings, cache_url=url)) as stores:
            await stores.servers.redis.ping()
            await follows(stores, *((fan, TWO) for fan in FANS))
            await drain_all(stores)
            assert await are_cached(stores)
            assert stores.servers.redis.failures == 0
        spread = [await server.ask("DBSIZE") for server in own_cluster.servers]
        assert all(spread), "every server has a part"


async def test_whose_certificate_nobody_has_vouched_for_is_not_talked_to(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with server_over_tls(storage_settings.redis_url, tmp_path) as url:
        others = url.partition("ssl_ca_certs=")[0] + f"ssl_ca_certs={certificate(tmp_path)}"
        settings = replace(storage_settings, cache_url=others)
        async with open_stores(settings) as stores:
            await follows(stores, *((fan, TWO) for fan in FANS))
            await drain_all(stores)
            assert not await are_cached(stores)
            with pytest.raises(Unavailable):
                await stores.servers.redis.ping()
