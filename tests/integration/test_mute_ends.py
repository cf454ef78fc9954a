"""The worker ends the mutes whose time has passed, and no others."""

import asyncio
import time

import pytest

from graph.edge import Flags, Millis, UserId
from graph.rules import mute
from storage.ports.reader import Check, RelationsOf
from storage.stores import Stores
from tests.support.graphs import as_pair, follows
from workers import mutes
from workers.mutes import end_mutes


def later(seconds: float) -> Millis:
    return Millis(int((time.time() + seconds) * 1000))


async def muted(stores: Stores) -> set[int]:
    """The users whom user 1 mutes."""
    rows = await stores.servers.postgres.fetch(
        f"SELECT to_user_id FROM following WHERE from_user_id = 1 AND flags & {Flags.MUTED:d} <> 0"
    )
    return {row["to_user_id"] for row in rows}


async def count_of_mutes(stores: Stores) -> int:
    row = await stores.servers.postgres.row("SELECT mutes FROM following_count WHERE user_id = 1")
    assert row is not None
    return int(row["mutes"])


async def test_only_expired_mutes_are_ended(stores: Stores) -> None:
    await follows(stores, (1, 2))
    for other, until in ((2, later(-1)), (3, later(-5)), (4, later(60)), (5, None)):
        await stores.writes.edges.change(as_pair(1, other), mute(until))
    assert await end_mutes(stores) == 2
    assert await muted(stores) == {4, 5}
    assert await count_of_mutes(stores) == 2
    (relation,) = (
        await stores.reads.reader.read(None, RelationsOf([Check(UserId(1), [UserId(2)])]))
    )[0]
    assert relation.kind == 1, "the follow remains"
    assert await end_mutes(stores) == 0


async def test_a_run_ends_a_limited_number_of_mutes_in_batches(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutes, "BATCH", 3)
    monkeypatch.setattr(mutes, "BATCHES_MAX", 2)
    for other in range(2, 12):
        await stores.writes.edges.change(as_pair(1, other), mute(later(-other)))
    assert await end_mutes(stores) == 6
    assert await muted(stores) == {2, 3, 4, 5}, "the mutes that expired last"
    assert await end_mutes(stores) == 4


async def test_two_workers_end_a_mute_once(stores: Stores) -> None:
    for other in range(2, 12):
        await stores.writes.edges.change(as_pair(1, other), mute(later(-1)))
    assert sum(await asyncio.gather(end_mutes(stores), end_mutes(stores))) == 10
    assert await count_of_mutes(stores) == 0
