"""Writes that are lost with a region, and reads that the region that takes over can serve."""

from gateway.capacity import postgres
from gateway.capacity.inputs import Inputs
from gateway.capacity.load import reads, users
from gateway.capacity.quantity import GB, HOUR_S, US, Quantity

PART = "a region that fails"

READS_PER_USER = 2
"""Cold reads that fill the values of one user: a check and a page."""


def lost_writes(inputs: Inputs) -> float:
    """The number of acknowledged writes that an asynchronous standby in the other region lacks."""
    return inputs["writes"] * inputs["region_lag_s"]


def cold_reads_per_s(inputs: Inputs) -> float:
    """Reads a second that PostgreSQL's disks and cores can serve while all caches are empty."""
    blocks = postgres.blocks_per_miss(inputs) * (1 - inputs["memory_share"])
    by_disks = inputs["disk_iops"] / max(blocks, 1)
    by_cores = inputs["cores"] / (postgres.miss_us(inputs) * US)
    return postgres.primaries(inputs) * min(by_disks, by_cores)


def share_served(inputs: Inputs) -> float:
    """The share (0 to 1) of all reads that can be served before the caches are filled."""
    needed = reads(inputs)
    return min(1.0, cold_reads_per_s(inputs) / needed) if needed else 1.0


def warm_hours(inputs: Inputs) -> float:
    """Hours until the caches hold the values of all users who are cached at a time."""
    cold_reads = users(inputs) * inputs["cached_users"] * READS_PER_USER
    return cold_reads / cold_reads_per_s(inputs) / HOUR_S


QUANTITIES = (
    Quantity(PART, "acknowledged writes that are lost", "writes", lost_writes),
    Quantity(PART, "reads served with empty caches", "1/s", cold_reads_per_s),
    Quantity(PART, "the same, of all reads", "%", lambda i: 100 * share_served(i)),
    Quantity(PART, "until the caches are filled", "hours", warm_hours),
    Quantity(
        PART,
        "network for replication to the other region",
        "Gbit/s",
        lambda i: postgres.wal_bytes_per_s(i) * 8 / GB,
    ),
)
