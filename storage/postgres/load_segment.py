"""Merges one segment of a file into the graph: both directions and all counts at once.

Knows nothing of files.

A segment is merged in parts, each one transaction. A part is all edges whose pairs fall into some
slots of the pairs' advisory lock, and it holds these slots: so whoever follows or unfollows in
between waits for one part (about half a second) if the pair is in it, and not at all otherwise;
loads of other parts run beside it. Lanes are taken shared, which holds off their drains but not
other loads. The order is always slots, lanes, `following_count`, `follower_count`, each ascending,
and that of the other writers is a part of it: so nobody waits in a circle.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import asyncpg

from graph.lane import LANES
from storage.postgres import locks, sql
from storage.postgres.connections import Connection
from storage.postgres.session import again

PARTS = 8
"""At least as many as connections, which follow each other from part to part. A part holds one of
8 writers still, with some 500 locks: fewer parts would fill the table of locks."""

_COLUMNS = ("from_user_id", "to_user_id", "since")


@dataclass(frozen=True, slots=True)
class _Statements:
    prepare: str
    clear: str
    unindex: str
    index: str
    lock_slots: str
    pick: str
    write_forward: str
    reopen_forward: str
    lock_lanes: str
    mirror: str
    write_reverse: str
    reopen_reverse: str
    count_following: str
    count_followers: str


_SQL = sql.load(_Statements, "load_segment")


class Slots(NamedTuple):
    """A range of the pairs' lock slots, both ends included."""

    first: int
    last: int


def parts() -> list[Slots]:
    """All slots, in `PARTS` ranges."""
    edges = [locks.PAIR_SLOTS * part // PARTS for part in range(PARTS + 1)]
    return [Slots(first, end - 1) for first, end in pairwise(edges)]


async def prepare(connection: Connection) -> None:
    """Makes the temporary tables that `stage` and `merge` work in."""
    await connection.execute(_SQL.prepare)


async def stage(connection: Connection, rows: AsyncIterator[bytes], columns: int) -> None:
    """Sends the checked rows of the next segment, each with `columns` fields."""
    await connection.execute(_SQL.clear)
    await connection.execute(_SQL.unindex)
    await connection.copy_to_table("loading", source=rows, columns=_COLUMNS[:columns], format="csv")
    await connection.execute(_SQL.index)


class Merged(NamedTuple):
    """How many edges a part has made, and how many it must not make."""

    loaded: int
    kept: int


async def merge(connection: Connection, slots: Slots, careful: bool) -> Merged | None:
    """Loads one part of what was staged, all or nothing. Returns what became of it.

    What is not `careful` takes it that no edge exists yet, which spares two probes an edge, and
    returns nothing, with nothing done, if one does.
    """
    try:
        return await again(_merge, connection, slots, careful)
    except asyncpg.UniqueViolationError:
        if careful:
            raise
        return None


async def _merge(connection: Connection, slots: Slots, careful: bool) -> Merged:
    async with connection.transaction():
        await connection.execute(_SQL.lock_slots, locks.PAIR, *slots)
        picked = await connection.fetchrow(_SQL.pick, *slots, careful)
        assert picked is not None
        await connection.execute(_SQL.write_forward)
        await connection.execute(_SQL.reopen_forward)
        await connection.execute(_SQL.lock_lanes, locks.LANE, LANES)
        await connection.execute(_SQL.mirror, careful)
        for statement in (
            _SQL.write_reverse,
            _SQL.reopen_reverse,
            _SQL.count_following,
            _SQL.count_followers,
        ):
            await connection.execute(statement)
    return Merged(*picked)
