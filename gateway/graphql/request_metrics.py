"""Metrics of GraphQL operations: how many ended with which code, and how long they took."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from engine import Operation
from gateway.graphql.operation_names import OperationNames
from gateway.graphql.request import GraphQLRequest
from gateway.graphql.slow_operations import SlowOperationLog
from telemetry.histogram import Histogram, Series

OK = "OK"
"""The code of an answer without errors."""

Ended = Callable[[Operation | None, GraphQLRequest | None, str, float, int | None], None]
"""Called when a request has ended, with its operation and request (None if it failed before they
were known), the code of its first error or OK, its seconds, and its cost (None if it was not
charged)."""


class _OperationCounts:
    """The counts of one operation name."""

    __slots__ = ("codes", "durations", "reported")

    def __init__(self, durations: Series) -> None:
        self.codes: Counter[str] = Counter()
        self.durations = durations
        self.reported = 0

    def since_last(self) -> int:
        """The requests since the last call."""
        total = self.durations.count
        since, self.reported = total - self.reported, total
        return since


class RequestMetrics(Collector):
    """The operations of a gateway process, by the `names_max` most frequent names.

    Operations that take `slow_s` or longer are logged too. 0: none are.
    """

    def __init__(self, names_max: int, slow_s: float) -> None:
        self._slow_s = slow_s or inf
        self._slow_operations = SlowOperationLog()
        self._durations = Histogram(
            "kith_request_duration_seconds",
            "Time from a request's body to its answer, by operation name.",
            ["operation"],
            registry=None,
        )
        self._operations: OperationNames[_OperationCounts] = OperationNames(
            names_max,
            lambda name: _OperationCounts(self._durations.labels(name)),
            self._durations.remove,
        )
        self._series = self._operations.series

    def ended(
        self,
        operation: Operation | None,
        request: GraphQLRequest | None,
        code: str,
        seconds: float,
        cost: int | None,
    ) -> None:
        """Count a request. Implements `Ended`."""
        # The property `name` would be a call.
        node = None if operation is None else operation.node.name
        name = None if node is None else node.value
        counts = self._series.get(name)
        if counts is None:
            assert name is not None, "anonymous operations have a series"
            counts = self._operations.unlisted(name)
        counts.codes[code] += 1
        counts.durations.observe(seconds)
        if seconds >= self._slow_s:
            self._slow_operations.add(operation, request, code, seconds, cost)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of one scrape. First gives the series of rare operation names to more
        frequent ones."""
        requests = CounterMetricFamily(
            "kith_requests",
            "GraphQL operations, by name and by the code of their first error.",
            labels=["operation", "code"],
        )
        self._operations.rebalance(_OperationCounts.since_last)
        for name, operation in self._operations.listed():
            for code, count in list(operation.codes.items()):
                requests.add_metric([name, code], count)
        yield requests
        yield from self._durations.collect()
