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

from storage.postgres import locks, sql
from storage.postgres.connections import Connection
from storage.postgres.distribution import is_duplicate_key
from storage.postgres.lanes import keep_lane_count
from storage.postgres.session import retry, transaction

PARTS = 8
"""At least the number of connections, which process the parts one behind the other. A part blocks
one of 8 writers, with about 500 locks; larger parts would fill the lock table."""

_COLUMNS = ("from_user_id", "to_user_id", "since")


@dataclass(frozen=True, slots=True)
class _Statements:
    prepare: str
    clear: str
    unindex: str
    index: str
    lock_slots: str
    find_forward_on_citus: str
    pick: str
    pick_on_citus: str
    write_forward: str
    reopen_forward: str
    lock_lanes: str
    find_reverse_on_citus: str
    mirror: str
    mirror_on_citus: str
    write_reverse: str
    reopen_reverse: str
    count_following: str
    count_followers: str


_SQL = sql.load(_Statements, "load_segment")


class Slots(NamedTuple):
    """A range of pair lock slots, both ends included."""

    first: int
    last: int


def parts() -> list[Slots]:
    """All slots, in `PARTS` ranges."""
    edges = [locks.PAIR_SLOTS * part // PARTS for part in range(PARTS + 1)]
    return [Slots(first, end - 1) for first, end in pairwise(edges)]


async def prepare(connection: Connection) -> None:
    """Create the temporary tables for `stage` and `merge`."""
    await connection.execute(_SQL.prepare)


async def stage(connection: Connection, rows: AsyncIterator[bytes], columns: int) -> None:
    """Copy the checked rows of the next segment, each with `columns` fields."""
    await connection.execute(_SQL.clear)
    await connection.execute(_SQL.unindex)
    await connection.copy_to_table("loading", source=rows, columns=_COLUMNS[:columns], format="csv")
    await connection.execute(_SQL.index)


class Merged(NamedTuple):
    """The number of edges that a part has loaded, and the number it had to skip."""

    loaded: int
    kept: int


async def merge(
    connection: Connection, slots: Slots, expects_existing: bool, *, on_citus: bool
) -> Merged | None:
    """Load one part of the staged rows in one transaction.

    Unless `expects_existing`, it assumes that no edge exists yet, which saves two probes per edge.
    If one does, it changes nothing and returns None.
    """
    try:
        return await retry(_merge, connection, slots, expects_existing, on_citus)
    except (asyncpg.UniqueViolationError, asyncpg.InternalServerError) as error:
        if expects_existing or not is_duplicate_key(error):
            raise
        return None


async def _merge(
    connection: Connection, slots: Slots, expects_existing: bool, on_citus: bool
) -> Merged:
    try:
        return await _merged(connection, slots, expects_existing, on_citus)
    except (asyncpg.UniqueViolationError, asyncpg.InternalServerError) as error:
        if on_citus and expects_existing and is_duplicate_key(error):
            # A writer had released the lock of the pair, and its edge was not committed yet on the
            # machine that has it: see docs/adr/0031.
            raise asyncpg.SerializationError("an edge was committed meanwhile") from error
        raise


async def _merged(
    connection: Connection, slots: Slots, expects_existing: bool, on_citus: bool
) -> Merged:
    async with transaction(connection):
        await connection.execute(_SQL.lock_slots, *slots)
        if on_citus:
            await connection.execute(_SQL.find_forward_on_citus, *slots)
        pick = _SQL.pick_on_citus if on_citus else _SQL.pick
        picked = await connection.fetchrow(pick, *slots, expects_existing)
        assert picked is not None
        await connection.execute(_SQL.write_forward)
        await connection.execute(_SQL.reopen_forward)
        await keep_lane_count(connection)
        await connection.execute(_SQL.lock_lanes, locks.LANE)
        if on_citus:
            await connection.execute(_SQL.find_reverse_on_citus, expects_existing)
        mirror = _SQL.mirror_on_citus if on_citus else _SQL.mirror
        await connection.execute(mirror, expects_existing)
        for statement in (
            _SQL.write_reverse,
            _SQL.reopen_reverse,
            _SQL.count_following,
            _SQL.count_followers,
        ):
            await connection.execute(statement)
    return Merged(*picked)
