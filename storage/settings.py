"""The settings of the stores."""

from dataclasses import dataclass, field
from pathlib import Path

CLUSTER = "+cluster"
"""Suffix of the URL scheme for a Redis Cluster."""

SENTINEL = "+sentinel"
"""Suffix of the URL scheme for a group of servers that sentinels watch."""

REDIS_SCHEMES = ("redis", "rediss", "unix", f"redis{SENTINEL}", f"rediss{SENTINEL}")
CACHE_SCHEMES = (*REDIS_SCHEMES, f"redis{CLUSTER}", f"rediss{CLUSTER}")


PLAN_CACHE_MODES = ("auto", "force_generic_plan", "force_custom_plan")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Connections of a process to PostgreSQL and Redis, and their timeouts."""

    direct_database_url: str | None = field(default=None, repr=False)
    """Without a pooler, for jobs that need sessions. None: `StorageSettings.database_url`."""
    database_password_file: Path | None = None
    """Read for each connection. None: the URL's password."""
    pool_max: int = 8
    """Connections to PostgreSQL. 8 served more requests per second than 2 or 24."""
    acquire_timeout_s: float = 2.0
    """How long a caller waits for a connection to PostgreSQL, and how long opening one may take."""
    statement_timeout_s: float = 5.0
    statement_cache_size: int = 200
    """0 behind a pooler that does not support prepared statements, which is detected."""
    plan_cache_mode: str | None = None
    """How PostgreSQL plans prepared statements: one of `PLAN_CACHE_MODES`. None: `auto` on Citus,
    which needs the parameters' values to find a machine; else generic plans, which cost least."""
    redis_connections_max: int = 64
    """Maximum number of connections of a worker's arq client. Other commands do not use them."""
    redis_timeout_s: float = 0.5
    redis_retry_after_s: float = 0.25
    """How long a Redis server is not called after a failure."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The lease that one reader at a time takes to fill a missing cached value."""

    ms: int = 2000
    """How long a lease lasts."""
    wait_ms: int = 30
    """How long a reader waits for the reader with the lease, before it reads PostgreSQL itself."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The caches in Redis."""

    url: str | None = field(default=None, repr=False)
    """A separate server for the caches or, with `redis+cluster://`, any server of a Redis
    Cluster. None: `StorageSettings.redis_url`."""
    ttl_s: int = 3600
    """How long relations and list heads are cached. Profiles are cached for 300 s at most."""
    no_pending_ttl_s: int = 60
    """How long it is cached that a user has no pending writes."""
    delayed_writes: bool = True
    """Whether changes are made while the caches cannot be reached. Other gateways may then show
    the writer the previous state for a while. If false, such changes fail."""
    lease: LeaseSettings = field(default_factory=LeaseSettings)
    relations_max: int = 5000
    """Maximum number of edges in each direction of a relation hash. A user with more in one
    direction is a whale."""
    list_max: int = 5000
    """Entries in a cached list head, newest first."""
    range_max: int = 500
    """Entries of a page range: those beyond the head that are read at once and cached for a
    minute."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Limits of a process's local cache of hot users, and of its set of absent accounts."""

    ttl_ms: int = 5000
    """How long the values of a hot user are kept; 0 disables the local cache."""
    requests_to_copy: int = 20
    """Requests for one kind of values within `ttl_ms` that make a user hot. Copying a relation hash
    of a thousand edges costs as much as about thirty checks."""
    entries_max: int = 10_000
    """Users for each kind of value."""
    bytes_max: int = 64_000_000
    """For all values together."""
    absent_age_ms: int = 500
    """Maximum age of the set of absent accounts."""


@dataclass(frozen=True, slots=True)
class EventSettings:
    """How many events are kept, and for whom."""

    events_max: int = 50_000
    """Events kept in each stream of the change feed, about 100 bytes each."""
    events_kept_s: int = 86_400
    """How long the change feed keeps an event."""
    feed_max: int = 1_000
    """Events kept for one subscriber."""
    feed_kept_s: int = 86_400
    """How long a feed is kept after the subscriber's last read."""
    subscriptions_max: int = 20_000
    """Maximum number of concurrent subscriptions to this space in a process."""
    whispers_hidden: bool = False
    """Whether whispers are hidden from their targets, whose feeds do not contain them then."""


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Server addresses, and the bounds of pools, caches and queues."""

    database_url: str = field(repr=False)  # like the others, it may hold a password
    redis_url: str = field(repr=False)
    """Server of arq's queue, the event log and the change notifier; also of the caches without
    `cache.url`."""
    space: str = "public"
    """A tenant: a PostgreSQL schema, a key prefix and a queue."""
    connections: ConnectionSettings = field(default_factory=ConnectionSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    local: LocalSettings = field(default_factory=LocalSettings)
    events: EventSettings = field(default_factory=EventSettings)

    @property
    def caches_at(self) -> str:
        return self.cache.url or self.redis_url
