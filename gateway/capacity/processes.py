"""Machines of gateways and workers."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import check_requests, misses, reads
from gateway.capacity.quantity import GB, US, Quantity
from gateway.capacity.redis import is_cluster

GATEWAYS, WORKERS = "gateways", "workers"

MACHINES_MIN = 2
"""Machines of each part: one may fail."""


def _gateway_us(inputs: Inputs, kind: str) -> float:
    """CPU microseconds of a gateway for a cached read or a write: more with a Redis Cluster."""
    ratio = inputs[f"{kind}_cluster_ratio"] if is_cluster(inputs) else 1
    return inputs[f"{kind}_gateway_us"] * ratio


def gateway_cores(inputs: Inputs) -> float:
    """Cores of all gateways, at the planned load of a core."""
    cached = inputs["lists"] * _gateway_us(inputs, "page") + check_requests(inputs) * _gateway_us(
        inputs, "check"
    )
    missed = misses(inputs) * inputs["miss_gateway_us"]
    written = inputs["writes"] * _gateway_us(inputs, "write")
    return (inputs["hits"] * cached + missed + written) * US / inputs["busy"]


def client_bytes_per_s(inputs: Inputs) -> float:
    """Bytes a second from and to clients, with the headers of HTTP."""
    pages = inputs["lists"] * inputs["page_client_bytes"]
    checks = check_requests(inputs) * inputs["check_client_bytes"]
    return pages + checks + (reads(inputs) + inputs["writes"]) * inputs["http_bytes"]


def gateways(inputs: Inputs) -> int:
    """The number of machines of gateways."""
    network = client_bytes_per_s(inputs) * 8 / GB / (inputs["network_gbit"] * inputs["busy"])
    return max(MACHINES_MIN, ceil(max(gateway_cores(inputs) / inputs["cores"], network)))


def connections(inputs: Inputs) -> float:
    """Connections to PostgreSQL of all gateway processes, one for each core."""
    return max(MACHINES_MIN, ceil(gateway_cores(inputs))) * inputs["pool_max"]


def worker_cores(inputs: Inputs) -> float:
    """Cores of all workers, at the planned load of a core."""
    return inputs["writes"] * inputs["write_worker_us"] * US / inputs["busy"]


def workers(inputs: Inputs) -> int:
    """The number of machines of workers."""
    return max(MACHINES_MIN, ceil(worker_cores(inputs) / inputs["cores"]))


QUANTITIES = (
    Quantity(GATEWAYS, "cores, a process on each", "cores", gateway_cores),
    Quantity(GATEWAYS, "machines", "machines", gateways),
    Quantity(GATEWAYS, "network to clients", "Gbit/s", lambda i: client_bytes_per_s(i) * 8 / GB),
    Quantity(GATEWAYS, "connections to PostgreSQL, at most", "connections", connections),
    Quantity(WORKERS, "cores", "cores", worker_cores),
    Quantity(WORKERS, "machines", "machines", workers),
)
