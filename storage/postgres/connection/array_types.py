"""The array types that statements use, so that the driver need not read them on each connection.

The types of single values are built into the driver. It reads any other type from the catalogs when
a connection first uses it, with a statement that also describes the row types of all tables. That
took 22 ms of the server's CPU for each connection, and 17 s on a machine of Citus with 128 shards,
which checks for each table whether it is a shard.
"""

from typing import Final

ARRAY_TYPES: Final = {
    "bool": (16, 1000),
    "int8": (20, 1016),
    "int2": (21, 1005),
    "int4": (23, 1007),
    "float8": (701, 1022),
    "uuid": (2950, 2951),
}
"""For each element type, its OID and the OID of its array type, which are the same in each
database. text[] is built into the driver."""

DRIVER_TYPES: Final = tuple(
    {
        "oid": array,
        "ns": "pg_catalog",
        "name": f"_{name}",
        "kind": "b",
        "basetype": None,
        "elemtype": element,
        "elemdelim": ",",
        "range_subtype": None,
        "attrtypoids": None,
        "attrnames": None,
    }
    for name, (element, array) in ARRAY_TYPES.items()
)
"""`ARRAY_TYPES` as rows that the driver's introspection statement returns
(`asyncpg.introspection`)."""
