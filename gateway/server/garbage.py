"""Full garbage collections wait until a process is idle.

A full collection visits every object of the caches, and nothing else runs meanwhile: 0.9 s for the
1,500,000 objects of 1,000 cached documents. CPython starts them while many objects are created, so
while requests are served. In a gateway, only young objects are collected then, and old ones are
frozen: once objects have survived three collections, later ones do not visit them.

A frozen object is still freed when its last reference ends. Only a reference cycle that was alive
when it was frozen stays until the next full collection.
"""

import asyncio
import gc
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

ALLOCATIONS_PER_COLLECTION = 10_000
"""A request creates thousands of objects and few cycles. If all objects stay in use, as while many
subscriptions are opened, a collection of this many young objects takes 2 to 5 ms, and one of the
middle generation up to four times as long."""

YOUNG_PER_MIDDLE = 3
"""Collections of the young generation after which the middle one is collected, which holds their
survivors."""

NEVER = 1_000_000_000
"""A threshold that is not reached."""

MIDDLE_PER_FULL = 1_500
"""Collections of the middle generation after which a full one is due, as soon as the process is
idle."""

YOUNG_S = 0.1
"""How often a busy process collects its young objects. CPython starts a collection by the number of
allocations minus that of deallocations. So a cache that evicts old objects delays collections,
while young objects accumulate."""

BUSY_CPU_S = 0.005
"""A process that uses less CPU time in `YOUNG_S` has few young objects."""

INTERVAL_S = 1.0
"""How often a process checks whether a full collection is due."""

IDLE_CPU_S = 0.02
"""A process that uses less CPU time in an interval is idle."""

OLD_MAX = 10_000
"""Old objects that are not frozen yet. At this number they are collected, which takes up to 10 ms,
and the survivors are frozen."""

GROWTH_MB = 512
"""A process that is never idle counts its frozen objects, 60 ms for 1,600,000, when its memory has
grown by this."""

GROWTH_OBJECTS = 3_000_000
"""The process then makes a full collection if this many frozen objects were added since the last
one: cycles among them must have accumulated. Full caches hold 1,600,000, and clients can make
memory grow by what they do not read or send, but that is few objects."""

_STATM = Path("/proc/self/statm")


def collect_after_imports() -> None:
    """Start collections, if they are stopped, and exclude imported objects from them."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def collect_young_objects_only() -> None:
    """Make a full collection, exclude all present objects, and from now on collect only young ones
    automatically. The other functions here decide when old ones are collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_PER_COLLECTION, YOUNG_PER_MIDDLE, NEVER)


class FullCollections:
    """Decides when a full collection is due."""

    def __init__(self, cpu_s: float, middle_collections: int, memory_mb: int, frozen: int) -> None:
        self._cpu_s = cpu_s
        self._middle_collections = middle_collections
        self._memory_mb = memory_mb
        """The least memory since the last full collection or the last count of frozen objects."""
        self._frozen = frozen
        """The frozen objects after the last full collection."""

    def is_due(
        self,
        cpu_s: float,
        middle_collections: int,
        memory_mb: int,
        count_frozen: Callable[[], int],
    ) -> bool:
        """Whether a full collection is due.

        Called in each interval, with the CPU time, the collections of the middle generation and the
        memory that the process has now.
        """
        used_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        is_idle = used_s < IDLE_CPU_S
        has_grown = False
        if memory_mb - self._memory_mb >= GROWTH_MB:
            has_grown = count_frozen() - self._frozen >= GROWTH_OBJECTS
            self._memory_mb = memory_mb
        self._memory_mb = min(self._memory_mb, memory_mb)
        if not has_grown and not (
            is_idle and middle_collections - self._middle_collections >= MIDDLE_PER_FULL
        ):
            return False
        self._middle_collections = middle_collections
        return True

    def collected(self, memory_mb: int, frozen: int) -> None:
        """Record the memory and the frozen objects after a full collection."""
        self._memory_mb, self._frozen = memory_mb, frozen


class YoungCollections:
    """Decides which generation to collect."""

    def __init__(self, cpu_s: float) -> None:
        self._cpu_s = cpu_s
        self._count = 0

    def due(self, cpu_s: float) -> int | None:
        """Called every `YOUNG_S`. The generation to collect, 0 or sometimes 1, or None if the
        process has not been busy."""
        used_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        if used_s < BUSY_CPU_S:
            return None
        self._count += 1
        return int(self._count % YOUNG_PER_MIDDLE == 0)


@asynccontextmanager
async def collecting_when_idle(
    collect: Callable[[int], object] = gc.collect,
    interval_s: float = INTERVAL_S,
    young_s: float = YOUNG_S,
) -> AsyncIterator[None]:
    """Make the collections of this process inside the `async with` statement, and freeze old
    objects.

    Young objects are collected often. A full collection is made when one is due and the process is
    idle, or when frozen objects have grown by `GROWTH_OBJECTS`. CPython's own full collections must
    be off: see `collect_young_objects_only`.
    """
    tasks = [
        asyncio.create_task(_collect_young(collect, young_s)),
        asyncio.create_task(_collect_when_idle(collect, interval_s)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _collect_young(collect: Callable[[int], object], interval_s: float) -> None:
    young = YoungCollections(time.process_time())
    while True:
        await asyncio.sleep(interval_s)
        generation = young.due(time.process_time())
        if generation is not None:
            collect(generation)
            await asyncio.sleep(0)  # each of these steps may take 100 ms
        if generation == 1 and len(gc.get_objects(generation=2)) >= OLD_MAX:
            collect(2)
            gc.freeze()


async def _collect_when_idle(collect: Callable[[int], object], interval_s: float) -> None:
    full = FullCollections(
        time.process_time(), _middle_collections(), _memory_mb(), gc.get_freeze_count()
    )
    while True:
        await asyncio.sleep(interval_s)
        if full.is_due(
            time.process_time(), _middle_collections(), _memory_mb(), gc.get_freeze_count
        ):
            gc.unfreeze()
            collect(2)
            gc.freeze()
            full.collected(_memory_mb(), gc.get_freeze_count())


def _middle_collections() -> int:
    count: int = gc.get_stats()[1]["collections"]
    return count


def _memory_mb() -> int:
    """The resident memory, where the system reports it; otherwise the greatest so far."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        unit = 1_000_000 if sys.platform == "darwin" else 1_000
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    return pages * resource.getpagesize() // 1_000_000
