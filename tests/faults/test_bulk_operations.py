"""A worker that is killed while it applies a bulk operation: each line is applied once."""

import signal

from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.bulk import line, results, upload
from tests.support.gateway import Gateway
from tests.support.waiting import until
from tests.support.worker_process import Worker

PAIRS = 600


async def applied(stores: Stores) -> int:
    row = await stores.servers.postgres.row("SELECT changed FROM bulk_operation")
    assert row is not None
    return int(row["changed"])


async def test_each_line_is_applied_once_although_the_worker_is_killed(
    gateway: Gateway, stores: Stores, storage_settings: StorageSettings
) -> None:
    # If a follow were applied again after its unfollow, its edge would remain.
    lines = [
        line(user, action, user + 1_000_000)
        for user in range(1, PAIRS + 1)
        for action in ("FOLLOW", "UNFOLLOW")
    ]
    await upload(gateway.http, "killed", *lines)
    worker = Worker(storage_settings)
    await worker.start()
    try:

        async def has_begun() -> bool:
            return await applied(stores) > 0

        await until(has_begun, "the first slice is applied")
        await worker.end(signal.SIGKILL)
        assert await applied(stores) < len(lines)
        await worker.start()

        async def has_ended() -> bool:
            return await applied(stores) == len(lines)

        await until(has_ended, "another worker has applied the rest")
    finally:
        await worker.end(signal.SIGKILL)
    found = await results(gateway.http, "killed")
    assert [each["line"] for each in found] == list(range(1, len(lines) + 1))
    assert [each["outcome"] for each in found] == ["FOLLOWED", "UNFOLLOWED"] * PAIRS
    remaining = await stores.servers.postgres.fetch("SELECT 1 FROM following WHERE kind <> 0")
    assert not remaining
