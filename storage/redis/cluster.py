"""A Redis Cluster: the users' keys on many servers, each reached and guarded by itself.

redis-py knows which server has which slot. Commands go to it as they go to a single server; what is
refused there, because its slot is moving or has moved, redis-py sends after it. A server that is
away is away for its own users: the others' caches answer. Knows nothing of caches.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import suppress
from itertools import chain
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio.cluster import RedisCluster
from redis.exceptions import RedisClusterException, RedisError

from graph.errors import Unavailable
from storage.redis.connection import PART, Debt, Debts, GuardedRedis
from storage.redis.wire import Command, Misplaced, Reply, Wire, rejoined, singly

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""For one look at who has what: each server that does not answer takes a part of it."""

_WRONG = (RedisError, RedisClusterException, OSError, TimeoutError)


class ClusterRedis:
    """Keeps `Servers`. Each command names one key, or keys of one slot.

    The commands of a pipeline run beside each other, but those to one server in their order.
    """

    def __init__(
        self, url: str, wire_to: Callable[[str], Wire], timeout_s: float, retry_after_s: float
    ) -> None:
        self._url = urlsplit(url)
        self._wire_to = wire_to
        self._timeout_s = timeout_s
        self._retry_after_s = retry_after_s
        self._cluster = _client(url, timeout_s)
        self._is_known = False
        """Whether redis-py has ever found the servers."""
        self._looking: asyncio.Task[None] | None = None
        self._servers: dict[str, GuardedRedis] = {}
        self._unplaced = Debts()
        """Of keys whose servers are not known."""
        self._clock, self._next_look = time.monotonic, 0.0
        self._followed = self._failed = 0

    @property
    def round_trips(self) -> int:
        return self._followed + sum(server.round_trips for server in self._servers.values())

    @property
    def failures(self) -> int:
        return self._failed + sum(server.failures for server in self._servers.values())

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        if not commands:
            return []
        await self._found()
        return rejoined(commands, await self._dealt(singly(commands)))

    async def after(self, first: Command, commands: Sequence[Command]) -> list[Reply]:
        return [*await self.pipe([first]), *await self.pipe(commands)]

    async def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        for server in await self._all():
            async for keys in server.scan(pattern, most):
                yield keys

    def owe(self, keys: Collection[str], debt: Debt = Debt.EDGES) -> None:
        for key in keys:
            address = self._address_of(key)
            if address is None:
                self._unplaced.add([key], debt)
            else:
                self._server(address).owe([key], debt)

    async def ping(self) -> None:
        await asyncio.gather(*(server.ping() for server in await self._all()))

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        for server in self._servers.values():
            await server.close()
        await self._cluster.aclose()

    async def _found(self) -> None:
        """Returns once it is known which servers there are. Raises Unavailable."""
        if self._is_known:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await asyncio.shield(self._look_again())
        if not self._is_known:
            raise self._unavailable()

    def _look_again(self) -> asyncio.Task[None]:
        """Something has moved: the look for it that is under way, or was a moment ago."""
        if self._looking is None or (self._looking.done() and self._clock() >= self._next_look):
            self._looking = asyncio.create_task(self._look())
        return self._looking

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await self._cluster.aclose()  # what it believed until now
                await self._cluster.initialize()
            self._is_known = True
            await self._rearrange()
        except _WRONG as error:
            log.warning("the servers of the cluster are not to be found: %s", error)
        finally:
            self._next_look = self._clock() + self._retry_after_s

    async def _rearrange(self) -> None:
        """What is owed goes to who has the keys now; who has none is left."""
        owed = [self._unplaced.taken(), *(server.forgiven() for server in self._servers.values())]
        here = {node.name for node in self._cluster.get_primaries()}
        gone = [self._servers.pop(address) for address in self._servers.keys() - here]
        for debts in owed:
            for debt, keys in debts.items():
                self.owe(keys, debt)
        for server in gone:
            self._failed += server.failures
            self._followed += server.round_trips
            await server.close()

    async def _dealt(self, commands: Sequence[Command]) -> list[Reply]:
        """Each command to the server that has its key."""
        turns: dict[GuardedRedis, list[int]] = {}
        for turn, command in enumerate(commands):
            turns.setdefault(self._server_of(command), []).append(turn)
        answers = await asyncio.gather(
            *(
                self._asked(server, [commands[turn] for turn in its])
                for server, its in turns.items()
            ),
            return_exceptions=True,  # nothing is left behind on its way
        )
        replies: list[Reply] = [None] * len(commands)
        for its, answer in zip(turns.values(), answers, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            for turn, reply in zip(its, answer, strict=True):
                replies[turn] = reply
        return replies

    async def _asked(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        try:
            return await server.pipe(commands)
        except Misplaced:
            return await self._follow(server, commands)
        except Unavailable:
            self._look_again()
            raise

    async def _follow(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        """Sends commands, and before them what is owed, to wherever their keys are now.

        Some have run already, and all may run twice: of what is sent here nothing minds.
        """
        self._look_again()
        owed, send = server.forgiven(), self._cluster.execute_command
        try:
            async with asyncio.timeout(self._timeout_s):
                for key in chain.from_iterable(owed.values()):
                    await send("UNLINK", key)
                replies = [await send(*command) for command in commands]
        except _WRONG as error:
            for debt, keys in owed.items():
                self.owe(keys, debt)
            raise self._unavailable() from error
        self._followed += len(commands)
        return replies

    async def _all(self) -> list[GuardedRedis]:
        await self._found()
        return [self._server(node.name) for node in self._cluster.get_primaries()]

    def _server_of(self, command: Command) -> GuardedRedis:
        """Raises Unavailable where nobody has the key's slot."""
        address = self._address_of(str(command[3] if command[0] == "EVAL" else command[1]))
        if address is None:
            self._look_again()
            raise self._unavailable()
        return self._server(address)

    def _address_of(self, key: str) -> str | None:
        try:
            node = self._cluster.get_node_from_key(key)
        except RedisClusterException:
            return None  # nobody has its slot, or it is not known yet who has
        return node.name if node else None

    def _server(self, address: str) -> GuardedRedis:
        if address not in self._servers:
            credentials, at, _ = self._url.netloc.rpartition("@")
            url = urlunsplit(self._url._replace(netloc=f"{credentials}{at}{address}"))
            self._servers[address] = GuardedRedis(self._wire_to(url), self._retry_after_s)
        return self._servers[address]

    def _unavailable(self) -> Unavailable:
        self._failed += 1
        return Unavailable(PART)


def _client(url: str, timeout_s: float) -> RedisCluster:
    client: RedisCluster = RedisCluster.from_url(
        url,
        require_full_coverage=False,  # the users of whom a server is away are read from the tables
        cluster_error_retry_attempts=1,
        connection_error_retry_attempts=0,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        client_name="kith",
    )
    for command in ("HGETALL", "SET"):  # replies as the server sends them
        client.response_callbacks.pop(command)
    return client
