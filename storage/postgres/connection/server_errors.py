"""Errors of PostgreSQL that another machine of Citus reports without their code."""

import asyncpg

_CANCELLED_WITHOUT_CODE = ("deadlock detected", "could not serialize access")


def is_duplicate_key(error: asyncpg.PostgresError) -> bool:
    """Whether an INSERT has found a row with its key. Another machine of Citus reports it without a
    code."""
    return isinstance(error, asyncpg.UniqueViolationError) or "duplicate key" in str(error)


def is_transaction_rollback(error: BaseException) -> bool:
    """Whether PostgreSQL has rolled back a transaction because of another one, so that the same may
    succeed now. Another machine of Citus reports it without a code if it runs a COPY."""
    if isinstance(error, asyncpg.InternalServerError):
        return any(text in str(error) for text in _CANCELLED_WITHOUT_CODE)
    return isinstance(error, asyncpg.DeadlockDetectedError | asyncpg.SerializationError)
