"""Histograms for the hot path.

An observation is one Python call. With prometheus_client it is six calls, and `labels` is five
more, because its histograms lock. These do not: only the event loop's thread writes them, and a
scrape may read them while they change.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of durations: from that of a cached read to the longest deadline of a request."""

SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0)
"""Upper bounds of batch sizes."""


class Series:
    """The observations with one set of label values."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """The number of observations."""
        return sum(self._counts)

    def buckets(self) -> list[tuple[str, float]]:
        """The cumulative counts by upper bound, in the form of `HistogramMetricFamily`."""
        cumulative: list[tuple[str, float]] = []
        total = 0
        for bound, count in zip([*self._bounds, float("inf")], list(self._counts), strict=True):
            total += count
            cumulative.append(("+Inf" if bound == float("inf") else str(bound), total))
        return cumulative


class Histogram(Collector):
    """A histogram of this process, with labels."""

    def __init__(
        self,
        name: str,
        documentation: str,
        label_names: Sequence[str] = (),
        bounds: Sequence[float] = SECONDS,
        registry: CollectorRegistry | None = REGISTRY,
    ) -> None:
        self._name = name
        self._documentation = documentation
        self._label_names = label_names
        self._bounds = bounds
        self._series: dict[tuple[str, ...], Series] = {}
        if registry is not None:
            registry.register(self)

    def labels(self, *values: str) -> Series:
        """The series with these label values. Callers look it up once and keep it."""
        assert len(values) == len(self._label_names)
        return self._series.setdefault(values, Series(self._bounds))

    def remove(self, *values: str) -> None:
        """Stop reporting a series."""
        self._series.pop(values, None)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._documentation, labels=self._label_names)
        for values, series in list(self._series.items()):
            family.add_metric(list(values), series.buckets(), series.sum)
        yield family
