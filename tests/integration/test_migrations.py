"""Migrating a graph that is in use: what was there, and what was on its way, is what it was."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from graph.counts import Counts
from graph.edge import UserId
from graph.event import Event, event_type_for
from graph.lane import lane_of
from storage.postgres import locks, migrate
from storage.postgres.verify import verify
from storage.settings import StorageSettings
from storage.stores import open_stores
from tests.support.counts import Totals
from tests.support.edge_files import execute
from tests.support.graphs import as_pair, drain_all

SEVEN = UserId(7)
CARRIED_ON = """
INSERT INTO follower (to_user_id, from_user_id, kind, since, version)
SELECT to_user_id, from_user_id, kind, since, version FROM outbox;
INSERT INTO follower_count (user_id, follows) SELECT to_user_id, count(*) FROM outbox GROUP BY 1;
"""
"""What the drain of that time did, short of the acknowledgement."""


@pytest.fixture
async def earlier(
    storage_settings: StorageSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StorageSettings:
    """A space whose tables are those of the version before relationships."""
    settings = replace(storage_settings, space="earlier")
    for file in migrate._MIGRATIONS.glob("000[1-4]_*.sql"):
        shutil.copy(file, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "_MIGRATIONS", tmp_path)
        applied = await migrate.migrate(settings.database_url, settings.space, partitions=2)
    assert len(applied) == 4
    return settings


def change(source: int, *, follows: bool, now: int, was: int = 0) -> str:
    """What a gateway of that time sends when `source` follows user 7, or no longer."""
    kind, step = (1, 1) if follows else (0, -1)
    slot = locks.pair_key(as_pair(source, SEVEN))
    return f"""SELECT write_change({locks.PAIR}, {slot}, {source}, {SEVEN}, {was}, 0, NULL,
        {kind}::smallint, 0::smallint, {now}, {now}, {step}, 0::smallint,
        {lane_of(SEVEN)}::smallint)"""


async def test_rows_that_wait_for_a_worker_keep_their_event_types(earlier: StorageSettings) -> None:
    await execute(
        earlier,
        change(1, follows=True, now=10),
        change(2, follows=True, now=20),
        CARRIED_ON,
        "DELETE FROM outbox WHERE from_user_id = 1",
        "UPDATE outbox SET applied = true",
        change(1, follows=False, now=30, was=10),
        change(3, follows=True, now=40),
        change(3, follows=False, now=50, was=40),
        change(3, follows=True, now=60, was=50),
    )
    applied = await migrate.migrate(earlier.database_url, earlier.space)
    assert applied[0] == "0005_relationship"
    async with open_stores(earlier) as stores:
        cursor = await stores.broker.events.open(SEVEN)
        await drain_all(stores)
        heard = (await stores.broker.events.after(SEVEN, cursor, 10)).events
        assert [_said(one.event) for one in heard] == [
            (2, "FOLLOWED"),
            (1, "UNFOLLOWED"),
            (3, "FOLLOWED"),
            (3, "UNFOLLOWED"),
            (3, "FOLLOWED"),
        ]
        assert await Totals(stores.reads.reader).of([SEVEN], None) == {SEVEN: Counts(0, 2, 0)}
    report = await verify(earlier)
    assert report.clean, report.drifts
    assert await migrate.migrate(earlier.database_url, earlier.space) == []


def _said(event: Event) -> tuple[int, str | None]:
    heard = event_type_for(event, SEVEN)
    return event.source, heard.name if heard else None
