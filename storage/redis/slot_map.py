"""The slot map of a Redis Cluster: which server has which keys, as the servers report it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from redis.crc import key_slot

from storage.redis.wire import Wire

log = logging.getLogger(__name__)

SEED, _ANY = "the configured address", "any server"
"""Names in log messages, beside the addresses of servers."""


class SlotMap:
    """The address of each slot's server. It is empty until it has been read."""

    def __init__(
        self,
        seed_host: str | None,
        wires: Callable[[], Mapping[str, Wire]],
        on_change: Callable[[], Awaitable[None]],
        timeout_s: float,
        retry_after_s: float,
    ) -> None:
        """`wires`: connections to the servers that may be asked, by their addresses or SEED.
        `on_change` is awaited after each change. `timeout_s`: how long `refresh` waits.
        `retry_after_s`: the least time from the end of one refresh to the next."""
        self._seed_host = seed_host
        self._wires = wires
        self._on_change = on_change
        self._timeout_s = timeout_s
        self._retry_after_s = retry_after_s
        self._addresses: dict[int, str] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._next_refresh = 0.0
        self._silent: set[str] = set()
        """Servers that did not answer the last request for the slot map."""

    @property
    def is_known(self) -> bool:
        return bool(self._addresses)

    @property
    def addresses(self) -> list[str]:
        """Each server's address once."""
        return list(dict.fromkeys(self._addresses.values()))

    def address_of(self, key: str | bytes | int) -> str | None:
        """The address of the key's server. None if the slot is unmapped."""
        return self._addresses.get(key_slot(key if isinstance(key, bytes) else str(key).encode()))

    def address(self, host: bytes | str | None, port: int | str) -> str:
        """The address in a server's reply. If the reply has no host, it is the seed's."""
        name = host.decode() if isinstance(host, bytes) else host
        if name in (None, "", "?"):
            name = self._seed_host
        return f"[{name}]:{port}" if ":" in str(name).strip("[]") else f"{name}:{port}"

    async def refresh(self) -> None:
        """Wait for the read of the slot map that `begin_refresh` returns, at most the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await asyncio.shield(self.begin_refresh())

    def begin_refresh(self) -> asyncio.Task[None]:
        """Read the slot map in the background, unless a read is running or has just ended. Returns
        the task of that read."""
        if self._refreshing is None or (
            self._refreshing.done() and time.monotonic() >= self._next_refresh
        ):
            self._refreshing = asyncio.create_task(self._refresh())
        return self._refreshing

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing

    async def _refresh(self) -> None:
        """Read the slot map from the first server that has one."""
        try:
            for name, wire in self._wires().items():
                try:
                    (ranges,) = await wire.send([("CLUSTER", "SLOTS")])
                    self._silent -= {name, _ANY}
                    if ranges:  # a new server that has not joined the cluster has none
                        return await self._adopt(ranges)
                except Exception as error:  # another server may answer
                    self._warn_of(name, error)
            self._warn_of(_ANY, "no server knows")
        finally:
            self._next_refresh = time.monotonic() + self._retry_after_s

    async def _adopt(self, ranges: Sequence[Sequence[Any]]) -> None:
        """Use the slots in a server's reply to CLUSTER SLOTS."""
        addresses: dict[int, str] = {}
        for first, last, (host, port, *_), *_ in ranges:
            addresses |= dict.fromkeys(range(first, last + 1), self.address(host, port))
        if addresses != self._addresses:
            self._addresses = addresses
            self._silent &= {SEED, *addresses.values()}
            await self._on_change()

    def _warn_of(self, name: str, reason: object) -> None:
        """Log that a server did not report the slot map, once for each outage."""
        if name not in self._silent:
            log.warning("cannot read the cluster's slots from %s: %s", name, reason)
        self._silent.add(name)
