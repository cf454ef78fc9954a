"""Several collectors of metrics as one."""

from collections.abc import Iterable, Sequence
from itertools import chain

from prometheus_client.core import Metric
from prometheus_client.registry import Collector


class JoinedCollectors(Collector):
    """The metrics of several collectors. No two may have a metric of the same name."""

    def __init__(self, collectors: Sequence[Collector]) -> None:
        self._collectors = collectors

    def collect(self) -> Iterable[Metric]:
        return chain.from_iterable(collector.collect() for collector in self._collectors)
