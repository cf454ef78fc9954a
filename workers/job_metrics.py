"""Metrics of the worker's jobs."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter

from prometheus_client import Counter

from graph.errors import Unavailable
from telemetry import tracing
from telemetry.histogram import Histogram

_jobs = Counter(
    "kith_worker_jobs",
    "Jobs that have ended, by name and result. A postponed job found a server unavailable and is"
    " repeated.",
    ["job", "result"],
)
_durations = Histogram(
    "kith_worker_job_duration_seconds", "Time that a job has taken, by name.", ["job"]
)

restarts = Counter(
    "kith_worker_restarts", "Times that the worker was restarted after Redis has failed."
)


@contextmanager
def measured(job: str) -> Iterator[None]:
    """Count and trace a job, with its result: `done`, `postponed` or `failed`."""
    begun, result = perf_counter(), "failed"
    try:
        with nullcontext() if tracing.tracer is None else tracing.job_span(f"job {job}"):
            yield
        result = "done"
    except Unavailable:
        result = "postponed"
        raise
    finally:
        _jobs.labels(job, result).inc()
        _durations.labels(job).observe(perf_counter() - begun)
