"""Converts errors of the driver to domain errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import asyncpg

from graph.errors import Unavailable
from storage.postgres.connection.connector import POSTGRESQL
from storage.postgres.connection.server_errors import is_lost_machine, is_transaction_rollback

NOT_MIGRATED = "This space is not migrated to this version. Run `kith migrate` for it first."

_UNAVAILABLE = (
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


class TransactionRolledBack(Unavailable):
    """PostgreSQL has rolled back the transaction because of a deadlock or a conflict with another
    one. The same transaction may succeed now: see `storage.postgres.connection.transactions`."""


@contextmanager
def domain_errors() -> Iterator[None]:
    """Convert errors of the driver: of connections and resources to Unavailable, a missing table or
    function to Unavailable with `NOT_MIGRATED`, and deadlocks and serialization failures to
    TransactionRolledBack. Others propagate."""
    try:
        yield
    except CONVERTED as error:
        raise_domain_error(error)


CONVERTED = (
    *_UNAVAILABLE,
    *_NOT_MIGRATED,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.InternalServerError,
)
"""The errors that `raise_domain_error` takes."""


def raise_domain_error(error: BaseException) -> NoReturn:
    """Raise the domain error of one of `CONVERTED`: see `domain_errors`. An InternalServerError
    that reports neither a rollback nor a lost machine is raised as it is."""
    if isinstance(error, _NOT_MIGRATED):
        raise Unavailable(POSTGRESQL, NOT_MIGRATED) from error
    if is_transaction_rollback(error):
        raise TransactionRolledBack(POSTGRESQL) from error
    if isinstance(error, asyncpg.InternalServerError) and not is_lost_machine(error):
        raise error
    raise Unavailable(POSTGRESQL) from error
