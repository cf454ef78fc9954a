"""Distributes the tables of a space over the machines of Citus, as `placement` says."""

import re

from storage.postgres.citus.placement import DISTRIBUTED, REFERENCE
from storage.postgres.connection.connector import IS_CITUS, Connection

_CITUS_TABLES = """
SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = current_schema()::regnamespace
"""

_SEQUENTIAL = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'"
"""Citus then uses one connection to each machine: further ones would not see what this transaction
has created."""

_DISTRIBUTE = """
SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3, shard_count => $4)
"""
_COLOCATE = "SELECT create_distributed_table($1::text::regclass, $2, colocate_with => $3)"
_COPY_TO_ALL = "SELECT create_reference_table($1::text::regclass)"
_TRUNCATE_LOCAL = "SELECT truncate_local_data_after_distributing_table($1::text::regclass)"

_PARTITIONED = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'p'
ORDER BY relname
"""
_INDEXES = """
SELECT x.indexrelid::regclass::text AS name, pg_get_indexdef(x.indexrelid) AS definition,
    pg_get_constraintdef(c.oid) AS constrains
FROM pg_index x LEFT JOIN pg_constraint c ON c.conindid = x.indexrelid
WHERE x.indrelid = $1::text::regclass ORDER BY name
"""

_STORAGE = {
    "affinity": "fillfactor = 85",
    "following": "autovacuum_vacuum_insert_scale_factor = 0.02",
    "follower": "autovacuum_vacuum_insert_scale_factor = 0.02",
}
"""Storage parameters of the partitions of a table, which the table without partitions gets."""

_ORDER_OUTBOX = """
ALTER TABLE outbox ALTER id DROP IDENTITY IF EXISTS, ALTER id SET DEFAULT next_change_id()
"""
"""With an identity column, each machine would take ids from a sequence of its own, so a later
change could have a lower id: see functions/next_change_id.sql."""

_IS_COORDINATOR = "SELECT groupid = 0 FROM pg_catalog.pg_dist_local_group"

_DELIVERY_KEY = """
SELECT count(*) FROM pg_constraint c CROSS JOIN unnest(c.conkey)
WHERE c.conrelid = 'webhook_delivery'::text::regclass AND c.contype = 'p'
"""
_WIDEN_DELIVERY_KEY = (
    "ALTER TABLE webhook_delivery DROP CONSTRAINT webhook_delivery_pkey",
    """ALTER TABLE webhook_delivery ADD CONSTRAINT webhook_delivery_pkey
    PRIMARY KEY (endpoint, change_id, source_id)""",
)
"""On Citus, an id of the outbox is unique only together with the source: see
functions/next_change_id.sql."""
_DELIVERY_KEY_COLUMNS = 3

_FUNCTIONS = """
SELECT p.oid::regprocedure::text AS signature FROM pg_proc p
WHERE p.pronamespace = current_schema()::regnamespace AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_dist_object o
    WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid
)
"""
_DISTRIBUTE_FUNCTION = "SELECT create_distributed_function($1)"


async def is_coordinator(connection: Connection) -> bool:
    """Whether this machine of Citus is the coordinator."""
    return bool(await connection.fetchval(_IS_COORDINATOR))


async def is_distributed(connection: Connection) -> bool:
    """Whether the tables of the space are on Citus."""
    return bool(await connection.fetchval(IS_CITUS)) and bool(await connection.fetch(_CITUS_TABLES))


async def distribute(connection: Connection, shards: int) -> list[str]:
    """Distribute those tables and functions of the space that are not distributed. Returns their
    names.

    Needs a transaction. Moves all rows, and locks the tables until the transaction ends.

    Raises:
        ValueError: the database has no Citus.
    """
    if not await connection.fetchval(IS_CITUS):
        raise ValueError("This database has no Citus: run CREATE EXTENSION citus on each machine.")
    await connection.execute(_SEQUENTIAL)
    citus_tables = {row["relname"] for row in await connection.fetch(_CITUS_TABLES)}
    first_table = next(iter(DISTRIBUTED))
    missing = [table for table in DISTRIBUTED if table not in citus_tables]
    missing_references = sorted(REFERENCE - citus_tables)
    if "outbox" in missing:
        await connection.execute(_ORDER_OUTBOX)
    if await connection.fetchval(_DELIVERY_KEY) < _DELIVERY_KEY_COLUMNS:
        for statement in _WIDEN_DELIVERY_KEY:
            await connection.execute(statement)
    for table in missing_references:
        await connection.execute(_COPY_TO_ALL, table)
    for table in missing:
        if table == first_table:
            await connection.execute(_DISTRIBUTE, table, DISTRIBUTED[table], "none", shards)
        else:
            await connection.execute(_COLOCATE, table, DISTRIBUTED[table], first_table)
    for table in [*missing, *missing_references]:
        await connection.execute(_TRUNCATE_LOCAL, table)
    functions = [row["signature"] for row in await connection.fetch(_FUNCTIONS)]
    for signature in functions:
        await connection.execute(_DISTRIBUTE_FUNCTION, signature)
    return [*missing, *missing_references, *functions]


async def merge_partitions(connection: Connection) -> list[str]:
    """Replace each partitioned table by one without partitions. Returns their names."""
    tables = [row["relname"] for row in await connection.fetch(_PARTITIONED)]
    for table in tables:
        await _merge(connection, table)
    return tables


async def _merge(connection: Connection, table: str) -> None:
    """Replace a partitioned table by one without partitions, with the same rows and indexes.

    The indexes are created after the copy, which is faster than updating them for each row.
    """
    indexes = await connection.fetch(_INDEXES, table)
    old = f"{table}_partitioned"
    parameters = f"WITH ({_STORAGE[table]})" if table in _STORAGE else ""
    await connection.execute(f"ALTER TABLE {table} RENAME TO {old}")
    await connection.execute(
        f"CREATE TABLE {table} (LIKE {old} INCLUDING ALL EXCLUDING INDEXES) {parameters}"
    )
    await connection.execute(f"INSERT INTO {table} SELECT * FROM {old}")  # noqa: S608 - our names
    await connection.execute(f"DROP TABLE {old}")
    for index in indexes:
        if index["constrains"]:
            key = f"ADD CONSTRAINT {index['name']} {index['constrains']}"
            await connection.execute(f"ALTER TABLE {table} {key}")
        else:
            await connection.execute(re.sub(r" ON ONLY ", " ON ", index["definition"], count=1))
