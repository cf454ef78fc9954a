"""Run a Valkey cluster: several servers, each with a part of the slots."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from devstack.binaries import find_valkey
from tests.support.ports import free_ports
from tests.support.waiting import until

SLOTS = 16_384
SIZE = 3


@dataclass
class ClusterServer:
    """A server of the cluster."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start or restart the server, with its cluster configuration and without keys."""
        file = (await find_valkey(None)).file
        self.process = subprocess.Popen(  # noqa: ASYNC220 - it outlives the loop that starts it
            [
                *(str(file), "--port", str(self.port), "--bind", "127.0.0.1"),
                *("--dir", str(self.folder), "--save", "", "--cluster-enabled", "yes"),
                *("--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"),
            ],
            stdout=subprocess.DEVNULL,
        )
        await until(self._answers, f"the server on port {self.port} answers")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop the process by SIGSTOP: it keeps its data, and does not respond."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    async def ask(self, *command: str | int) -> Any:
        async with Redis(port=self.port, decode_responses=True) as client:
            return await client.execute_command(*command)  # type: ignore[no-untyped-call]

    async def is_ready(self) -> bool:
        """Whether the server serves its slots and knows the servers of all others."""
        result = str(await self.ask("CLUSTER", "INFO")).split()
        return {"cluster_state:ok", f"cluster_slots_ok:{SLOTS}"} <= set(result)

    async def _answers(self) -> bool:
        try:
            return bool(await self.ask("PING"))
        except RedisConnectionError:
            return False


@dataclass
class Cluster:
    servers: list[ClusterServer]
    address: str | None = None
    """The URL for clients, if not that of the first server."""
    replicas: list[ClusterServer] = field(default_factory=list)
    """One replica for each server, in the same order."""

    @property
    def url(self) -> str:
        return self.address or f"redis+cluster://127.0.0.1:{self.servers[0].port}"

    async def is_whole(self) -> bool:
        return all([await server.is_ready() for server in self.servers])

    async def empty(self) -> None:
        for server in self.servers:
            await server.ask("FLUSHALL")

    async def begin_move(self, slot: int, source: ClusterServer, target: ClusterServer) -> None:
        """Begin to move a slot. The source then redirects requests for keys that it lacks."""
        names = [await one.ask("CLUSTER", "MYID") for one in (source, target)]
        await target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
        await source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])

    async def end_move(self, slot: int, source: ClusterServer, target: ClusterServer) -> None:
        for key in await source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000):
            await source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        name = await target.ask("CLUSTER", "MYID")
        for one in (target, source):
            await one.ask("CLUSTER", "SETSLOT", slot, "NODE", name)


@contextmanager
def running_cluster(folder: Path, *, replicated: bool = False) -> Iterator[Cluster]:
    """Servers that know each other and are empty, each with a replica if `replicated`."""
    ports = free_ports(2 * SIZE if replicated else SIZE)
    servers = [ClusterServer(port, folder / str(port)) for port in ports]
    cluster = Cluster(servers[:SIZE], replicas=servers[SIZE:])
    try:
        asyncio.run(_start(cluster))
        yield cluster
    finally:
        for server in servers:
            if server.process is not None:
                server.kill()


async def _start(cluster: Cluster) -> None:
    for number, server in enumerate(cluster.servers):
        server.folder.mkdir()
        await server.start()
        first, end = SLOTS * number // SIZE, SLOTS * (number + 1) // SIZE
        await server.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        await server.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        await server.ask("CLUSTER", "MEET", "127.0.0.1", cluster.servers[0].port)
    await until(cluster.is_whole, "the cluster is whole")
    for replica, primary in zip(cluster.replicas, cluster.servers, strict=False):
        await _replicate(replica, primary)


async def _replicate(replica: ClusterServer, primary: ClusterServer) -> None:
    replica.folder.mkdir()
    await replica.start()
    await replica.ask("CLUSTER", "MEET", "127.0.0.1", primary.port)
    name = await primary.ask("CLUSTER", "MYID")

    async def knows_it() -> bool:
        return name in str(await replica.ask("CLUSTER", "NODES"))

    await until(knows_it, "the replica knows its primary")
    await replica.ask("CLUSTER", "REPLICATE", name)

    async def is_replicating() -> bool:
        state = await replica.ask("INFO", "replication")
        return (state["role"], state.get("master_link_status")) == ("slave", "up")

    await until(is_replicating, "the replica replicates its primary")
