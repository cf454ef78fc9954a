"""The audit log has the result of a change whose client has left."""

import asyncio
import logging

import pytest

from gateway.services.access import logged_access
from graph.account_state import AccountState
from graph.edge import UserId
from resolvers.accounts import change_state
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.postgres.connection.pool import Postgres
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.waiting import until

START = """mutation { startBulkOperation(input: {
    id: "b", changes: [{viewerId: "1", userId: "2", action: FOLLOW}]
}) { outcome } }"""
CHANGES = [
    (
        "account",
        None,
        'mutation { deactivateAccount(input: {userId: "5"}) { outcome } }',
        ("changeState DEACTIVATED", "DEACTIVATED"),
    ),
    (
        "account",
        None,
        'mutation { setFollowingLimit(input: {userId: "5", limit: 9}) { outcome } }',
        ("setFollowingLimit", "UPDATED"),
    ),
    (
        "outbox",
        1,
        'mutation { followUser(input: {userId: "5"}) { outcome } }',
        ("follow", "FOLLOWED"),
    ),
    ("bulk_operation", None, START, ("startBulkOperation", "STARTED")),
    (
        "bulk_operation",
        None,
        'mutation { cancelBulkOperation(input: {id: "b"}) { outcome } }',
        ("cancelBulkOperation", "NOT_CANCELED"),
    ),
]

pytestmark = pytest.mark.plain("a distributed table is locked on several machines")


def entries(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """The actions in the audit log, with their results."""
    return [
        (record.__dict__["action"], record.__dict__["result"])
        for record in caplog.records
        if record.name == "kith.audit"
    ]


@pytest.mark.parametrize(("table", "viewer", "mutation", "entry"), CHANGES)
async def test_a_change_that_ends_after_its_client_has_left_is_audited_with_its_result(
    gateway: Gateway,
    postgres: Postgres,
    caplog: pytest.LogCaptureFixture,
    table: str,
    viewer: int | None,
    mutation: str,
    entry: tuple[str, str],
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")

    async def is_blocked() -> bool:
        waiting = f"SELECT FROM pg_locks WHERE relation = '{table}'::regclass AND NOT granted"
        return bool(await postgres.fetch(waiting))

    async def is_logged() -> bool:
        return bool(entries(caplog))

    async with postgres.connection() as connection, connection.transaction():
        await connection.fetch(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        asking = asyncio.create_task(gateway.as_service.answer(mutation, viewer))
        await until(is_blocked, "the change waits for the lock")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert asking.cancelled()
    await until(is_logged, "the change has ended")
    assert entries(caplog) == [entry]


async def test_a_change_that_is_stopped_with_its_process_is_audited_as_unknown(
    stores: Stores,
    postgres: Postgres,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")
    monkeypatch.setattr("storage.shielded_tasks.CLOSE_S", 0)
    scope = Scope(stores, None, Policy(), is_service=True)

    async def is_blocked() -> bool:
        waiting = "SELECT FROM pg_locks WHERE relation = 'account'::regclass AND NOT granted"
        return bool(await postgres.fetch(waiting))

    async with postgres.connection() as connection, connection.transaction():
        await connection.fetch("LOCK TABLE account IN ACCESS EXCLUSIVE MODE")
        changing = asyncio.create_task(change_state(scope, UserId(5), AccountState.DEACTIVATED))
        await until(is_blocked, "the change waits for the lock")
        await stores.shielded.close()
        await asyncio.gather(changing, return_exceptions=True)
    assert entries(caplog) == [("changeState DEACTIVATED", "UNKNOWN")]


async def test_a_request_of_a_service_that_is_cancelled_is_audited_as_unknown(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")
    scope = Scope(stores, None, Policy(), is_service=True)
    with (
        pytest.raises(asyncio.CancelledError),
        logged_access(scope, "startBulkOperation", UserId(5)),
    ):
        raise asyncio.CancelledError
    assert entries(caplog) == [("startBulkOperation", "UNKNOWN")]
