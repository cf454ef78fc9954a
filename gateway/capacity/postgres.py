"""Disks, WAL, backups and machines of PostgreSQL."""

from math import ceil

from gateway.capacity.inputs import Inputs
from gateway.capacity.load import misses, users
from gateway.capacity.quantity import BLOCK, DAY_S, GB, HOUR_S, MB, US, Quantity

PART = "PostgreSQL"


def fresh_bytes(inputs: Inputs) -> float:
    """Bytes of one copy of the tables, freshly loaded, with their indexes."""
    return inputs["edges"] * inputs["edge_bytes"] + users(inputs) * inputs["user_bytes"]


def table_bytes(inputs: Inputs) -> float:
    """Bytes of one copy of the tables with bloat, and of the receipts and tombstones in them."""
    daily = inputs["writes"] * DAY_S
    receipts = daily * inputs["receipt_days"] * inputs["receipt_bytes"]
    ended = daily * inputs["ended_share"] * inputs["tombstone_days"]
    return fresh_bytes(inputs) * inputs["bloat"] + receipts + ended * inputs["tombstone_bytes"]


def wal_bytes_per_s(inputs: Inputs) -> float:
    """Bytes of WAL a second that writes cause, with images of whole blocks after checkpoints."""
    images = inputs["write_image_bytes"] * inputs["image_share"] * inputs["image_ratio"]
    return inputs["writes"] * (inputs["write_wal_bytes"] + images)


def disk_bytes(inputs: Inputs) -> float:
    """Bytes of disk for one copy: tables, waiting WAL and headroom."""
    wal = wal_bytes_per_s(inputs) * HOUR_S * inputs["wal_hours"]
    return (table_bytes(inputs) + wal) / inputs["disk_full"]


def backup_bytes(inputs: Inputs) -> float:
    """Bytes of all backups that are kept, and of the archive of WAL."""
    full = inputs["backups"] * table_bytes(inputs) * inputs["backup_ratio"]
    archive = wal_bytes_per_s(inputs) * DAY_S * inputs["archive_days"] * inputs["archive_ratio"]
    return full + archive


def blocks_per_miss(inputs: Inputs) -> float:
    """Blocks of a read with nothing cached: those of indexes, which contain all columns of an edge,
    and one of a table for each row whose block has changed since VACUUM. In tables that were filled
    by single writes, each row of a user is in another block."""
    return inputs["miss_blocks"] + 2 * inputs["edges_per_user"] * inputs["heap_fetches"]


def blocks_per_write(inputs: Inputs) -> float:
    """Blocks that a write changes, after it has read those that are not in memory."""
    return inputs["write_image_bytes"] / BLOCK


def disk_reads_per_s(inputs: Inputs) -> float:
    """Blocks a second that misses and writes read from disk."""
    blocks = misses(inputs) * blocks_per_miss(inputs) + inputs["writes"] * blocks_per_write(inputs)
    return blocks * (1 - inputs["memory_share"])


def disk_writes_per_s(inputs: Inputs) -> float:
    """Blocks a second that checkpoints write, and WAL flushes: at most one for each write."""
    return inputs["writes"] * (blocks_per_write(inputs) * inputs["image_share"] + 1)


def cores(inputs: Inputs) -> float:
    """Cores of all machines for misses and writes, at the planned load of a core."""
    return _cores(inputs, is_citus=is_citus(inputs))


def _cores(inputs: Inputs, *, is_citus: bool) -> float:
    write = inputs["write_postgres_us"] * (inputs["write_citus_ratio"] if is_citus else 1)
    used = misses(inputs) * _miss_us(inputs, is_citus=is_citus) + inputs["writes"] * write
    return used * US / inputs["busy"]


def miss_us(inputs: Inputs) -> float:
    """CPU microseconds of all machines for a read with nothing cached."""
    return _miss_us(inputs, is_citus=is_citus(inputs))


def _miss_us(inputs: Inputs, *, is_citus: bool) -> float:
    return inputs["miss_postgres_us"] * (inputs["miss_citus_ratio"] if is_citus else 1)


def is_citus(inputs: Inputs) -> bool:
    """Whether one copy needs more than one machine."""
    return _primaries(inputs, _cores(inputs, is_citus=False)) > 1


def primaries(inputs: Inputs) -> int:
    """The number of machines for one copy."""
    return _primaries(inputs, cores(inputs))


def _primaries(inputs: Inputs, cores: float) -> int:
    """The number of machines for one copy, whose CPU work needs this many cores."""
    return ceil(
        max(
            cores / inputs["cores"],
            disk_bytes(inputs) / (inputs["disk_gb"] * GB),
            (disk_reads_per_s(inputs) + disk_writes_per_s(inputs))
            / (inputs["disk_iops"] * inputs["busy"]),
        )
    )


def machines(inputs: Inputs) -> float:
    """The number of machines for all copies."""
    return primaries(inputs) * inputs["copies"]


def restore_hours(inputs: Inputs) -> float:
    """Hours to restore a backup: all machines copy at once, and then replay a day's WAL as fast."""
    copied = (table_bytes(inputs) + wal_bytes_per_s(inputs) * DAY_S) / primaries(inputs)
    return copied / (inputs["restore_mb_per_s"] * MB) / HOUR_S


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
    Quantity(PART, "blocks read from disk", "1/s", disk_reads_per_s),
    Quantity(PART, "blocks written and WAL flushes", "1/s", disk_writes_per_s),
    Quantity(PART, "cores", "cores", cores),
    Quantity(PART, "machines for one copy", "machines", primaries),
    Quantity(PART, "machines", "machines", machines),
    Quantity(PART, "restore of a backup and a day's WAL", "hours", restore_hours),
)
