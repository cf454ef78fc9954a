"""Disks, WAL, backups and machines of PostgreSQL."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import misses, users
from gateway.capacity.quantity import BLOCK, DAY_S, GB, HOUR_S, MB, US, Quantity

PART = "PostgreSQL"


def fresh_bytes(given: Inputs) -> float:
    """Bytes of one copy of the tables, freshly loaded, with their indexes."""
    return given["edges"] * given["edge_bytes"] + users(given) * given["user_bytes"]


def table_bytes(given: Inputs) -> float:
    """Bytes of one copy of the tables with bloat, and of the receipts and tombstones in them."""
    daily = given["writes"] * DAY_S
    receipts = daily * given["receipt_days"] * given["receipt_bytes"]
    ended = daily * given["ended_share"] * given["tombstone_days"]
    return fresh_bytes(given) * given["bloat"] + receipts + ended * given["tombstone_bytes"]


def wal_bytes_per_s(given: Inputs) -> float:
    """Bytes of WAL a second that writes cause, with images of whole blocks after checkpoints."""
    images = given["write_image_bytes"] * given["image_share"] * given["image_ratio"]
    return given["writes"] * (given["write_wal_bytes"] + images)


def disk_bytes(given: Inputs) -> float:
    """Bytes of disk for one copy: tables, waiting WAL and headroom."""
    wal = wal_bytes_per_s(given) * HOUR_S * given["wal_hours"]
    return (table_bytes(given) + wal) / given["disk_full"]


def backup_bytes(given: Inputs) -> float:
    """Bytes of all backups that are kept, and of the archive of WAL."""
    full = given["backups"] * table_bytes(given) * given["backup_ratio"]
    archive = wal_bytes_per_s(given) * DAY_S * given["archive_days"] * given["archive_ratio"]
    return full + archive


def blocks_per_miss(given: Inputs) -> float:
    """Blocks of a read with nothing cached: those of indexes, which contain all columns of an edge,
    and one of a table for each row whose block has changed since VACUUM. In tables that were filled
    by single writes, each row of a user is in another block."""
    return given["miss_blocks"] + 2 * given["edges_per_user"] * given["heap_fetches"]


def blocks_per_write(given: Inputs) -> float:
    """Blocks that a write changes, after it has read those that are not in memory."""
    return given["write_image_bytes"] / BLOCK


def reads_per_s(given: Inputs) -> float:
    """Blocks a second that misses and writes read from disk."""
    blocks = misses(given) * blocks_per_miss(given) + given["writes"] * blocks_per_write(given)
    return blocks * (1 - given["memory_share"])


def writes_per_s(given: Inputs) -> float:
    """Blocks a second that checkpoints write, and WAL flushes: at most one for each write."""
    return given["writes"] * (blocks_per_write(given) * given["image_share"] + 1)


def cores(given: Inputs) -> float:
    """Cores of all machines for misses and writes, at the planned load of a core."""
    return _cores(given, is_citus=is_citus(given))


def _cores(given: Inputs, *, is_citus: bool) -> float:
    write = given["write_postgres_us"] * (given["write_citus_ratio"] if is_citus else 1)
    used = misses(given) * _miss_us(given, is_citus=is_citus) + given["writes"] * write
    return used * US / given["busy"]


def miss_us(given: Inputs) -> float:
    """CPU microseconds of all machines for a read with nothing cached."""
    return _miss_us(given, is_citus=is_citus(given))


def _miss_us(given: Inputs, *, is_citus: bool) -> float:
    return given["miss_postgres_us"] * (given["miss_citus_ratio"] if is_citus else 1)


def is_citus(given: Inputs) -> bool:
    """Whether one copy needs more than one machine."""
    return _primaries(given, _cores(given, is_citus=False)) > 1


def primaries(given: Inputs) -> int:
    """The number of machines for one copy."""
    return _primaries(given, cores(given))


def _primaries(given: Inputs, cores: float) -> int:
    return ceil(
        max(
            cores / given["cores"],
            disk_bytes(given) / (given["disk_gb"] * GB),
            (reads_per_s(given) + writes_per_s(given)) / (given["disk_iops"] * given["busy"]),
        )
    )


def machines(given: Inputs) -> float:
    """The number of machines for all copies."""
    return primaries(given) * given["copies"]


def restore_hours(given: Inputs) -> float:
    """Hours to restore a backup: all machines copy at once, and then replay a day's WAL as fast."""
    copied = (table_bytes(given) + wal_bytes_per_s(given) * DAY_S) / primaries(given)
    return copied / (given["restore_mb_per_s"] * MB) / HOUR_S


QUANTITIES = (
    Quantity(PART, "tables and indexes, freshly loaded", "GB", lambda i: fresh_bytes(i) / GB),
    Quantity(
        PART, "one copy, with bloat, receipts and tombstones", "GB", lambda i: table_bytes(i) / GB
    ),
    Quantity(PART, "disk of one copy, with WAL and headroom", "GB", lambda i: disk_bytes(i) / GB),
    Quantity(PART, "disk of all copies", "GB", lambda i: disk_bytes(i) * i["copies"] / GB),
    Quantity(PART, "backups and WAL archive", "GB", lambda i: backup_bytes(i) / GB),
    Quantity(PART, "WAL", "MB/s", lambda i: wal_bytes_per_s(i) / MB),
    Quantity(PART, "blocks read by a miss", "blocks", blocks_per_miss),
    Quantity(PART, "blocks read from disk", "1/s", reads_per_s),
    Quantity(PART, "blocks written and WAL flushes", "1/s", writes_per_s),
    Quantity(PART, "cores", "cores", cores),
    Quantity(PART, "machines for one copy", "machines", primaries),
    Quantity(PART, "machines", "machines", machines),
    Quantity(PART, "restore of a backup and a day's WAL", "hours", restore_hours),
)
