"""Metrics of several spaces as one collector, with the label `space`."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

LABEL = "space"


class SpaceMetrics(Collector):
    """The metrics of each open space, labelled with its name. `has_label` is false if there can be
    only one space.

    The number of label values is bounded by the number of spaces that are open at once. The metrics
    of a space are not reported after it is closed, and its counters begin at 0 when it is opened
    again.
    """

    def __init__(
        self, collectors: Callable[[], Iterable[tuple[str, Collector]]], *, has_label: bool
    ) -> None:
        self._collectors = collectors
        self._has_label = has_label

    def collect(self) -> Iterator[Metric]:
        if not self._has_label:
            for _, collector in self._collectors():
                yield from collector.collect()
            return
        families: dict[str, Metric] = {}
        for space, collector in self._collectors():
            for metric in collector.collect():
                family = families.setdefault(
                    metric.name, Metric(metric.name, metric.documentation, metric.type)
                )
                family.samples += [_labelled(sample, space) for sample in metric.samples]
        yield from families.values()


def _labelled(sample: Sample, space: str) -> Sample:
    return sample._replace(labels={**sample.labels, LABEL: space})
