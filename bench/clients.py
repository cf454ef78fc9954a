"""Redis clients side by side: CPU of this process per call, and answers while a server is down.

python -m bench.clients    (valkey-glide takes part if it is installed)

It starts servers of its own. All clients use TCP, uvloop and the same keys. TLS ends in a proxy, a
process of its own, because the server has none. The figures are in docs/adr/0012 and 0019.
"""

import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvloop
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster

from bench.side_by_side import OURS, Call, measure
from devstack.binaries import find_valkey
from storage.redis.cluster import ClusterRedis
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command
from tests.support.ports import free_ports
from tests.support.tls import certificate, tls_proxy
from tests.support.valkey_cluster import Cluster, running_cluster

REDIS_PY, GLIDE = "redis-py 5.3", "valkey-glide"
CALLS, CONCURRENT = 2_000, 32
FIELDS = [str(field) for field in range(100)]
KEYS = [f"key:{number}" for number in range(20)]


def one_server(port: int, loop: asyncio.AbstractEventLoop) -> None:
    """Measure a GET, an HMGET of 100 fields and a pipeline of 20 GETs on one server."""
    run = loop.run_until_complete
    wire = MultiplexedWire(f"redis://127.0.0.1:{port}", 5)
    pool = BlockingConnectionPool(host="127.0.0.1", port=port, max_connections=64, timeout=5)
    redis = Redis(connection_pool=pool)
    setup: list[Command] = [("HSET", "hash", *(part for f in FIELDS for part in (f, 3)))]
    loop.run_until_complete(wire.send([*setup, *(("SET", key, "value" * 10) for key in KEYS)]))
    glide = loop.run_until_complete(glide_client(port)) if find_spec("glide") else None

    def with_glide(ours: Call, theirs: Call, glides: Callable[[Any], Call]) -> dict[str, Call]:
        return {OURS: ours, REDIS_PY: theirs, **({GLIDE: glides(glide)} if glide else {})}

    get = with_glide(
        lambda: wire.send([("GET", KEYS[0])]),
        partial(redis.get, KEYS[0]),
        lambda glide: partial(glide.get, KEYS[0]),
    )
    run(measure("1 GET", get, CALLS, 1))
    run(measure("1 GET", get, CALLS, CONCURRENT))
    hmget = with_glide(
        lambda: wire.send([("HMGET", "hash", *FIELDS)]),
        lambda: redis.hmget("hash", FIELDS),  # type: ignore[arg-type, return-value]
        lambda glide: partial(glide.hmget, "hash", FIELDS),
    )
    run(measure("1 HMGET of 100 fields", hmget, CALLS, CONCURRENT))
    gets: list[Command] = [("GET", key) for key in KEYS]
    pipeline = with_glide(
        lambda: wire.send(gets),
        lambda: redis_py_pipeline(redis),
        lambda glide: partial(glide_batch, glide, "Batch"),
    )
    run(measure("20 GETs in a pipeline", pipeline, CALLS, CONCURRENT))
    loop.run_until_complete(asyncio.gather(wire.close(), redis.aclose()))


def cluster_of_three(cluster: Cluster, loop: asyncio.AbstractEventLoop) -> None:
    """Measure a pipeline of 20 GETs, whose keys are on three servers, then kill one of them and
    read the same keys."""
    port = cluster.servers[0].port
    url = f"redis://127.0.0.1:{port}"
    ours = ClusterRedis(url, lambda one: MultiplexedWire(one, 0.5), 0.5, retry_after_s=0.25)
    theirs = RedisCluster.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
    gets: list[Command] = [("GET", key) for key in KEYS]
    loop.run_until_complete(ours.pipe([("SET", key, "value" * 10) for key in KEYS]))
    reads: dict[str, Call] = {
        OURS: partial(ours.partly, gets),
        REDIS_PY: partial(redis_py_pipeline, theirs),
    }
    if find_spec("glide"):
        glide = loop.run_until_complete(glide_client(port, "Cluster"))
        reads[GLIDE] = partial(glide_batch, glide, "ClusterBatch")
    title = "20 GETs on three servers of a cluster"
    loop.run_until_complete(measure(title, reads, CALLS, CONCURRENT))
    cluster.servers[-1].kill()
    print("\n20 GETs, 50 times at pauses of 20 ms, after one of three servers was killed")
    for name, read in reads.items():
        print(f"  {name:14} {loop.run_until_complete(answers(read))}")
    loop.run_until_complete(asyncio.gather(ours.close(), theirs.aclose()))


