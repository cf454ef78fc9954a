"""The way to one server: pipelines behind a breaker, with a memory for what is owed.

Knows nothing of keys. Everything that goes wrong is `Unavailable`: to a cache, that is a miss.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Protocol

from graph.errors import Unavailable
from storage.redis.wire import FORGET, Command, Misplaced, Reply, Wire, WireError

log = logging.getLogger(__name__)

PART = "Redis"


class Debt(Enum):
    """What keys that may be wrong are of, by who else mends them. Each has a place of its own."""

    ACCOUNTS = auto()
    """Nobody: beyond the bound they are wrong until they end, for 300 s at most."""
    TOTALS = auto()
    """Of those who stand in lists with somebody who has come or gone; nobody, too."""
    EDGES = auto()
    """The drain, a little later."""


OWED_MAX = {Debt.ACCOUNTS: 10_000, Debt.TOTALS: 50_000, Debt.EDGES: 10_000}
"""Keys to forget once Redis is back: some 15 MB."""

PAID_AT_ONCE = 10_000
"""Keys a pipeline: far less than the time that a reply may take."""

PAID_SINGLY_AT_ONCE = 100
"""Keys that are forgotten one by one: so few may be tried again when time is out."""

Send = Callable[[Sequence[Command]], Awaitable[object]]


class Redis(Protocol):
    """What the caches need of a server."""

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        """Runs all commands in one round trip; each reply in its place.

        Raises:
            Unavailable: the server is away, too slow, or refused one of them.
        """
        ...

    def partly(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """The same, as far as servers are there: for what one that is away was to be asked, the
        reply is `AWAY`, in a column of values too.

        Raises:
            Unavailable: none is there.
        """
        ...

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """The same of `first`, which has run before any of `commands` is, and then of these.

        Raises as above.
        """
        ...

    def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        """The keys that look like `pattern`, about `most` of all keys looked at in one turn.

        Raises as above.
        """
        ...

    def owe(self, keys: Collection[str], debt: Debt = Debt.EDGES) -> None:
        """These keys may be wrong: they are deleted before anything else is asked."""
        ...

    async def present(self) -> Callable[[str], bool]:
        """Tells of a key whether its server has answered just now."""
        ...


class Servers(Redis, Protocol):
    """What whoever opens and watches them needs besides."""

    @property
    def round_trips(self) -> int: ...

    @property
    def failures(self) -> int:
        """How often one was not there for whoever asked."""
        ...

    async def ping(self) -> None:
        """Raises Unavailable if one does not answer."""
        ...

    async def close(self) -> None: ...


async def unlink_all(redis: Redis, pattern: str) -> None:
    """Deletes every key that looks like `pattern`.

    Raises:
        Unavailable: as above; some may be left.
    """
    async for keys in redis.scan(pattern, 1000):
        await redis.pipe([(FORGET, key) for key in keys])


class Breaker:
    """Leaves a failing server alone for a while, so that a request waits for it only once."""

    def __init__(self, retry_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._retry_after_s = retry_after_s
        self._clock = clock
        self._open_until: float | None = None
        """None after a time without failures: nobody need look at the clock."""

    def check(self) -> None:
        if self._open_until is None:
            return
        if self._clock() < self._open_until:
            raise Unavailable(PART)
        self._open_until = None

    def trip(self) -> bool:
        """Opens it; says whether it was closed before."""
        now = self._clock()
        was_closed = self._open_until is None or now >= self._open_until
        self._open_until = now + self._retry_after_s
        return was_closed


class Debts:
    """The keys that a server is to forget, as many as `OWED_MAX` allows."""

    def __init__(self) -> None:
        self._owed: dict[Debt, dict[str, object]] = {debt: {} for debt in Debt}
        """Keys, each with the mark of its latest debt."""
        self.are_due = False

    def add(self, keys: Collection[str], debt: Debt) -> None:
        owed, mark = self._owed[debt], object()
        for key in keys:
            if key in owed or len(owed) < OWED_MAX[debt]:
                owed[key] = mark
        self.are_due = True

    def taken(self) -> dict[Debt, list[str]]:
        """All of them, which are no longer owed here."""
        owed = {debt: list(keys) for debt, keys in self._owed.items()}
        self._owed, self.are_due = {debt: {} for debt in Debt}, False
        return owed

    async def pay(self, send: Send, at_once: int) -> None:
        """Forgets them all, so many at a time. Raises what `send` does: the rest is owed on."""
        for owed in self._owed.values():
            now = list(owed.items())
            for first in range(0, len(now), at_once):
                some = now[first : first + at_once]
                await send([(FORGET, key) for key, _ in some])
                for key, mark in some:
                    if owed.get(key) is mark:  # else it is owed again since
                        del owed[key]
        self.are_due = any(self._owed.values())


class GuardedRedis:
    """Keeps `Servers`: one, over any wire."""

    def __init__(self, wire: Wire, retry_after_s: float, *, is_one_of_many: bool = False) -> None:
        self.wire = wire
        self._is_one_of_many = is_one_of_many
        """Whether somebody is there to ask another server for what is Misplaced."""
        self._breaker = Breaker(retry_after_s)
        self._debts = Debts()
        self._paying = asyncio.Lock()
        self.failures = 0

    @property
    def round_trips(self) -> int:
        return self.wire.round_trips

    async def close(self) -> None:
        await self.wire.close()

    async def ping(self) -> None:
        await self.pipe([("PING",)])

    def after(self, first: Command, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        return self.pipe([first, *commands])  # a server runs a pipeline in its order

    async def scan(self, pattern: str, most: int) -> AsyncIterator[list[bytes]]:
        cursor = b"0"
        while True:
            ((cursor, keys),) = await self.pipe([("SCAN", cursor, "MATCH", pattern, "COUNT", most)])
            yield keys
            if cursor == b"0":
                return

    def owe(self, keys: Collection[str], debt: Debt = Debt.EDGES) -> None:
        self._debts.add(keys, debt)

    async def present(self) -> Callable[[str], bool]:
        with suppress(Unavailable):
            await self.ping()
            return lambda _: True
        return lambda _: False

    async def pay(self, send: Send) -> None:
        """Forgets what is owed here, in another way. Raises what `send` does."""
        async with self._paying:
            await self._debts.pay(send, PAID_SINGLY_AT_ONCE)

    def forgiven(self) -> dict[Debt, list[str]]:
        """What is owed here, for somebody else to take it over."""
        return self._debts.taken()

    async def pipe(self, commands: Sequence[Command]) -> list[Reply]:
        if not commands:
            return []
        try:
            self._breaker.check()
            if self._debts.are_due:
                async with self._paying:  # one pays for all who wait
                    self._breaker.check()
                    await self._debts.pay(self.wire.send, PAID_AT_ONCE)
            return await self.wire.send(commands)
        except WireError as error:
            if self._is_one_of_many and isinstance(error, Misplaced):
                raise
            self.failures += 1
            if self._breaker.trip():
                log.warning("Redis is left alone for a moment: %s", error)
            raise Unavailable(PART) from error
        except Unavailable:
            self.failures += 1
            raise

    partly = pipe
    """One server is there, or it is not."""
