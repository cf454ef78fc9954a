"""Errors of PostgreSQL that another machine of Citus reports without their code."""

import asyncpg

_CANCELLED_WITHOUT_CODE = ("deadlock detected", "could not serialize access")

_LOST_MACHINE = (
    # libpq, on the connection between two machines
    "server closed the connection unexpectedly",
    "could not receive data from server",
    "could not send data to server",
    "SSL SYSCALL error",
    "SSL connection has been closed unexpectedly",
    "no connection to the server",
    # Citus, when a machine ends during the commit of a transaction that has changed no other
    "could not commit transaction for shard",
    # Citus, when a machine has ended between the statements of a transaction
    "failure on connection marked as essential",
    # Citus, for a statement that it planned before a standby took the place of its machine
    "but could not find the node",
)


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


def is_lost_machine(error: asyncpg.InternalServerError) -> bool:
    """Whether a machine of Citus has ended, or cannot be reached any more, while it ran a part of a
    statement or committed. Whether it has committed is unknown."""
    return any(text in str(error) for text in _LOST_MACHINE)
