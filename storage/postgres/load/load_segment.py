"""Merges one segment of a file into the graph: both directions and all counts.

A segment is merged in parts, each one transaction. A part has all edges whose pairs fall into a
range of pair lock slots, and locks these slots. So a concurrent change waits for one part (about
half a second) if its pair is in it, and otherwise not; loads of other parts run concurrently.
Shared lane locks block the lanes' drains but not other loads. The lock order is always slots,
lanes, `following_count`, `follower_count`, each ascending. Other writers lock in the same order, so
there is no deadlock.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import asyncpg

from storage.postgres import sql
from storage.postgres.connection import locks
from storage.postgres.connection.connections import Connection
from storage.postgres.connection.server_errors import is_duplicate_key
from storage.postgres.connection.session import retry, transaction
from storage.postgres.lanes import keep_lane_count

MOST_PARTS = 8
"""The most parts of a segment. A part then takes about 500 locks, which block one in 8 writers."""
FEWEST_PARTS = 4
"""The fewest parts of a segment: more than the number of connections, because each connection
merges a part only after that of the previous segment. Larger parts would fill the lock table."""
PART_ROWS = 25_000
"""Rows of a part, which takes about half a second. Smaller parts change the same index pages and
counts more often."""
FIRST_PART_ROWS = 50_000
"""Rows of a part of a load into an empty space: about a second, as few others wait for it."""

_COLUMNS = ("from_user_id", "to_user_id", "since")


@dataclass(frozen=True, slots=True)
class _Statements:
    commit_without_waiting: str
    prepare: str
    clear: str
    unindex: str
    index: str
    lock_slots: str
    find_forward_on_citus: str
    pick: str
    pick_on_citus: str
    pick_existing: str
    pick_existing_on_citus: str
    write_forward: str
    reopen_forward: str
    lock_lanes: str
    find_reverse_on_citus: str
    mirror: str
    mirror_on_citus: str
    mirror_existing: str
    mirror_existing_on_citus: str
    write_reverse: str
    reopen_reverse: str
    count_following: str
    count_followers: str


_SQL = sql.load(_Statements, "load_segment")


class Slots(NamedTuple):
    """A range of pair lock slots, both ends included."""

    first: int
    last: int

    def overlaps(self, other: "Slots") -> bool:
        return self.first <= other.last and other.first <= self.last


def parts(rows: int, part_rows: int) -> list[Slots]:
    """All slots, in `FEWEST_PARTS` to `MOST_PARTS` ranges: as many as give each range about
    `part_rows` of the `rows` rows of a segment."""
    count = min(max(rows // part_rows, FEWEST_PARTS), MOST_PARTS)
    bounds = [locks.PAIR_SLOTS * part // count for part in range(count + 1)]
    return [Slots(first, end - 1) for first, end in pairwise(bounds)]


async def prepare(connection: Connection, *, on_citus: bool) -> None:
    """Create the temporary tables for `stage` and `merge`."""
    if not on_citus:  # on Citus, the other machines commit after this one
        await connection.execute(_SQL.commit_without_waiting)
    await connection.execute(_SQL.prepare)


async def stage(connection: Connection, rows: AsyncIterator[bytes], columns: int) -> None:
    """Copy the rows of the next segment, which were checked and have `columns` fields."""
    await connection.execute(_SQL.clear)
    await connection.execute(_SQL.unindex)
    await connection.copy_to_table("loading", source=rows, columns=_COLUMNS[:columns], format="csv")
    await connection.execute(_SQL.index)


class Merged(NamedTuple):
    """The number of edges that a part has loaded, and the number it had to skip."""

    loaded: int
    skipped: int


async def merge(
    connection: Connection, slots: Slots, expects_existing: bool, *, on_citus: bool
) -> Merged | None:
    """Load one part of the staged rows in one transaction.

    Unless `expects_existing`, it assumes that no edge exists yet, which saves two probes for each
    edge. If an edge does exist, it changes nothing and returns None.
    """
    try:
        return await retry(_merge_part, connection, slots, expects_existing, on_citus)
    except (asyncpg.UniqueViolationError, asyncpg.InternalServerError) as error:
        if expects_existing or not is_duplicate_key(error):
            raise
        return None


async def _merge_part(
    connection: Connection, slots: Slots, expects_existing: bool, on_citus: bool
) -> Merged:
    try:
        return await _merge_once(connection, slots, expects_existing, on_citus)
    except (asyncpg.UniqueViolationError, asyncpg.InternalServerError) as error:
        if on_citus and expects_existing and is_duplicate_key(error):
            # A writer had released the lock of the pair before its edge was committed on the
            # machine of the edge: see docs/adr/0031.
            raise asyncpg.SerializationError("an edge was committed meanwhile") from error
        raise


async def _merge_once(
    connection: Connection, slots: Slots, expects_existing: bool, on_citus: bool
) -> Merged:
    pick, mirror = _pick_and_mirror_statements(expects_existing, on_citus)
    async with transaction(connection):
        await connection.execute(_SQL.lock_slots, *slots)
        if on_citus:
            await connection.execute(_SQL.find_forward_on_citus, *slots)
        picked = await connection.fetchrow(pick, *slots)
        assert picked is not None
        await connection.execute(_SQL.write_forward)
        if expects_existing:
            await connection.execute(_SQL.reopen_forward)
        await keep_lane_count(connection)
        await connection.execute(_SQL.lock_lanes, locks.LANE)
        if expects_existing and on_citus:
            await connection.execute(_SQL.find_reverse_on_citus)
        await connection.execute(mirror)
        await connection.execute(_SQL.write_reverse)
        if expects_existing:
            await connection.execute(_SQL.reopen_reverse)
        await connection.execute(_SQL.count_following)
        await connection.execute(_SQL.count_followers)
    return Merged(*picked)


def _pick_and_mirror_statements(expects_existing: bool, on_citus: bool) -> tuple[str, str]:
    """The statements that pick and mirror edges."""
    if expects_existing:
        return (
            (_SQL.pick_existing_on_citus, _SQL.mirror_existing_on_citus)
            if on_citus
            else (_SQL.pick_existing, _SQL.mirror_existing)
        )
    return (_SQL.pick_on_citus, _SQL.mirror_on_citus) if on_citus else (_SQL.pick, _SQL.mirror)
