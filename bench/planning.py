"""Computes machines from measured figures and stated assumptions."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Demand:
    """The load of a service."""

    edges: int = 5_000_000_000
    writes_per_s: int = 1_000
    pages_per_s: int = 200_000
    checks_per_s: int = 500_000
    ids_per_check: int = 20
    """The ids that one request checks: one screen of a list."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions, which are not measured."""

    busy: float = 0.5
    """The planned load of a core; the rest is for peaks and for a failed machine."""
    hits: float = 0.95
    """The share of reads that find a filled cache."""
    cached_users: float = 0.2
    """The share of users who have cached values at a time."""
    copies: int = 2
    """Copies of all data in PostgreSQL: a primary and a standby."""
    table_slack: float = 1.3
    """The factor by which updates and half-filled pages enlarge freshly loaded tables."""
    cores: int = 16
    memory_gib: int = 64
    disk_gib: int = 2_000
    """The disk of one machine."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured figures: CPU microseconds by process, bytes by content."""

    page_us: Mapping[str, float]
    """A page of 20 from the caches: gateway, valkey."""
    check_us: Mapping[str, float]
    """A request of `Demand.ids_per_check` checks from the caches: gateway, valkey."""
    miss_us: Mapping[str, float]
    """The mean of both with nothing cached: gateway, valkey, postgres."""
    write_us: Mapping[str, float]
    """A follow: gateways, worker, postgres, valkey."""
    bytes_per_edge: float
    """In both tables with their indexes."""
    bytes_per_user: float
    """In both count tables with their indexes."""
    edges_per_user: float
    cached_bytes_per_user: float
    """All cached values of one ordinary user."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one part of the service needs."""

    part: str
    cores: float
    memory_gib: float
    disk_gib: float
    machines: int


def needs(demand: Demand, figures: Figures, given: Assumptions) -> list[Need]:
    """Machines for each part, alone on its machines."""
    users = demand.edges / figures.edges_per_user
    cpu = _cpu_s(demand, figures, given)
    disk = (
        given.table_slack
        * given.copies
        * (demand.edges * figures.bytes_per_edge + users * figures.bytes_per_user)
    )
    memory = users * given.cached_users * figures.cached_bytes_per_user
    return [
        _need("gateways", cpu["gateway"], 0, 0, given),
        _need("workers", cpu["worker"], 0, 0, given),
        _need("caches", cpu["valkey"], memory, 0, given),
        _need("PostgreSQL", cpu["postgres"] * given.copies, 0, disk, given),
    ]


def _cpu_s(demand: Demand, figures: Figures, given: Assumptions) -> dict[str, float]:
    """CPU seconds per second, by process."""
    checks_per_s = demand.checks_per_s / demand.ids_per_check
    reads_per_s = demand.pages_per_s + checks_per_s
    used = dict.fromkeys(("gateway", "worker", "valkey", "postgres"), 0.0)
    for costs, per_s in (
        (figures.page_us, demand.pages_per_s * given.hits),
        (figures.check_us, checks_per_s * given.hits),
        (figures.miss_us, reads_per_s * (1 - given.hits)),
        (figures.write_us, demand.writes_per_s),
    ):
        for who, microseconds in costs.items():
            used[who] += microseconds / 1e6 * per_s
    return used


def _need(
    part: str, cpu_s: float, memory_bytes: float, disk_bytes: float, given: Assumptions
) -> Need:
    cores, memory, disk = cpu_s / given.busy, memory_bytes / GIB, disk_bytes / GIB
    machines = max(cores / given.cores, memory / given.memory_gib, disk / given.disk_gib)
    return Need(part, cores, memory, disk, max(2, ceil(machines)))
