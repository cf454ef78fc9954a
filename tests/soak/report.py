"""The report at the end of a soak."""

import statistics
from collections import Counter
from collections.abc import Iterator

from tests.soak.load import Load
from tests.soak.measures import GROWTH_MB_MAX, Measures, Memory
from tests.support.faults.traffic import Tally


def lines(load: Load, measures: Measures, kills: Counter[str], seconds: float) -> Iterator[str]:
    """The report, line by line."""
    tally = load.traffic.tally
    yield f"{seconds:.0f} s, {sum(kills.values())} kills: {_counts(kills)}"
    for kind in ("write", "read"):
        ended = Counter(
            {
                key.removeprefix(f"{kind} "): count
                for key, count in tally.answers.items()
                if key.startswith(f"{kind} ")
            }
        )
        yield f"{ended.total() / seconds:,.0f} {kind}s/s: {_counts(ended)}"
    yield _rates(measures.rates)
    yield f"{load.skipped:,} requests skipped, because too many waited"
    yield _waits(measures.waits_s)
    yield from (_memory(memory) for memory in measures.memories.values() if _has_growth(memory))
    yield f"{tally.answers['violation']} violations"
    yield from (f"  {text}" for text in tally.violations)


def growing(measures: Measures) -> list[str]:
    """A line for each process whose memory has grown by more than `GROWTH_MB_MAX`."""
    return [
        f"{memory.name} (process {memory.pid}) grew by {growth:.1f} MB"
        for memory in measures.memories.values()
        if (growth := memory.growth_mb()) is not None and growth > GROWTH_MB_MAX
    ]


def progress(tally: Tally, seconds: float, kills: Counter[str]) -> str:
    """A line that shows the progress of the soak."""
    return f"{seconds:4.0f} s, {kills.total()} kills: {_counts(tally.answers)}"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{key} {count:,}" for key, count in counter.most_common())


def _rates(rates: list[tuple[float, float]]) -> str:
    if len(rates) < 2:
        return "the rates were not sampled"
    writes, reads = (
        statistics.quantiles(each, n=10, method="inclusive") for each in zip(*rates, strict=True)
    )
    return (
        f"answered without an error, in {len(rates)} samples: median {writes[4]:.0f} writes/s and "
        f"{reads[4]:.0f} reads/s, slowest tenth {writes[0]:.0f} and {reads[0]:.0f}"
    )


def _waits(waits: list[float]) -> str:
    if len(waits) < 2:
        return "the age of waiting changes was not sampled"
    parts = statistics.quantiles(waits, n=100, method="inclusive")
    return (
        f"age of the oldest waiting change, over {len(waits)} samples: p50 {parts[49]:.2f} s, "
        f"p99 {parts[98]:.2f} s, longest {max(waits):.2f} s"
    )


def _has_growth(memory: Memory) -> bool:
    """Whether the process has run long enough to measure its growth."""
    return memory.growth_mb() is not None


def _memory(memory: Memory) -> str:
    first, last = memory.samples[0], memory.samples[-1]
    growth, slope = memory.growth_mb(), memory.per_minute_mb()
    assert growth is not None
    assert slope is not None
    return (
        f"{memory.name}: {first[1]:.0f} MB at the start, {last[1]:.0f} MB after {last[0]:.0f} s; "
        f"{growth:+.1f} MB from its middle to its end, slope {slope:+.2f} MB/min"
    )
