"""Counts which layer has answered reads of the cache's entries: the local cache, Redis, or the
tables."""

from collections.abc import Iterator, Mapping

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from graph.lists import ListKind
from storage.redis.keys import LIST_KEY_NAMES


class ReadCounts:
    """How many values of one kind were read from each layer. Plain numbers, so that a read adds to
    them without a call."""

    __slots__ = ("local", "redis", "tables")

    def __init__(self) -> None:
        self.local = self.redis = self.tables = 0


RELATIONS, PROFILE, ACCOUNT, PENDING = (ReadCounts() for _ in range(4))
LIST_READS: Mapping[ListKind, ReadCounts] = {kind: ReadCounts() for kind in ListKind}

_ENTRIES: Mapping[str, ReadCounts] = {
    "relations": RELATIONS,
    **{LIST_KEY_NAMES[kind]: counts for kind, counts in LIST_READS.items()},
    "profile": PROFILE,
    "account": ACCOUNT,
    "pending": PENDING,
}


class _Reads(Collector):
    def collect(self) -> Iterator[CounterMetricFamily]:
        reads = CounterMetricFamily(
            "kith_cache_reads",
            "Values that requests have read, by entry and by the layer that had them.",
            labels=["entry", "layer"],
        )
        for entry, counts in _ENTRIES.items():
            for layer in ReadCounts.__slots__:
                reads.add_metric([entry, layer], getattr(counts, layer))
        yield reads


REGISTRY.register(_Reads())