async def answers(read: Call) -> str:
    """Read 50 times. Returns a text: the share of the values that came, and how long a read took.
    A read that fails or takes 5 s returns none."""
    values, waits = 0, []
    for _ in range(50):
        began = time.monotonic()
        with suppress(Exception):
            replies = await asyncio.wait_for(asyncio.ensure_future(read()), 5)
            assert isinstance(replies, list)
            values += sum(isinstance(reply, bytes) for reply in replies)
        waits.append((time.monotonic() - began) * 1000)
        await asyncio.sleep(0.02)
    share = values / (50 * len(KEYS))
    wait_ms = statistics.median(waits)
    return f"{share:4.0%} of values, median {wait_ms:.1f}, at most {max(waits):.0f} ms"


async def redis_py_pipeline(redis: Any) -> object:
    pipeline = redis.pipeline() if isinstance(redis, RedisCluster) else redis.pipeline(False)
    for key in KEYS:
        pipeline.get(key)
    return await pipeline.execute(raise_on_error=False)


async def glide_client(port: int, kind: str = "") -> Any:
    """A client of valkey-glide. `kind`: "Cluster", or empty for one server."""
    glide = import_module("glide")
    configuration = getattr(glide, f"Glide{kind}ClientConfiguration")(
        [glide.NodeAddress("127.0.0.1", port)], request_timeout=500
    )
    return await getattr(glide, f"Glide{kind}Client").create(configuration)


async def glide_batch(client: Any, batch_class: str) -> object:
    batch = getattr(import_module("glide"), batch_class)(is_atomic=False)
    for key in KEYS:
        batch.get(key)
    return await client.exec(batch, raise_on_error=False)


def over_tls(port: int, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
    """Measure one HMGET of the keys that `one_server` has set, with and without TLS."""
    file, (proxy_port,) = certificate(folder), free_ports(1)
    argv = [sys.executable, "-m", "bench.clients", str(port), str(proxy_port), str(file)]
    proxy = subprocess.Popen(argv)
    try:
        _wait_for(proxy_port)
        secure = f"rediss://127.0.0.1:{proxy_port}?ssl_ca_certs={file}"
        plain_wire = MultiplexedWire(f"redis://127.0.0.1:{port}", 5)
        wire = MultiplexedWire(secure, 5)
        pool = BlockingConnectionPool.from_url(secure, max_connections=64, timeout=5)
        redis = Redis(connection_pool=pool)
        reads: dict[str, Call] = {
            OURS: lambda: plain_wire.send([("HMGET", "hash", *FIELDS)]),
            f"{OURS}, TLS": lambda: wire.send([("HMGET", "hash", *FIELDS)]),
            f"{REDIS_PY}, TLS": partial(redis.hmget, "hash", FIELDS),  # type: ignore[dict-item]
        }
        for concurrent in (1, CONCURRENT):
            measured = measure("1 HMGET of 100 fields", reads, CALLS, concurrent)
            loop.run_until_complete(measured)
        loop.run_until_complete(asyncio.gather(wire.close(), plain_wire.close(), redis.aclose()))
    finally:
        proxy.kill()
        proxy.wait()


async def serve_proxy(port: int, proxy_port: int, file: Path) -> None:
    async with tls_proxy(partial(asyncio.open_connection, "127.0.0.1", port), file, proxy_port):
        await asyncio.Event().wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with plain_server() as port, new_loop() as loop:
            one_server(port, loop)
            over_tls(port, Path(folder), loop)
        with running_cluster(Path(folder)) as cluster, new_loop() as loop:
            cluster_of_three(cluster, loop)


@contextmanager
def new_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        loop.close()


@contextmanager
def plain_server() -> Iterator[int]:
    """The port of a Valkey that is no part of a cluster."""
    file, (port,) = asyncio.run(find_valkey(None)).file, free_ports(1)
    argv = [str(file), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port)
        yield port
    finally:
        server.kill()
        server.wait()


def _wait_for(port: int) -> None:
    while True:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.01)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [port, proxy_port, file]:
            uvloop.run(serve_proxy(int(port), int(proxy_port), Path(file)))
        case _:
            main()
