"""Machines of gateways and workers."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import check_requests, misses, reads
from gateway.capacity.quantity import GB, US, Quantity
from gateway.capacity.redis import is_cluster

GATEWAYS, WORKERS = "gateways", "workers"

MACHINES_MIN = 2
"""Machines of each part: one may fail."""


def _gateway_us(given: Inputs, kind: str) -> float:
    """CPU microseconds of a gateway for a cached read or a write: more with a Redis Cluster."""
    ratio = given[f"{kind}_cluster_ratio"] if is_cluster(given) else 1
    return given[f"{kind}_gateway_us"] * ratio


def gateway_cores(given: Inputs) -> float:
    """Cores of all gateways, at the planned load of a core."""
    cached = given["lists"] * _gateway_us(given, "page") + check_requests(given) * _gateway_us(
        given, "check"
    )
    missed = misses(given) * given["miss_gateway_us"]
    written = given["writes"] * _gateway_us(given, "write")
    return (given["hits"] * cached + missed + written) * US / given["busy"]


def client_bytes_per_s(given: Inputs) -> float:
    pages = given["lists"] * given["page_client_bytes"]
    checks = check_requests(given) * given["check_client_bytes"]
    return pages + checks + (reads(given) + given["writes"]) * given["http_bytes"]


def gateways(given: Inputs) -> int:
    """The number of machines of gateways."""
    network = client_bytes_per_s(given) * 8 / GB / (given["network_gbit"] * given["busy"])
    return max(MACHINES_MIN, ceil(max(gateway_cores(given) / given["cores"], network)))


def connections(given: Inputs) -> float:
    """Connections to PostgreSQL of all gateway processes, one for each core."""
    return max(MACHINES_MIN, ceil(gateway_cores(given))) * given["pool_max"]


def worker_cores(given: Inputs) -> float:
    """Cores of all workers, at the planned load of a core."""
    return given["writes"] * given["write_worker_us"] * US / given["busy"]


def workers(given: Inputs) -> int:
    """The number of machines of workers."""
    return max(MACHINES_MIN, ceil(worker_cores(given) / given["cores"]))


QUANTITIES = (
    Quantity(GATEWAYS, "cores, a process on each", "cores", gateway_cores),
    Quantity(GATEWAYS, "machines", "machines", gateways),
    Quantity(GATEWAYS, "network to clients", "Gbit/s", lambda i: client_bytes_per_s(i) * 8 / GB),
    Quantity(GATEWAYS, "connections to PostgreSQL, at most", "connections", connections),
    Quantity(WORKERS, "cores", "cores", worker_cores),
    Quantity(WORKERS, "machines", "machines", workers),
)
