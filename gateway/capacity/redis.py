"""Memory and servers of the caches, and of the broker."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import check_requests, cpu_s, users
from gateway.capacity.quantity import GB, GIB, Quantity

PART, BROKER = "caches", "broker"

CLUSTER_MIN = 3
"""The fewest primaries of a Redis Cluster."""


def value_bytes(given: Inputs) -> float:
    return users(given) * given["cached_users"] * given["cached_user_bytes"]


def resident_bytes(given: Inputs) -> float:
    return value_bytes(given) * given["fragmentation"]


def cores(given: Inputs) -> float:
    return cpu_s(given, "valkey") / given["busy"]


def primaries(given: Inputs) -> int:
    """The number of primaries. Each executes commands on one core."""
    bytes_per_primary = given["memory_gib"] * GIB * given["redis_memory"]
    needed = ceil(max(resident_bytes(given) / bytes_per_primary, cores(given), 1))
    return needed if needed == 1 else max(needed, CLUSTER_MIN)


def is_cluster(given: Inputs) -> bool:
    return primaries(given) > 1


def servers(given: Inputs) -> float:
    return primaries(given) * (1 + given["replicas"])


def network_bytes_per_s(given: Inputs) -> float:
    pages = given["lists"] * given["page_redis_bytes"]
    return pages + check_requests(given) * given["check_redis_bytes"]


def broker_servers(given: Inputs) -> float:
    return 1 + given["replicas"]


QUANTITIES = (
    Quantity(PART, "cached values", "GiB", lambda i: value_bytes(i) / GIB),
    Quantity(PART, "memory with fragmentation", "GiB", lambda i: resident_bytes(i) / GIB),
    Quantity(PART, "cores", "cores", cores),
    Quantity(PART, "primaries", "servers", primaries),
    Quantity(PART, "machines, with replicas", "machines", servers),
    Quantity(PART, "network", "Gbit/s", lambda i: network_bytes_per_s(i) * 8 / GB),
    Quantity(BROKER, "servers beside three sentinels", "servers", broker_servers),
)
