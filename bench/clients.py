"""Redis clients side by side: CPU of this process per call, and answers while a server is down.

python -m bench.clients    (valkey-glide takes part if it is installed; TLS is left out)

It starts servers of its own. All clients use TCP, uvloop and the same keys. The rounds are
interleaved; a ratio is taken within a round. The figures are in docs/adr/0012 and 0019.
"""

import asyncio
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import uvloop
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster

from devstack.binaries import find_valkey
from storage.redis.cluster import ClusterRedis
from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import Command
from tests.support.valkey_cluster import Cluster, free_ports, running_cluster

OURS, REDIS_PY, GLIDE = "ours", "redis-py 5.3", "valkey-glide"
ROUNDS, CALLS, CONCURRENT = 7, 2_000, 32
FIELDS = [str(field) for field in range(100)]
KEYS = [f"key:{number}" for number in range(20)]

Read = Callable[[], Awaitable[object]]
"""Makes one call and waits for its reply."""


def cpu_us(read: Read, loop: asyncio.AbstractEventLoop) -> float:
    """CPU time of all threads of this process per call, with CONCURRENT callers."""

    async def caller() -> None:
        for _ in range(CALLS // CONCURRENT):
            await read()

    async def all_callers() -> None:
        await asyncio.gather(*(caller() for _ in range(CONCURRENT)))

    began = time.process_time()
    loop.run_until_complete(all_callers())
    return (time.process_time() - began) * 1e6 / (CALLS // CONCURRENT * CONCURRENT)


def measure(title: str, reads: Mapping[str, Read], loop: asyncio.AbstractEventLoop) -> None:
    """Print the median CPU of each client, and its ratio to ours with the half range of rounds."""
    for read in reads.values():
        cpu_us(read, loop)  # warm up
    rounds: dict[str, list[float]] = {name: [] for name in reads}
    for turn in range(ROUNDS):
        names = list(reads)
        random.Random(turn).shuffle(names)
        for name in names:
            rounds[name].append(cpu_us(reads[name], loop))
    print(f"\n{title}")
    for name, costs in rounds.items():
        ratios = [cost / ours for cost, ours in zip(costs, rounds[OURS], strict=True)]
        spread = (max(ratios) - min(ratios)) / 2
        ratio = statistics.median(ratios)
        print(f"  {name:14} {statistics.median(costs):7.0f} µs  {ratio:5.2f} ± {spread:.2f}")


def one_server(port: int, loop: asyncio.AbstractEventLoop) -> None:
    """Three shapes of calls to one server."""
    wire = MultiplexedWire(f"redis://127.0.0.1:{port}", 5)
    pool = BlockingConnectionPool(host="127.0.0.1", port=port, max_connections=64, timeout=5)
    redis = Redis(connection_pool=pool)
    setup: list[Command] = [("HSET", "hash", *(part for f in FIELDS for part in (f, 3)))]
    loop.run_until_complete(wire.send([*setup, *(("SET", key, "value" * 10) for key in KEYS)]))
    glide = loop.run_until_complete(glide_client(port)) if find_spec("glide") else None

    def with_glide(ours: Read, theirs: Read, glides: Callable[[Any], Read]) -> dict[str, Read]:
        return {OURS: ours, REDIS_PY: theirs, **({GLIDE: glides(glide)} if glide else {})}

    measure(
        "1 GET",
        with_glide(
            lambda: wire.send([("GET", KEYS[0])]),
            partial(redis.get, KEYS[0]),
            lambda glide: partial(glide.get, KEYS[0]),
        ),
        loop,
    )
    measure(
        "1 HMGET of 100 fields",
        with_glide(
            lambda: wire.send([("HMGET", "hash", *FIELDS)]),
            lambda: redis.hmget("hash", FIELDS),  # type: ignore[arg-type, return-value]
            lambda glide: partial(glide.hmget, "hash", FIELDS),
        ),
        loop,
    )
    gets: list[Command] = [("GET", key) for key in KEYS]
    measure(
        "20 GETs in a pipeline",
        with_glide(
            lambda: wire.send(gets),
            lambda: redis_py_pipeline(redis),
            lambda glide: partial(glide_batch, glide, "Batch"),
        ),
        loop,
    )
    loop.run_until_complete(asyncio.gather(wire.close(), redis.aclose()))


def cluster_of_three(cluster: Cluster, loop: asyncio.AbstractEventLoop) -> None:
    """20 keys on three servers, then the same with one of them killed."""
    port = cluster.servers[0].port
    url = f"redis://127.0.0.1:{port}"
    ours = ClusterRedis(url, lambda one: MultiplexedWire(one, 0.5), 0.5, retry_after_s=0.25)
    theirs = RedisCluster.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5)
    gets: list[Command] = [("GET", key) for key in KEYS]
    loop.run_until_complete(ours.pipe([("SET", key, "value" * 10) for key in KEYS]))
    reads: dict[str, Read] = {
        OURS: partial(ours.partly, gets),
        REDIS_PY: partial(redis_py_pipeline, theirs),
    }
    if find_spec("glide"):
        glide = loop.run_until_complete(glide_client(port, "Cluster"))
        reads[GLIDE] = partial(glide_batch, glide, "ClusterBatch")
    measure("20 GETs on three servers of a cluster", reads, loop)
    cluster.servers[-1].kill()
    print("\n20 GETs, 50 times at pauses of 20 ms, after one of three servers was killed")
    for name, read in reads.items():
        print(f"  {name:14} {loop.run_until_complete(answers(read))}")
    loop.run_until_complete(asyncio.gather(ours.close(), theirs.aclose()))


async def answers(read: Read) -> str:
    """How many values 50 reads have returned, and how long they took."""
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
    glide = import_module("glide")
    configuration = getattr(glide, f"Glide{kind}ClientConfiguration")(
        [glide.NodeAddress("127.0.0.1", port)], request_timeout=500
    )
    return await getattr(glide, f"Glide{kind}Client").create(configuration)


async def glide_batch(client: Any, kind: str) -> object:
    batch = getattr(import_module("glide"), kind)(is_atomic=False)
    for key in KEYS:
        batch.get(key)
    return await client.exec(batch, raise_on_error=False)


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, {sys.platform}")
    with tempfile.TemporaryDirectory() as folder:
        with plain_server() as port, new_loop() as loop:
            one_server(port, loop)
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
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.01)
        yield port
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
