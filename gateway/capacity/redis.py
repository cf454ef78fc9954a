"""Memory and servers of the caches, and of the broker."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import check_requests, cpu_s, users
from gateway.capacity.quantity import GB, GIB, Quantity

PART, BROKER = "caches", "broker"

CLUSTER_MIN = 3
"""The fewest primaries of a Redis Cluster."""


def value_bytes(inputs: Inputs) -> float:
    """Bytes of all cached values, once each."""
    return users(inputs) * inputs["cached_users"] * inputs["cached_user_bytes"]


def resident_bytes(inputs: Inputs) -> float:
    """The memory that all primaries take for the cached values."""
    return value_bytes(inputs) * inputs["fragmentation"]


def cores(inputs: Inputs) -> float:
    """Cores of all primaries, at the planned load of a core."""
    return cpu_s(inputs, "valkey") / inputs["busy"]


def primaries(inputs: Inputs) -> int:
    """The number of primaries. Each executes commands on one core."""
    bytes_per_primary = inputs["memory_gib"] * GIB * inputs["redis_memory"]
    needed = ceil(max(resident_bytes(inputs) / bytes_per_primary, cores(inputs), 1))
    return needed if needed == 1 else max(needed, CLUSTER_MIN)


def is_cluster(inputs: Inputs) -> bool:
    return primaries(inputs) > 1


def servers(inputs: Inputs) -> float:
    """The number of primaries and replicas, each on a machine."""
    return primaries(inputs) * (1 + inputs["replicas"])


def network_bytes_per_s(inputs: Inputs) -> float:
    pages = inputs["lists"] * inputs["page_redis_bytes"]
    return pages + check_requests(inputs) * inputs["check_redis_bytes"]


def broker_servers(inputs: Inputs) -> float:
    return 1 + inputs["replicas"]


QUANTITIES = (
    Quantity(PART, "cached values", "GiB", lambda i: value_bytes(i) / GIB),
    Quantity(PART, "memory with fragmentation", "GiB", lambda i: resident_bytes(i) / GIB),
    Quantity(PART, "cores", "cores", cores),
    Quantity(PART, "primaries", "servers", primaries),
    Quantity(PART, "machines, with replicas", "machines", servers),
    Quantity(PART, "network", "Gbit/s", lambda i: network_bytes_per_s(i) * 8 / GB),
    Quantity(BROKER, "servers beside three sentinels", "servers", broker_servers),
)
