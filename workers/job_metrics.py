"""Metrics of the worker's jobs."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from time import perf_counter

from prometheus_client import Counter
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from graph.errors import Unavailable
from telemetry import tracing
from telemetry.histogram import Histogram

restarts = Counter(
    "kith_worker_restarts", "Times that the worker was restarted after Redis has failed."
)


class JobMetrics(Collector):
    """The metrics of one space's jobs."""

    def __init__(self) -> None:
        self._jobs = Counter(
            "kith_worker_jobs",
            "Jobs that have ended, by name and result. A postponed job found a server unavailable"
            " and is repeated.",
            ["job", "result"],
            registry=None,
        )
        self._durations = Histogram(
            "kith_worker_job_duration_seconds",
            "Time that a job has taken, by name.",
            ["job"],
            registry=None,
        )

    def collect(self) -> Iterable[Metric]:
        return chain(self._jobs.collect(), self._durations.collect())

    @contextmanager
    def measured(self, job: str) -> Iterator[None]:
        """Count and trace a job, with its result: `done`, `postponed` or `failed`."""
        began_at, result = perf_counter(), "failed"
        try:
            with nullcontext() if tracing.tracer is None else tracing.job_span(f"job {job}"):
                yield
            result = "done"
        except Unavailable:
            result = "postponed"
            raise
        finally:
            self._jobs.labels(job, result).inc()
            self._durations.labels(job).observe(perf_counter() - began_at)
