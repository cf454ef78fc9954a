"""The lag of a worker, from its metrics."""

import re
import urllib.request
from dataclasses import dataclass

_BUCKET = re.compile(r'kith_apply_lag_seconds_bucket\{le="([^"]+)"\} ([0-9.e+]+)')


@dataclass(frozen=True, slots=True)
class Lag:
    """A cumulative histogram of the changes by lag in seconds."""

    buckets: dict[float, float]

    @property
    def changes(self) -> float:
        return self.buckets.get(float("inf"), 0.0)

    def since(self, earlier: "Lag") -> "Lag":
        """The changes since `earlier`."""
        return Lag({at: n - earlier.buckets.get(at, 0.0) for at, n in self.buckets.items()})

    def quantile_s(self, quantile: float) -> float:
        """A quantile, interpolated inside a bucket as Prometheus does."""
        rank, below, count_below = quantile * self.changes, 0.0, 0.0
        for at, count in sorted(self.buckets.items()):
            if count >= rank:
                if at == float("inf") or count == count_below:
                    return below
                return below + (at - below) * (rank - count_below) / (count - count_below)
            below, count_below = at, count
        return below


def lag(metrics_url: str) -> Lag:
    """The lag of all changes since the worker's start."""
    with urllib.request.urlopen(metrics_url, timeout=5) as response:
        text = response.read().decode()
    return Lag({float(at): float(count) for at, count in _BUCKET.findall(text)})
