"""One scenario: traffic before, during and after faults, until all changes are applied."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

from tests.support.faults.catalogue import CACHE_FAULT_PREFIXES, FAULTS
from tests.support.faults.quiescence import drain_and_compare, read_everything, verify_is_clean
from tests.support.faults.stack import Sizes, Stack, running_stack
from tests.support.faults.traffic import Outage, Tally, Traffic, flowing
from tests.support.faults.world import World
from tests.support.waiting import until

USERS = 12
REQUESTS_AROUND = 60
"""Requests before and after the faults."""
REQUESTS_DURING = 150
DURING_S = 3.0
"""Requests while the faults last; or fewer, if they take this long."""


@dataclass
class Scenario:
    """A running stack and the model of its follows. It can run several scenarios in turn."""

    stack: Stack
    traffic: Traffic

    async def run(self, faults: Sequence[str]) -> Tally:
        """Run the faults at the same time. Fails if a response, a row or a cached value was wrong.

        Returns how the requests of this run ended.
        """
        await self.stack.heal()  # the previous scenario may have failed
        await drain_and_compare(self.stack, self.traffic)
        tally = self.traffic.tally = Tally()
        outage = self.traffic.outage = Outage()
        self.traffic.world.requires_repeatable_reads = not any(
            fault.startswith(CACHE_FAULT_PREFIXES) for fault in faults
        )
        async with flowing(self.traffic):
            await self._requests(REQUESTS_AROUND)
            outage.began = time.monotonic()
            outage.ended = inf
            async with AsyncExitStack() as exits:
                for fault in faults:
                    await exits.enter_async_context(FAULTS[fault](self.stack))
                with suppress(TimeoutError):
                    async with asyncio.timeout(DURING_S):
                        await self._requests(REQUESTS_DURING)
            await self.stack.heal()
            outage.ended = time.monotonic()
            await self._requests(REQUESTS_AROUND)
        await drain_and_compare(self.stack, self.traffic)
        await read_everything(self.traffic)
        await verify_is_clean(self.stack, self.traffic)
        assert not tally.violations, report(tally)
        return tally

    async def _requests(self, count: int) -> None:
        """Wait until `count` more requests have been answered, or have failed."""
        enough = self.traffic.tally.requests + count

        async def answered() -> bool:
            return self.traffic.tally.requests >= enough

        await until(answered, f"{count} requests are answered")


def report(tally: Tally) -> str:
    """The violations of a run, and how its requests ended."""
    counts = ", ".join(f"{kind}: {count}" for kind, count in sorted(tally.answers.items()))
    return "\n".join([f"{len(tally.violations)} violations ({counts}):", *tally.violations[:20]])


@asynccontextmanager
async def running_scenario(
    sizes: Sizes | None = None, folder: Path | None = None
) -> AsyncIterator[Scenario]:
    """A stack without follows, with its data in `folder`. If an invalidation of the local cache is
    lost, old values last half a second."""
    settings = {"KITH_HOT_TTL_MS": "500"}
    async with running_stack(sizes or Sizes(), settings, folder=folder) as stack:
        yield Scenario(stack, Traffic(stack.clients, World.of(USERS)))
