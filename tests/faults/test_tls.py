"""Redis over TLS: one server with `rediss://`, and a cluster with `rediss+cluster://`."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.exceptions import RedisError

from graph.errors import Unavailable
from graph.lane import lane_of
from storage.ports.reader import ProfilesOf
from storage.queue import arq_redis
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import WireError
from storage.settings import ConnectionSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows, users
from tests.support.ports import free_ports
from tests.support.tls import HOST, certificate, cluster_over_tls, server_over_tls, tls_proxy
from tests.support.valkey_cluster import Cluster

ONE, TWO = users(1, 2)
FANS = users(*range(10, 40))
DEADLINE_S = 20


async def are_cached(stores: Stores) -> bool:
    """Read profiles twice. Returns whether the second read executed no statement in PostgreSQL."""
    for _ in range(2):
        before = stores.servers.postgres.statements
        found = await stores.reads.reader.read(None, ProfilesOf([TWO, *FANS]))
        assert found[TWO].counts.followers == len(FANS)
    return stores.servers.postgres.statements == before


async def test_one_server_serves_everything_over_tls(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with server_over_tls(storage_settings.redis_url, tmp_path) as url:
        settings = replace(
            storage_settings, redis_url=url, local=replace(storage_settings.local, ttl_ms=5_000)
        )
        async with open_stores(settings) as stores:
            with stores.changes.subscriptions.open(TWO) as subscription:
                await follows(stores, *((fan, TWO) for fan in FANS))
                await stores.broker.lanes.wait_until_queued()
                queue = arq_redis(settings)
                jobs = await queue.queued_jobs()
                await queue.aclose(close_connection_pool=True)
                assert [list(job.args) for job in jobs] == [[lane_of(TWO)]]
                await drain_all(stores)
                async with asyncio.timeout(DEADLINE_S):
                    await subscription.wait_for_change()
            assert await are_cached(stores)
            assert stores.servers.redis.failures == 0
            assert stores.caches.local is not None
            assert stores.caches.local.redis.failures == 0


async def test_a_cluster_serves_the_caches_over_tls(
    storage_settings: StorageSettings, own_cluster: Cluster, tmp_path: Path
) -> None:
    async with cluster_over_tls(own_cluster, tmp_path) as url:
        async with open_stores(
            replace(storage_settings, cache=replace(storage_settings.cache, url=url))
        ) as stores:
            await stores.servers.redis.ping()
            await follows(stores, *((fan, TWO) for fan in FANS))
            await drain_all(stores)
            assert await are_cached(stores)
            assert stores.servers.redis.failures == 0
        keys_of_servers = [await server.ask("DBSIZE") for server in own_cluster.servers]
        assert all(keys_of_servers), "every server has keys"


async def answers(url: str) -> bool:
    """Whether the server answers over this address. Raises WireError."""
    wire = MultiplexedWire(url, timeout_s=5)
    try:
        return await wire.send([("PING",)]) == [b"PONG"]
    finally:
        await wire.close()


async def test_a_certificate_of_another_host_is_rejected_unless_the_url_allows_it(
    redis_url: str, tmp_path: Path
) -> None:
    async with server_over_tls(redis_url, tmp_path) as url:
        assert await answers(url)
        other = url.replace("127.0.0.1", "localhost")
        reason = r"the certificate of localhost:\d+ was rejected: Hostname mismatch"
        with pytest.raises(WireError, match=reason):
            await answers(other)
        assert await answers(f"{other}&ssl_check_hostname=false")


async def test_a_certificate_of_an_unknown_authority_is_rejected_unless_the_url_allows_it(
    redis_url: str, tmp_path: Path
) -> None:
    async with server_over_tls(redis_url, tmp_path) as url:
        unverified = url.partition("&ssl_ca_certs=")[0]
        with pytest.raises(WireError, match=r"was rejected: self.signed certificate"):
            await answers(unverified)
        assert await answers(f"{unverified}&ssl_cert_reqs=none")


async def test_the_queue_rejects_a_certificate_of_another_host(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    with_timeout = replace(storage_settings, connections=ConnectionSettings(redis_timeout_s=5))
    async with server_over_tls(with_timeout.redis_url, tmp_path) as url:
        queue = arq_redis(replace(with_timeout, redis_url=url))
        assert await queue.ping()
        await queue.aclose(close_connection_pool=True)
        other = url.replace("127.0.0.1", "localhost")
        queue = arq_redis(replace(with_timeout, redis_url=other))
        with pytest.raises(RedisError, match="Hostname mismatch"):
            await queue.ping()
        await queue.aclose(close_connection_pool=True)


async def test_a_server_that_requires_a_client_certificate_gets_it(
    redis_url: str, tmp_path: Path
) -> None:
    url, (port,) = urlsplit(redis_url), free_ports(1)
    server, client = certificate(tmp_path), certificate(tmp_path)
    reach = partial(asyncio.open_unix_connection, url.path)
    async with tls_proxy(reach, server, port, client_authority=client):
        address = f"rediss://{HOST}:{port}?{url.query}&ssl_ca_certs={server}"
        with pytest.raises(WireError):
            await answers(address)
        assert await answers(f"{address}&ssl_certfile={client}&ssl_keyfile={client}")


async def test_a_lost_connection_is_replaced(redis_url: str, tmp_path: Path) -> None:
    url, (port,), file = urlsplit(redis_url), free_ports(1), certificate(tmp_path)
    reach = partial(asyncio.open_unix_connection, url.path)
    wire = MultiplexedWire(f"rediss://{HOST}:{port}?{url.query}&ssl_ca_certs={file}", timeout_s=5)
    for _ in range(2):
        async with tls_proxy(reach, file, port):
            assert await wire.send([("PING",)]) == [b"PONG"]
            lost = wire.send([("BLPOP", "kith:none", 0)])
        with pytest.raises(WireError):
            await lost
        with pytest.raises(WireError, match="cannot be reached"):
            await wire.send([("PING",)])
    await wire.close()


async def test_a_handshake_with_a_server_that_does_not_answer_times_out(tmp_path: Path) -> None:
    accepted: list[asyncio.StreamWriter] = []

    async def stay_silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)

    (port,), file = free_ports(1), certificate(tmp_path)
    wire = MultiplexedWire(f"rediss://{HOST}:{port}?ssl_ca_certs={file}", timeout_s=0.1)
    async with await asyncio.start_server(stay_silent, HOST, port):
        with pytest.raises(WireError, match=rf"{HOST}:{port} did not answer within 0\.1 s"):
            await wire.send([("PING",)])
        for writer in accepted:
            writer.close()


async def test_a_server_with_an_untrusted_certificate_is_not_used(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with server_over_tls(storage_settings.redis_url, tmp_path) as url:
        others = url.partition("ssl_ca_certs=")[0] + f"ssl_ca_certs={certificate(tmp_path)}"
        settings = replace(storage_settings, cache=replace(storage_settings.cache, url=others))
        async with open_stores(settings) as stores:
            await follows(stores, *((fan, TWO) for fan in FANS))
            await drain_all(stores)
            assert not await are_cached(stores)
            with pytest.raises(Unavailable):
                await stores.servers.redis.ping()
