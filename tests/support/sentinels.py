"""Run a Valkey primary with two replicas, and three sentinels that watch them."""

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from devstack.binaries import find_valkey
from tests.support.ports import free_ports
from tests.support.waiting import until

GROUP = "shop"
SERVERS, SENTINELS = 3, 3

_WATCH = f"""
sentinel monitor {GROUP} 127.0.0.1 {{primary}} 2
sentinel down-after-milliseconds {GROUP} 500
sentinel failover-timeout {GROUP} 2000
"""


@dataclass
class Group:
    """The running servers and sentinels, by port."""

    servers: dict[int, subprocess.Popen[bytes]]
    sentinels: dict[int, subprocess.Popen[bytes]]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        return f"redis+sentinel://{hosts}/{GROUP}"

    async def primary(self) -> int:
        """The port of the primary, as the first sentinel knows it."""
        address = await ask(
            next(iter(self.sentinels)), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP
        )
        return int(address[1])

    async def kill_primary(self) -> None:
        process = self.servers[await self.primary()]
        process.kill()
        process.wait()

    async def fail_over(self) -> None:
        """Promote a replica while the primary runs, which then becomes a replica."""
        before = await self.primary()
        await ask(next(iter(self.sentinels)), "SENTINEL", "FAILOVER", GROUP)

        async def is_replica() -> bool:
            try:
                return bool((await ask(before, "ROLE"))[0] == "slave")
            except RedisConnectionError:  # it closes its connections when it becomes a replica
                return False

        await until(is_replica, "the old primary is a replica")

    async def is_ready(self) -> bool:
        """Whether all sentinels know each other and both replicas."""
        for port in self.sentinels:
            known = await ask(port, "SENTINEL", "MASTER", GROUP)
            if isinstance(known, list):
                known = dict(zip(known[::2], known[1::2], strict=True))
            counts = (int(known["num-slaves"]), int(known["num-other-sentinels"]))
            if counts != (SERVERS - 1, SENTINELS - 1):
                return False
        return True


@asynccontextmanager
async def running_sentinels(folder: Path) -> AsyncIterator[Group]:
    ports = free_ports(SERVERS + SENTINELS)
    group = Group({}, {})
    file = str((await find_valkey(None)).file)
    try:
        primary = ports[0]
        for port in ports[:SERVERS]:
            replica_options = [] if port == primary else ["--replicaof", f"127.0.0.1 {primary}"]
            group.servers[port] = _start(file, folder, port, *replica_options)
            await until(partial(_answers, port), "a server answers")
        for port in ports[SERVERS:]:
            configuration = folder / f"{port}.conf"
            configuration.write_text(f"port {port}\n{_WATCH.format(primary=primary)}")
            group.sentinels[port] = _start(file, folder, port, configuration=configuration)
            await until(partial(_answers, port), "a sentinel answers")
        await until(group.is_ready, "the sentinels know all servers")
        yield group
    finally:
        for process in (*group.sentinels.values(), *group.servers.values()):
            process.kill()
            process.wait()


def _start(
    file: str, folder: Path, port: int, *options: str, configuration: Path | None = None
) -> subprocess.Popen[bytes]:
    data_folder = folder / str(port)
    data_folder.mkdir()
    first = [] if configuration is None else [str(configuration), "--sentinel"]
    return subprocess.Popen(
        [
            *(file, *first, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(data_folder)),
            *(() if configuration else ("--save", "", "--repl-diskless-sync-delay", "0")),
            *options,
        ],
        stdout=subprocess.DEVNULL,
    )


async def _answers(port: int) -> bool:
    try:
        return bool(await ask(port, "PING"))
    except RedisConnectionError:
        return False


async def ask(port: int, *command: str) -> Any:
    async with Redis(port=port, decode_responses=True) as client:
        return await client.execute_command(*command)  # type: ignore[no-untyped-call]
