"""Reports about a process: metrics, ids of requests, and traces."""

from prometheus_client import disable_created_metrics

# Each counter and histogram would have one more sample, when it was created. Prometheus finds
# restarts without it.
disable_created_metrics()  # type: ignore[no-untyped-call]
