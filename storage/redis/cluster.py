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
from storage.redis.connection import PART, GuardedRedis, KeyKind, PendingInvalidations
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

_SEED, _ANY = "the configured address", "any server"

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
        self._slot_map: dict[int, str] = {}
        """The slot map: the address of each slot's server. Empty until it has been read."""
        self._servers: dict[str, GuardedRedis] = {}
        self._seed = wire_to(url)
        """A connection to the seed, the configured address. It is one of the servers asked for the
        slot map."""
        self._unmapped = PendingInvalidations()
        """Pending invalidations of keys in unmapped slots."""
        self._refreshing: asyncio.Task[None] | None = None
        self._next_refresh = 0.0
        self._silent: set[str] = set()
        """Servers that did not answer the last request for the slot map."""
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

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        return rejoined(commands, await self._send_singly(commands, is_whole=True))

    async def partly(self, commands: Sequence[Command]) -> list[Reply]:
        return rejoined(commands, await self._send_singly(commands))

    async def after(self, first: Command, commands: Sequence[Command]) -> list[Reply]:
        return [*await self.partly([first]), *await self.partly(commands)]

    async def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        try:
            for server in await self._all():
                async for keys in server.scan(pattern, most):
                    yield keys
        except Misplaced as error:  # a pending invalidation names a key that has moved
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
            servers = await self._all()
        answers = await asyncio.gather(
            *(server.ping() for server in servers), return_exceptions=True
        )
        answered = {
            server for server, answer in zip(servers, answers, strict=True) if answer is None
        }
        if len(answered) < len(servers):
            self._begin_refresh()
        return lambda key: self._server_of(key) in answered

    async def ping(self) -> None:
        try:
            await asyncio.gather(*(server.ping() for server in await self._all()))
        except Misplaced as error:
            raise self._unavailable() from error

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing
        await self._seed.close()
        for server in self._servers.values():
            await server.close()

    async def _send_singly(
        self, commands: Sequence[Command], *, is_whole: bool = False
    ) -> list[Reply]:
        """The replies to the commands, each split into single keys. `is_whole`: raise if any is
        missing."""
        if not commands:
            return []
        await self._ensure_slot_map()
        replies = await self._dispatch(singly(commands), self._send_to)
        if is_whole and UNAVAILABLE in replies:
            raise Unavailable(PART)
        return replies

    async def _dispatch(self, commands: Sequence[Command], ask: Ask) -> list[Reply]:
        """Send each command to the server of its key. The reply is `UNAVAILABLE` if that server is
        unavailable or unknown."""
        turns: dict[GuardedRedis, list[int]] = {}
        has_unmapped = False
        for turn, command in enumerate(commands):
            server = self._server_of(command[3] if command[0] == CALL else command[1])
            if server is None:
                has_unmapped = True
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
        if has_unmapped:
            self._failures += 1
            self._begin_refresh()
        return replies

    async def _send_to(self, server: GuardedRedis, commands: Sequence[Command]) -> list[Reply]:
        """Send the commands to one server. If it rejects one as misplaced, send all of them again
        in order: those that have run already run twice."""
        try:
            return await server.pipe(commands)
        except Misplaced:
            await self._refreshed()
            return await self._dispatch(commands, self._send_one_by_one)
        except Unavailable:
            self._begin_refresh()
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
        try:
            (reply,) = await server.wire.send([command])
        except Misplaced as rejected:
            if rejected.at is None:
                raise
            asking: list[Command] = [("ASKING",)] if rejected.is_moving else []
            host, _, port = rejected.at.rpartition(":")
            elsewhere = self._server(self._address(host, port))
            *_, reply = await elsewhere.wire.send([*asking, command])
        return reply

    async def _ensure_slot_map(self) -> None:
        """Return once the slot map is known. Raises Unavailable."""
        if not self._slot_map:
            await self._refreshed()
            if not self._slot_map:
                raise self._unavailable()

    async def _refreshed(self) -> None:
        """Wait for a read of the slot map: the current one, a recent one, or a new one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await asyncio.shield(self._begin_refresh())

    def _begin_refresh(self) -> asyncio.Task[None]:
        if self._refreshing is None or (
            self._refreshing.done() and time.monotonic() >= self._next_refresh
        ):
            self._refreshing = asyncio.create_task(self._refresh())
        return self._refreshing

    async def _refresh(self) -> None:
        """Read the slot map from the first server that has one."""
        try:
            wires = {at: server.wire for at, server in self._servers.items()}
            for at, wire in {_SEED: self._seed, **wires}.items():
                try:
                    (ranges,) = await wire.send([("CLUSTER", "SLOTS")])
                    self._silent -= {at, _ANY}
                    if ranges:  # a replacement that is empty does not know the cluster
                        return await self._adopt(self._slot_map_in(ranges))
                except Exception as error:  # another server may answer
                    self._warn_of(at, error)
            self._warn_of(_ANY, "no server knows")
        finally:
            self._next_refresh = time.monotonic() + self._retry_after_s

    def _warn_of(self, at: str, reason: object) -> None:
        """Log once for each outage."""
        if at not in self._silent:
            log.warning("cannot read the cluster's slots from %s: %s", at, reason)
        self._silent.add(at)

    def _slot_map_in(self, ranges: Sequence[Sequence[Any]]) -> dict[int, str]:
        """The slot map in a server's reply to CLUSTER SLOTS."""
        slot_map: dict[int, str] = {}
        for first, last, (host, port, *_), *_ in ranges:
            slot_map |= dict.fromkeys(range(first, last + 1), self._address(host, port))
        return slot_map

    async def _adopt(self, slot_map: dict[int, str]) -> None:
        """Adopt a slot map: move pending invalidations to the keys' new servers, and close unused
        servers."""
        if slot_map == self._slot_map:
            return
        pending = [
            self._unmapped.take_all(),
            *(server.take_pending() for server in self._servers.values()),
        ]
        self._slot_map = slot_map
        self._silent &= {_SEED, *slot_map.values()}
        gone = [self._servers.pop(address) for address in self._servers.keys() - slot_map.values()]
        for by_kind in pending:
            for kind, keys in by_kind.items():
                self.add_pending(keys, kind)
        for server in gone:
            self._failures += server.failures
            self._closed_round_trips += server.round_trips
            await server.close()

    async def _all(self) -> list[GuardedRedis]:
        await self._ensure_slot_map()
        return [self._server(address) for address in dict.fromkeys(self._slot_map.values())]

    def _server_of(self, key: str | bytes | int) -> GuardedRedis | None:
        address = self._slot_map.get(key_slot(key if isinstance(key, bytes) else str(key).encode()))
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
        self._failures += 1
        return Unavailable(PART)
