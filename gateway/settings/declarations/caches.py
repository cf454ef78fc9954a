"""The settings of caches, and of the verification of what is stored."""

from gateway.settings.fields import (
    Group,
    Switch,
    WholeNumber,
    number,
    switch,
)


class CacheVariables(Group):
    """Caches and freshness"""

    freshness_wait_ms: WholeNumber = number(
        "KITH_FRESHNESS_WAIT_MS",
        1_000,
        "how long a request with a [consistency token](freshness.md) waits before it fails with"
        " `STALE`",
        minimum=0,
        maximum=9_000,
        unit="ms",
    )
    cache_ttl_s: WholeNumber = number(
        "KITH_CACHE_TTL_S",
        3_600,
        "the longest TTL of a cached value; of an account and totals, 300 s at most",
        minimum=1,
        unit="s",
    )
    delayed_writes: Switch = switch(
        "KITH_DELAYED_WRITES",
        True,
        "whether changes are made while the caches are unavailable: their writers may [see them"
        " late](freshness.md#the-writer-sees-the-write). If not, changes of cached data fail with"
        " `UNAVAILABLE`",
    )
    hot_ttl_ms: WholeNumber = number(
        "KITH_HOT_TTL_MS",
        5_000,
        "TTL of hot users in the local cache; 0 disables it",
        minimum=0,
        maximum=60_000,
        unit="ms",
    )
    hot_mb: WholeNumber = number(
        "KITH_HOT_MB", 64, "size of the local cache", minimum=1, maximum=65_536, unit="MB"
    )


class VerificationVariables(Group):
    """Verification"""

    rows_per_minute: WholeNumber = number(
        "KITH_VERIFY_ROWS_PER_MINUTE",
        100_000,
        "how many rows the workers [verify](operations.md#scheduled-verification) in a minute; 0:"
        " none",
        minimum=0,
        maximum=10_000_000,
        unit="rows a minute",
    )
