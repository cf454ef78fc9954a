"""CPU of this process per call, for contestants in interleaved rounds.

A ratio is taken within a round, so that a slow period affects all contestants equally.
"""

import asyncio
import platform
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

OURS = "ours"
ROUNDS = 9

Call = Callable[[], Awaitable[object]]
"""Makes one call and waits for its result."""


async def measure(title: str, contestants: Mapping[str, Call], calls: int, concurrent: int) -> None:
    """Print the median CPU of each, and its ratio to OURS with the half range of rounds.

    CPU is that of all threads. `concurrent` callers make `calls` calls together.
    """
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(ROUNDS + 1):
        names = list(contestants)
        random.Random(number).shuffle(names)
        for name in names:
            cost = await _cpu_us(contestants[name], calls, concurrent)
            if number:  # the first round only warms up
                rounds[name].append(cost)
    print(f"\n{title}, {concurrent} at a time (Python {platform.python_version()}, {sys.platform})")
    for name, costs in rounds.items():
        ratios = [cost / ours for cost, ours in zip(costs, rounds[OURS], strict=True)]
        ratio, spread = statistics.median(ratios), (max(ratios) - min(ratios)) / 2
        print(f"  {name:30} {statistics.median(costs):6.0f} µs  {ratio:5.2f} ± {spread:.2f}")


async def _cpu_us(call: Call, calls: int, concurrent: int) -> float:
    async def caller() -> None:
        for _ in range(calls // concurrent):
            await call()

    began = time.process_time()
    await asyncio.gather(*(caller() for _ in range(concurrent)))
    return (time.process_time() - began) * 1e6 / (calls // concurrent * concurrent)
