"""A Redis Cluster client: the users' keys on many servers, each with its own connection and
breaker.

It follows redirections while slots migrate. If one server is unavailable, only the keys on it are:
the caches on the other servers still answer.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.crc import key_slot

from graph.errors import Unavailable
from storage.redis.connection import PART, Debt, Debts, GuardedRedis
from storage.redis.scripts import CALL
from storage.redis.wire import (
    UNAVAILABLE,
    Command,
    Misplaced,
    Reply,
    Wire,
    WireError,
    rejoined,
    singly,
)

log = logging.getLogger(__name__)

_DOOR, _NOBODY = "where the address leads to", "anybody"

Ask = Callable[[GuardedRedis, Sequence[Command]], Awaitable[list[Reply]]]


class ClusterRedis:
    """Implements `Servers`. Each command names one key, or keys of one slot.

    Commands to different servers run concurrently; commands to one server run in order.
    """

    def __init__(
        self, url: str, wire_to: Callable[[str], Wire], timeout_s: float, retry_after_s: float
    ) -> None:
        self._url = urlsplit(url)
        self._wire_to = wire_to
        self._timeout_s = timeout_s
        self._retry_after_s = retry_after_s
        self._homes: dict[int, str] = {}
        """The slot map: the address of each slot's server. Empty until it has been read."""
        self._servers: dict[str, GuardedRedis] = {}
        self._door = wire_to(url)
        """A connection to the seed, the configured address. It is one of the servers asked for the
        slot map."""
        self._unplaced = Debts()
        """Pending invalidations of keys in unmapped slots."""
        self._looking: asyncio.Task[None] | None = None
        self._next_look = 0.0
        self._silent: set[str] = set()
        """Servers that did not answer the last request for the slot map."""
        self._left = self._failed = 0

    @property
    def round_trips(self) -> int:
        return (
            self._left
            + self._door.round_trips
            + sum(server.round_trips for server in self._servers.values())
        )

    @property
    def failures(self) -> int:
        return self._failed + sum(server.failures for server in self._servers.values())

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        return rejoined(commands, await self._singly(commands, is_whole=True))

    async def partly(self, commands: Sequence[Command]) -> list[Reply]:
        return rejoined(commands, await self._singly(commands))

    async def after(self, first: Command, commands: Sequence[Command]) -> list[Reply]:
        return [*await self.partly([first]), *await self.partly(commands)]

    async def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        try:
            for server in await self._all():
                async for keys in server.scan(pattern, most):
                    yield keys
        except Misplaced as error:  # a pending invalidation names a key that has moved
            raise self._unavailable() from error

    def owe(self, keys: Collection[str], debt: Debt = Debt.EDGES) -> None:
        for key in keys:
            server = self._home(key)
            if server is None:
                self._unplaced.add([key], debt)
            else:
                server.owe([key], debt)

    async def present(self) -> Callable[[str], bool]:
        servers: list[GuardedRedis] = []
        with suppress(Unavailable):
            servers = await self._all()
        answers = await asyncio.gather(
            *(server.ping() for server in servers), return_exceptions=True
        )
        there = {server for server, answer in zip(servers, answers, strict=True) if answer is None}
        if len(there) < len(servers):
            self._begin_look()
        return lambda key: self._home(key) in there

    async def ping(self) -> None:
        try:
            await asyncio.gather(*(server.ping() for server in await self._all()))
        except Misplaced as error:
            raise self._unavailable() from error

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await self._door.close()
        for server in self._servers.values():
            await server.close()

    async def _singly(self, commands: Sequence[Command], *, is_whole: bool = False) -> list[Reply]:
        """The replies to the commands, each split into single keys. `is_whole`: raise if any is
        missing."""
        if not commands:
            return []
        await self._known()
        replies = await self._dealt(singly(commands), self._asked)
        if is_whole and UNAVAILABLE in replies:
            raise Unavailable(PART)
        return replies

    async def _dealt(self, commands: Sequence[Command], ask: Ask) -> list[Reply]:
        """Send each command to the server of its key. The reply is `UNAVAILABLE` if that server is
        unavailable or unknown."""
        turns: dict[GuardedRedis, list[int]] = {}
        homeless = False
        for turn, command in enumerate(commands):
            server = self._home(command[3] if command[0] == CALL else command[1])
            if server is None:
                homeless = True
            else:
                turns.setdefault(server, []).append(turn)
        answers = await asyncio.gather(
            *(ask(server, [commands[turn] for turn in its]) for server, its in turns.items()),
            return_exceptions=True,  # no command may outlive this call
        )
        replies: list[Reply] = [UNAVAILABLE] * len(commands)
        for its, answer in zip(turns.values(), answers, strict=True):
            if isinstance(answer, Unavailable):
                continue
            if isinstance(answer, BaseException):
                raise answer
            for turn, reply in zip(its, answer, strict=True):
                replies[turn] = reply
        if homeless:
            self._failed += 1
            self._begin_look()
        return replies

    async def _asked(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        """Send the commands to one server. If it rejects one as misplaced, send all of them again
        in order: those that have run already run twice."""
        try:
            return await server.pipe(commands)
        except Misplaced:
            await self._look_again()
            return await self._dealt(commands, self._followed)
        except Unavailable:
            self._begin_look()
            raise

    async def _followed(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        """Send one command at a time, and follow each redirection."""

        async def send(commands: Sequence[Command]) -> list[Reply]:
            return [await self._follow(server, command) for command in commands]

        try:
            async with asyncio.timeout(self._timeout_s):
                await server.pay(send)
                return await send(commands)
        except (WireError, TimeoutError) as error:
            raise self._unavailable() from error

    async def _follow(self, server: GuardedRedis, command: Command) -> Reply:
        try:
            (reply,) = await server.wire.send([command])
        except Misplaced as refused:
            if refused.at is None:
                raise
            asking: list[Command] = [("ASKING",)] if refused.is_moving else []
            host, _, port = refused.at.rpartition(":")
            elsewhere = self._server(self._address(host, port))
            *_, reply = await elsewhere.wire.send([*asking, command])
        return reply

    async def _known(self) -> None:
        """Return once the slot map is known. Raises Unavailable."""
        if not self._homes:
            await self._look_again()
            if not self._homes:
                raise self._unavailable()

    async def _look_again(self) -> None:
        """Wait for a read of the slot map: the current one, a recent one, or a new one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await asyncio.shield(self._begin_look())

    def _begin_look(self) -> asyncio.Task[None]:
        if self._looking is None or (self._looking.done() and time.monotonic() >= self._next_look):
            self._looking = asyncio.create_task(self._look())
        return self._looking

    async def _look(self) -> None:
        """Read the slot map from the first server that has one."""
        try:
            wires = {at: server.wire for at, server in self._servers.items()}
            for at, wire in {_DOOR: self._door, **wires}.items():
                try:
                    (ranges,) = await wire.send([("CLUSTER", "SLOTS")])
                    self._silent -= {at, _NOBODY}
                    if ranges:  # a replacement that is empty does not know the cluster
                        return await self._arrange(self._homes_in(ranges))
                except Exception as error:  # another server may answer
                    self._warn_of(at, error)
            self._warn_of(_NOBODY, "no server knows")
        finally:
            self._next_look = time.monotonic() + self._retry_after_s

    def _warn_of(self, at: str, reason: object) -> None:
        """Log once for each outage."""
        if at not in self._silent:
            log.warning("cannot read the cluster's slots from %s: %s", at, reason)
        self._silent.add(at)

    def _homes_in(self, ranges: Sequence[Sequence[Any]]) -> dict[int, str]:
        """The slot map in a server's reply to CLUSTER SLOTS."""
        homes: dict[int, str] = {}
        for first, last, (host, port, *_), *_ in ranges:
            homes |= dict.fromkeys(range(first, last + 1), self._address(host, port))
        return homes

    async def _arrange(self, homes: dict[int, str]) -> None:
        """Adopt a slot map: move pending invalidations to the keys' new servers, and close unused
        servers."""
        if homes == self._homes:
            return
        owed = [self._unplaced.taken(), *(server.forgiven() for server in self._servers.values())]
        self._homes = homes
        self._silent &= {_DOOR, *homes.values()}
        gone = [self._servers.pop(address) for address in self._servers.keys() - homes.values()]
        for debts in owed:
            for debt, keys in debts.items():
                self.owe(keys, debt)
        for server in gone:
            self._failed += server.failures
            self._left += server.round_trips
            await server.close()

    async def _all(self) -> list[GuardedRedis]:
        await self._known()
        return [self._server(address) for address in dict.fromkeys(self._homes.values())]

    def _home(self, key: str | bytes | int) -> GuardedRedis | None:
        address = self._homes.get(key_slot(key if isinstance(key, bytes) else str(key).encode()))
        return self._server(address) if address else None

    def _server(self, address: str) -> GuardedRedis:
        if address not in self._servers:
            credentials, at, _ = self._url.netloc.rpartition("@")
            url = urlunsplit(self._url._replace(netloc=f"{credentials}{at}{address}"))
            self._servers[address] = GuardedRedis(
                self._wire_to(url), self._retry_after_s, is_one_of_many=True
            )
        return self._servers[address]

    def _address(self, host: bytes | str | None, port: int | str) -> str:
        """The address in a server's reply. A server that does not know its host has the seed's."""
        named = host.decode() if isinstance(host, bytes) else host
        if named in (None, "", "?"):
            named = self._url.hostname
        return f"[{named}]:{port}" if ":" in str(named).strip("[]") else f"{named}:{port}"

    def _unavailable(self) -> Unavailable:
        self._failed += 1
        return Unavailable(PART)
