"""What the stores need to be told. Knows nothing of where it is written down."""

from dataclasses import dataclass

CLUSTER = "+cluster"
"""Behind the scheme of the address of a Redis Cluster."""

REDIS_SCHEMES = ("redis", "rediss", "unix")
CACHE_SCHEMES = (*REDIS_SCHEMES, f"redis{CLUSTER}", f"rediss{CLUSTER}")


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Where the servers are, and the bounds of everything that waits or remembers."""

    database_url: str
    redis_url: str
    """Of arq's queue, the log and the bell; and of the caches, unless these have a `cache_url`."""
    space: str = "public"
    """A business of its own: a PostgreSQL schema, a key prefix and a queue."""

    cache_url: str | None = None
    """Another server for the caches; or, as `redis+cluster://`, any server of a Redis Cluster."""

    pool_max: int = 8
    """Connections a process: 8 served more requests a second than 2 or 24."""
    acquire_timeout_s: float = 2.0
    statement_timeout_s: float = 5.0
    statement_cache_size: int = 200
    """0 behind a PgBouncer older than 1.21 in transaction mode."""

    redis_connections_max: int = 64
    redis_timeout_s: float = 0.5
    redis_retry_after_s: float = 0.25
    """How long a failing Redis is left alone before it is tried again."""

    cache_ttl_s: int = 3600
    own_writes_ttl_s: int = 60
    lease_ms: int = 2000
    lease_wait_ms: int = 30
    """How long a reader waits for another one's fill before it reads PostgreSQL itself."""
    relation_cache_max: int = 5000
    """Edges a direction in one relation hash: a user with more followers is a whale."""
    list_cache_max: int = 5000
    """Entries, newest first, in one packed list."""
    stretch_max: int = 500
    """Entries that are read at once, and remembered for a minute, for a walk beyond those."""

    absent_age_ms: int = 500
    """How old may be what a process knows of who is not here."""

    hot_ttl_ms: int = 5000
    """How long a process remembers what it has read of a hot user; 0: it remembers nothing."""
    hot_often: int = 20
    """Questions to one cache within that time that make a user hot: copying a hash of a thousand
    edges costs as much as some thirty checks."""
    hot_entries_max: int = 10_000
    """Users of each kind of value."""
    hot_bytes_max: int = 64_000_000
    """All values together."""
    events_max: int = 50_000
    """Events of each lane that the change feed keeps: about 100 bytes each."""
    events_kept_s: int = 86_400
    feed_max: int = 1_000
    """Events that are kept for one subscriber to come back to."""
    feed_kept_s: int = 86_400
    """For how long after they were last there."""
    documents_kept_s: int = 86_400
    """Persisted documents, since they were last sent or asked for."""
    subscriptions_max: int = 20_000
    """How many a process serves at once."""

    @property
    def caches_at(self) -> str:
        return self.cache_url or self.redis_url
