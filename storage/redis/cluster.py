"""A Redis Cluster client: the users' keys on many servers, each with its own connection and
breaker.

It follows redirections while slots migrate. If one server is unavailable, only the keys on it are:
the caches on the other servers still answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

from graph.errors import Unavailable
from storage.redis.connection import REDIS, GuardedRedis, KeyKind, PendingInvalidations
from storage.redis.scripts import CALL
from storage.redis.slot_map import SEED, SlotMap
from storage.redis.wire import (
    UNAVAILABLE,
    Command,
    Redirected,
    Reply,
    Wire,
    WireError,
    join_replies,
    split_by_key,
)

SendTo = Callable[[GuardedRedis, Sequence[Command]], Awaitable[list[Reply]]]


class ClusterRedis:
    """Implements `RedisServers`. Each command names one key or keys of one slot, except MGET and
    UNLINK, which are split into single keys.

    Commands to different servers run concurrently; commands to one server run in order.
    """

    def __init__(
        self, url: str, wire_to: Callable[[str], Wire], timeout_s: float, retry_after_s: float
    ) -> None:
        self._url = urlsplit(url)
        self._wire_to = wire_to
        self._timeout_s = timeout_s
        self._retry_after_s = retry_after_s
        self._servers: dict[str, GuardedRedis] = {}
        self._seed = wire_to(url)
        """A connection to the configured address, which is also asked for the slot map."""
        self._slots = SlotMap(
            self._url.hostname, self._wires, self._on_new_slots, timeout_s, retry_after_s
        )
        self._unmapped = PendingInvalidations()
        """Pending invalidations of keys in unmapped slots."""
        self._closed_round_trips = self._failures = 0

    @property
    def round_trips(self) -> int:
        return (
            self._closed_round_trips
            + self._seed.round_trips
            + sum(server.round_trips for server in self._servers.values())
        )

    @property
    def failures(self) -> int:
        return self._failures + sum(server.failures for server in self._servers.values())

    @property
    def open_breakers(self) -> int:
        return sum(server.open_breakers for server in self._servers.values())

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        return join_replies(commands, await self._send_by_key(commands, needs_all=True))

    async def partly(self, commands: Sequence[Command]) -> list[Reply]:
        return join_replies(commands, await self._send_by_key(commands))

    async def after(self, first: Command, commands: Sequence[Command]) -> list[Reply]:
        return [*await self.partly([first]), *await self.partly(commands)]

    async def scan(self, pattern: str, limit: int) -> AsyncIterator[list[bytes]]:
        try:
            for server in await self._all_servers():
                async for keys in server.scan(pattern, limit):
                    yield keys
        except Redirected as error:  # a pending invalidation names a key that has moved
            raise self._unavailable() from error

    def add_pending(self, keys: Collection[str], kind: KeyKind = KeyKind.EDGES) -> None:
        for key in keys:
            server = self._server_of(key)
            if server is None:
                self._unmapped.add([key], kind)
            else:
                server.add_pending([key], kind)

    async def reachable(self) -> Callable[[str], bool]:
        servers: list[GuardedRedis] = []
        with suppress(Unavailable):
            servers = await self._all_servers()
        answers = await asyncio.gather(
            *(server.ping() for server in servers), return_exceptions=True
        )
        answered = {
            server for server, answer in zip(servers, answers, strict=True) if answer is None
        }
        if len(answered) < len(servers):
            self._slots.begin_refresh()
        return lambda key: self._server_of(key) in answered

    async def ping(self) -> None:
        try:
            await asyncio.gather(*(server.ping() for server in await self._all_servers()))
        except Redirected as error:
            raise self._unavailable() from error

    async def close(self) -> None:
        await self._slots.close()
        await self._seed.close()
        for server in self._servers.values():
            await server.close()

    async def _send_by_key(
        self, commands: Sequence[Command], *, needs_all: bool = False
    ) -> list[Reply]:
        """The replies to the commands, split into single keys by `split_by_key`. Raises Unavailable
        if the slot map is not known and, with `needs_all`, if the server of any key is
        unavailable."""
        if not commands:
            return []
        await self._ensure_slots()
        replies = await self._send_by_server(split_by_key(commands), self._send_to)
        if needs_all and UNAVAILABLE in replies:
            raise Unavailable(REDIS)
        return replies

    async def _send_by_server(self, commands: Sequence[Command], send_to: SendTo) -> list[Reply]:
        """Send each command to the server of its key with `send_to`. The reply is `UNAVAILABLE` if
        that server is unavailable or unknown."""
        positions: dict[GuardedRedis, list[int]] = {}
        has_unmapped = False
        for position, command in enumerate(commands):
            server = self._server_of(command[3] if command[0] == CALL else command[1])
            if server is None:
                has_unmapped = True
            else:
                positions.setdefault(server, []).append(position)
        answers = await asyncio.gather(
            *(
                send_to(server, [commands[position] for position in own_positions])
                for server, own_positions in positions.items()
            ),
            return_exceptions=True,  # no command may outlive this call
        )
        replies: list[Reply] = [UNAVAILABLE] * len(commands)
        for own_positions, answer in zip(positions.values(), answers, strict=True):
            if isinstance(answer, Unavailable):
                continue
            if isinstance(answer, BaseException):
                raise answer
            for position, reply in zip(own_positions, answer, strict=True):
                replies[position] = reply
        if has_unmapped:
            self._failures += 1
            self._slots.begin_refresh()
        return replies

    async def _send_to(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        """Send the commands to one server. If it redirects one, send all of them again in order.
        Commands that ran before the redirection run a second time."""
        try:
            return await server.pipe(commands)
        except Redirected:
            await self._slots.refresh()
            return await self._send_by_server(commands, self._send_one_by_one)
        except Unavailable:
            self._slots.begin_refresh()
            raise

    async def _send_one_by_one(
        self, server: GuardedRedis, commands: Sequence[Command]
    ) -> list[Reply]:
        """Send one command at a time, and follow each redirection."""

        async def send(commands: Sequence[Command]) -> list[Reply]:
            return [await self._follow_redirection(server, command) for command in commands]

        try:
            async with asyncio.timeout(self._timeout_s):
                await server.flush_pending(send)
                return await send(commands)
        except (WireError, TimeoutError) as error:
            raise self._unavailable() from error

    async def _follow_redirection(self, server: GuardedRedis, command: Command) -> Reply:
        """Send one command. After MOVED or ASK, send it once more to the server in the reply.

        Raises Redirected for TRYAGAIN or a second redirection.
        """
        try:
            (reply,) = await server.wire.send([command])
        except Redirected as redirected:
            if redirected.at is None:
                raise
            asking: list[Command] = [("ASKING",)] if redirected.is_ask else []
            host, _, port = redirected.at.rpartition(":")
            other_server = self._server(self._slots.address(host, port))
            *_, reply = await other_server.wire.send([*asking, command])
        return reply

    async def _ensure_slots(self) -> None:
        """Return once the slot map is known. Raises Unavailable."""
        if not self._slots.is_known:
            await self._slots.refresh()
            if not self._slots.is_known:
                raise self._unavailable()

    def _wires(self) -> dict[str, Wire]:
        return {SEED: self._seed, **{at: server.wire for at, server in self._servers.items()}}

    async def _on_new_slots(self) -> None:
        """Move pending invalidations to the keys' new servers, and close unused servers."""
        pending = [
            self._unmapped.take_all(),
            *(server.take_pending() for server in self._servers.values()),
        ]
        unused = [
            self._servers.pop(address) for address in self._servers.keys() - self._slots.addresses
        ]
        for by_kind in pending:
            for kind, keys in by_kind.items():
                self.add_pending(keys, kind)
        for server in unused:
            self._failures += server.failures
            self._closed_round_trips += server.round_trips
            await server.close()

    async def _all_servers(self) -> list[GuardedRedis]:
        await self._ensure_slots()
        return list(map(self._server, self._slots.addresses))

    def _server_of(self, key: str | bytes | int) -> GuardedRedis | None:
        address = self._slots.address_of(key)
        return self._server(address) if address else None

    def _server(self, address: str) -> GuardedRedis:
        if address not in self._servers:
            credentials, at, _ = self._url.netloc.rpartition("@")
            url = urlunsplit(self._url._replace(netloc=f"{credentials}{at}{address}"))
            self._servers[address] = GuardedRedis(
                self._wire_to(url), self._retry_after_s, is_one_of_many=True
            )
        return self._servers[address]

    def _unavailable(self) -> Unavailable:
        """Count a failure, and return the error to raise."""
        self._failures += 1
        return Unavailable(REDIS)
