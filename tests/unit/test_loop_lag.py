"""The lag of the event loop is the time by which its timers are late."""

import asyncio

from gateway.server.loop_lag import measuring_loop_lag
from tests.support.waiting import until


class LoopWithClock(asyncio.SelectorEventLoop):
    """An event loop whose clock a test advances, as a long computation would."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


def test_the_lag_of_a_computation_that_blocks_the_loop_is_measured() -> None:
    lags: list[float] = []

    async def measured() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LoopWithClock)
        async with measuring_loop_lag(lags.append, interval_s=0.01):
            await until(lambda: more_than(0))
            loop.ahead_s += 1_000
            count = len(lags)
            await until(lambda: more_than(count))
        assert 989 < max(lags) < 1_089  # the timer was due in at most 10 ms
        assert min(lags) >= 0

    async def more_than(count: int) -> bool:
        return len(lags) > count

    with asyncio.Runner(loop_factory=LoopWithClock) as runner:
        runner.run(measured())


async def test_nothing_is_measured_after_the_block() -> None:
    lags: list[float] = []
    async with measuring_loop_lag(lags.append, interval_s=0):
        while not lags:  # noqa: ASYNC110
            await asyncio.sleep(0)
    count = len(lags)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(lags) == count
