"""The assumptions of a plan, which depend on the deployment. `--assume NAME=VALUE` changes one."""

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from math import isfinite

from gateway.capacity.inputs import Input, Origin

_SHARE = "share"
"""The unit of values between 0 and 1."""

_LINES: tuple[tuple[str, float, str, str], ...] = (  # name, value, unit, meaning
    ("ids_per_check_request", 20, "ids", "Checks in one request. Their cost was measured with 20."),
    ("busy", 0.5, _SHARE, "Planned load of a core. The rest is for peaks and failed machines."),
    ("hits", 0.95, _SHARE, "Reads that find a filled cache. Watch `kith_cache_reads_total`."),
    ("cached_users", 0.2, _SHARE, "Users who have cached values at a time."),
    ("cores", 16, "cores", "Cores of a machine."),
    ("memory_gib", 64, "GiB", "Memory of a machine."),
    ("disk_gb", 2_000, "GB", "Disk of a machine."),
    (
        "disk_iops",
        100_000,
        "1/s",
        "Blocks that the disk of a machine reads or writes.",
    ),
    ("network_gbit", 10, "Gbit/s", "Network of a machine."),
    ("copies", 2, "copies", "Copies of PostgreSQL's data: a primary and its standbys."),
    ("bloat", 1.3, "factor", "Size of tables in use, compared with freshly loaded ones."),
    ("disk_full", 0.7, _SHARE, "How full a disk may be."),
    ("memory_share", 0.03, _SHARE, "Blocks of tables that PostgreSQL finds in memory."),
    (
        "heap_fetches",
        0.1,
        "share",
        "Rows whose block has changed since VACUUM: a cold read reads it.",
    ),
    ("receipt_bytes", 300, "bytes", "A receipt with its index; changes with a key have one."),
    ("receipt_days", 1, "days", "How long receipts are kept."),
    ("ended_share", 0.05, _SHARE, "Writes that end a relation, which leaves a tombstone."),
    ("tombstone_bytes", 200, "bytes", "A tombstone of a forward row, with its indexes."),
    ("tombstone_days", 90, "days", "How long workers keep these tombstones."),
    ("image_share", 0.5, _SHARE, "Page changes that are the first since a checkpoint."),
    ("image_ratio", 0.4, _SHARE, "Size of page images after `wal_compression`."),
    (
        "wal_hours",
        4,
        "hours",
        "WAL that waits on disk while a standby or the archive is unavailable.",
    ),
    ("backups", 2, "backups", "Full backups that are kept."),
    ("backup_ratio", 0.5, _SHARE, "Size of a compressed backup."),
    ("archive_days", 7, "days", "How far back a restore to a point in time reaches."),
    ("archive_ratio", 0.5, _SHARE, "Size of a compressed WAL archive."),
    ("restore_mb_per_s", 500, "MB/s", "Speed at which a machine restores a backup."),
    ("fragmentation", 1.2, "factor", "Memory that Redis takes, compared with what it stores."),
    ("redis_memory", 0.8, _SHARE, "Memory of a machine that `maxmemory` allows."),
    ("replicas", 1, "replicas", "Replicas of each primary of Redis."),
    ("pool_max", 8, "connections", "KITH_POOL_MAX: connections of a process to PostgreSQL."),
    ("http_bytes", 700, "bytes", "Headers of a request and its response, and their packets'."),
    ("region_lag_s", 2, "s", "How far an asynchronous standby of another region is behind."),
)

ASSUMPTIONS = tuple(Input(*line[:3], Origin.ASSUMED, line[3]) for line in _LINES)
_MAY_BE_0 = frozenset(
    (
        *("hits", "cached_users", "memory_share", "heap_fetches", "receipt_bytes", "receipt_days"),
        *("ended_share", "tombstone_bytes", "tombstone_days", "image_share", "wal_hours"),
        *("backups", "archive_days", "replicas", "region_lag_s"),
    )
)


def assumptions(changes: Iterable[str] = ()) -> tuple[Input, ...]:
    """All assumptions, with the changes `NAME=VALUE`.

    Raises:
        ValueError: a change has another form, an unknown name or an impossible value.
    """
    inputs = {one.name: one for one in ASSUMPTIONS}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"--assume takes NAME=VALUE, got {change!r}.")
        if name not in inputs:
            near = get_close_matches(name, inputs, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"{name!r} is not an assumption.{hint}")
        inputs[name] = replace(inputs[name], value=_parsed_value(inputs[name], text))
    return tuple(inputs.values())


def _parsed_value(assumption: Input, text: str) -> float:
    minimum = "at least 0" if assumption.name in _MAY_BE_0 else "more than 0"
    allowed = f"{minimum} and at most 1" if assumption.unit == _SHARE else minimum
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    is_above_minimum = value > 0 or (value == 0 and assumption.name in _MAY_BE_0)
    if not (isfinite(value) and is_above_minimum and (value <= 1 or assumption.unit != _SHARE)):
        raise ValueError(f"{assumption.name} must be a number, {allowed}, got {text!r}.")
    return value
