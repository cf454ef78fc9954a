"""The settings of the stores."""

from dataclasses import dataclass, field

CLUSTER = "+cluster"
"""Suffix of the URL scheme for a Redis Cluster."""

REDIS_SCHEMES = ("redis", "rediss", "unix")
CACHE_SCHEMES = (*REDIS_SCHEMES, f"redis{CLUSTER}", f"rediss{CLUSTER}")


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Server addresses, and the bounds of pools, caches and queues."""

    database_url: str = field(repr=False)  # like the others, it may hold a password
    redis_url: str = field(repr=False)
    """Server of arq's queue, the event log and the change notifier; also of the caches without
    `cache_url`."""
    space: str = "public"
    """A tenant: a PostgreSQL schema, a key prefix and a queue."""

    cache_url: str | None = field(default=None, repr=False)
    """A separate server for the caches or, with `redis+cluster://`, any server of a Redis
    Cluster."""

    pool_max: int = 8
    """Connections of a process. 8 served more requests per second than 2 or 24."""
    acquire_timeout_s: float = 2.0
    statement_timeout_s: float = 5.0
    statement_cache_size: int = 200
    """Use 0 behind a PgBouncer older than 1.21 in transaction mode."""

    redis_connections_max: int = 64
    redis_timeout_s: float = 0.5
    redis_retry_after_s: float = 0.25
    """How long a failing Redis is not called."""

    cache_ttl_s: int = 3600
    own_writes_ttl_s: int = 60
    lease_ms: int = 2000
    lease_wait_ms: int = 30
    """How long a reader waits for another one's fill before it reads PostgreSQL itself."""
    relation_cache_max: int = 5000
    """Maximum number of edges in each direction of a relation hash. A user with more followers is a
    whale."""
    list_cache_max: int = 5000
    """Entries in a cached list head, newest first."""
    range_cache_max: int = 500
    """Entries of a page range, read at once and cached for a minute, for readers beyond the
    head."""

    absent_age_ms: int = 500
    """Maximum age of a process's set of absent accounts."""

    hot_ttl_ms: int = 5000
    """How long a process keeps a hot user's values; 0 disables the local cache."""
    hot_often: int = 20
    """Requests to one cache within that time that make a user hot. Copying a hash of a thousand
    edges costs as much as about thirty checks."""
    hot_entries_max: int = 10_000
    """Users for each kind of value."""
    hot_bytes_max: int = 64_000_000
    """For all values together."""
    events_max: int = 50_000
    """Events kept in each lane's change feed, about 100 bytes each."""
    events_kept_s: int = 86_400
    feed_max: int = 1_000
    """Events kept for one subscriber."""
    feed_kept_s: int = 86_400
    """For how long after the subscriber's last read."""
    documents_kept_s: int = 86_400
    """How long a persisted document is kept after its last use."""
    subscriptions_max: int = 20_000
    """Maximum number of concurrent subscriptions in a process."""

    @property
    def caches_at(self) -> str:
        return self.cache_url or self.redis_url
