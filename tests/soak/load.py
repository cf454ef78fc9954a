"""Send writes and reads at a steady rate, without waiting for earlier responses."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.faults.histories import UserPair
from tests.support.faults.traffic import Traffic

IN_FLIGHT_MAX = 300
"""While this many requests wait, further requests are skipped and counted."""
CHECKS_SHARE = 5 / 7
"""The share of relation checks in all reads, as in the planned load."""
USERS_PER_READ = 2
LAST_RESPONSES_S = 60


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests a second. `reads` include the read that the writer sends after each write."""

    writes: int
    reads: int

    @property
    def other_reads(self) -> int:
        """Reads that are not sent after a write."""
        return self.reads - self.writes

    @property
    def checks_share(self) -> float:
        """The share of relation checks in `other_reads`. The read after a write is never one."""
        return min(1.0, CHECKS_SHARE * self.reads / self.other_reads)


@dataclass
class Load:
    """Sends requests about random follows, and counts those that it skips."""

    traffic: Traffic
    rates: Rates
    skipped: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _being_written: set[UserPair] = field(default_factory=set)
    _pairs: list[UserPair] = field(init=False)

    def __post_init__(self) -> None:
        self._pairs = list(self.traffic.world.histories)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send requests while the block runs. Then wait for the last responses."""
        senders = [
            asyncio.create_task(self._send(self._write, self.rates.writes)),
            asyncio.create_task(self._send(self._read, self.rates.other_reads)),
        ]
        try:
            yield
        finally:
            for sender in senders:
                sender.cancel()
            await asyncio.wait(senders)
        async with asyncio.timeout(LAST_RESPONSES_S):
            await asyncio.gather(*self._tasks)

    async def _send(self, request: Callable[[], Coroutine[None, None, None]], per_s: int) -> None:
        began, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began) * per_s)
            for _ in range(due - sent):
                self._start(request)
            sent = due
            await asyncio.sleep(1 / per_s)

    def _start(self, request: Callable[[], Coroutine[None, None, None]]) -> None:
        if len(self._tasks) >= IN_FLIGHT_MAX:
            self.skipped += 1
            return
        task = asyncio.create_task(request())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self) -> None:
        pair = random.choice(self._pairs)
        if pair in self._being_written:
            return
        self._being_written.add(pair)
        try:
            await self.traffic.write(pair, keyed=True)
        finally:
            self._being_written.discard(pair)

    async def _read(self) -> None:
        pair = random.choice(self._pairs)
        viewer = random.choice((None, pair.source))
        targets = random.sample(self.traffic.world.targets[pair.source], USERS_PER_READ)
        if random.random() < self.rates.checks_share:
            await self.traffic.check_relations(pair.source, targets)
        elif random.random() < 0.5:
            await self.traffic.read(viewer, random.choice(pair))
        else:
            await self.traffic.read_profiles(viewer, targets)
