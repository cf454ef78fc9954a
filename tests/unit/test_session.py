"""Transactions of a session are run again after conflicts with others."""

import asyncpg
import pytest

from storage.postgres.connection import session


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PAUSE_S", 0)


def results_of(error: asyncpg.PostgresError, times: int) -> list[asyncpg.PostgresError | None]:
    """The error `times` times, and then None, which stands for a success."""
    return [error] * times + [None]


async def transaction(results: list[asyncpg.PostgresError | None]) -> str:
    """A transaction that ends with the next of `results`."""
    if (error := results.pop(0)) is not None:
        raise error
    return "done"


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.DeadlockDetectedError("deadlock detected"),
        asyncpg.SerializationError("could not serialize access due to concurrent update"),
        asyncpg.LockNotAvailableError("canceling statement due to lock timeout"),
        # Other machines of Citus report these without a code.
        asyncpg.InternalServerError("deadlock detected"),
        asyncpg.InternalServerError("canceling statement due to lock timeout"),
    ],
)
async def test_a_transaction_that_is_cancelled_is_run_again(error: asyncpg.PostgresError) -> None:
    assert await session.retry(transaction, results_of(error, 3)) == "done"
    with pytest.raises(type(error)):
        await session.retry(transaction, results_of(error, session.ATTEMPTS))


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.UniqueViolationError("duplicate key value"),
        asyncpg.InternalServerError("server closed the connection unexpectedly"),
    ],
)
async def test_any_other_error_is_raised_at_once(error: asyncpg.PostgresError) -> None:
    results = results_of(error, 1)
    with pytest.raises(type(error)):
        await session.retry(transaction, results)
    assert results == [None]
