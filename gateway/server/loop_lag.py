"""The lag of the event loop: how late timers fire, because something else computes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from prometheus_client import Histogram

INTERVAL_S = 0.05
"""The time between two measurements. One takes about 5 µs."""

_lag = Histogram(
    "kith_event_loop_lag_seconds",
    "How late a timer of the event loop fired, measured 20 times a second.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5),
)


@asynccontextmanager
async def measuring_loop_lag(
    observe: Callable[[float], None] = _lag.observe, interval_s: float = INTERVAL_S
) -> AsyncIterator[None]:
    """Measure the lag of the running loop inside the block."""
    probe = _Probe(asyncio.get_running_loop(), observe, interval_s)
    probe.start()
    try:
        yield
    finally:
        probe.stop()


class _Probe:
    """A timer that measures its own lateness, and starts again."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        observe: Callable[[float], None],
        interval_s: float,
    ) -> None:
        self._loop = loop
        self._observe = observe
        self._interval_s = interval_s
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        due = self._loop.time() + self._interval_s
        self._timer = self._loop.call_at(due, self._fired, due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _fired(self, due: float) -> None:
        self._observe(max(0.0, self._loop.time() - due))
        self.start()
