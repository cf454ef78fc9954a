"""Advisory locks of lanes and pairs, as the service takes them, and the sessions that wait.

On Citus they are on the machine of a user: see `storage/postgres/functions/lock_at.sql`.
"""

from storage.postgres.connection.pool import Postgres

LOCK_LANE = "SELECT lock_at($2::integer, $1, $2)"
"""Locks the lane $2 of the class $1 until the end of the transaction, as drains do."""

LOCK_PAIR = "SELECT lock_at(least($1::bigint, $2::bigint), 1, pair_slot($1, $2))"
"""Locks the pair of the users $1 and $2 until the end of the transaction, as writers do."""

_WAITING = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND objsubid = 2 AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_WAITING_ON_CITUS = f"""
SELECT sum(result::bigint)::bigint AS count
FROM run_command_on_all_nodes($command${_WAITING}$command$)
"""


async def waiting(postgres: Postgres) -> int:
    """The number of sessions that wait for an advisory lock, on all machines."""
    row = await postgres.row(_WAITING_ON_CITUS if await postgres.is_citus() else _WAITING)
    assert row is not None
    return int(row["count"])
