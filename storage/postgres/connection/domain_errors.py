"""Converts errors of the driver to domain errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import asyncpg

from graph.errors import Unavailable
from storage.postgres.connection.connector import PART
from storage.postgres.connection.server_errors import is_cancelled

NOT_MIGRATED = "This space is not migrated to this version. Run `kith migrate` for it first."

_DOWN = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # such as: the server closed the connection
    asyncpg.PostgresConnectionError,
    asyncpg.PostgresSystemError,  # such as: another machine of Citus has closed the connection
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
)
"""Errors after which a retry may succeed."""

_NOT_MIGRATED = (asyncpg.UndefinedTableError, asyncpg.UndefinedFunctionError)


class TransactionCancelled(Unavailable):
    """PostgreSQL has rolled back the transaction because of a deadlock or a conflict with another
    one. The same transaction may succeed now: see `storage.postgres.connection.transactions`."""


@contextmanager
def domain_errors() -> Iterator[None]:
    """Convert driver errors to Unavailable where a retry may succeed."""
    try:
        yield
    except CONVERTED as error:
        raise_domain_error(error)


CONVERTED = (
    *_DOWN,
    *_NOT_MIGRATED,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InternalServerError,
)

_LOST_MACHINE = "server closed the connection unexpectedly"
"""The internal error that Citus reports when a machine ends while it runs a part."""


def raise_domain_error(error: BaseException) -> NoReturn:
    if isinstance(error, _NOT_MIGRATED):
        raise Unavailable(PART, NOT_MIGRATED) from error
    if is_cancelled(error):
        raise TransactionCancelled(PART) from error
    if isinstance(error, asyncpg.InternalServerError) and _LOST_MACHINE not in str(error):
        raise error
    raise Unavailable(PART) from error
