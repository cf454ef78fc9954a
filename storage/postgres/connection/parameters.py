"""The parameters of PostgreSQL for the connections of requests."""

from collections.abc import Mapping

from storage.settings import StorageSettings


def parameters(settings: StorageSettings) -> Mapping[str, str]:
    milliseconds = int(settings.connections.statement_timeout_s * 1000)
    return {
        "application_name": f"kith {settings.space}",
        "statement_timeout": str(milliseconds),
        # Longer than any pause of a busy event loop, and short enough for other transactions to
        # wait for the locks of the idle one.
        "idle_in_transaction_session_timeout": str(3 * milliseconds),
        # Statements are small and few. Planning each one again over all partitions, for bitmap
        # scans or for parallel workers, costs several times as much as running it.
        "plan_cache_mode": settings.connections.plan_cache_mode or "force_generic_plan",
        "enable_bitmapscan": "off",
        "max_parallel_workers_per_gather": "0",
        "jit": "off",
    }


def parameters_on_citus(settings: StorageSettings) -> Mapping[str, str]:
    """The parameters that are added to `parameters`, or replace them, if the database has Citus."""
    return {
        "plan_cache_mode": settings.connections.plan_cache_mode or "auto",
        # If this is on, the coordinator locks shards for a statement on several shards, until its
        # transaction ends. The statements of two drains lock the shards in different orders, so the
        # drains were cancelled because of a deadlock. Kith locks rows in a fixed order instead.
        "citus.enable_deadlock_prevention": "off",
    }
