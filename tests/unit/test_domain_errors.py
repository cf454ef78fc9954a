"""Errors of the PostgreSQL driver become errors of the domain, which clients can handle."""

import asyncpg
import pytest

from graph.errors import Unavailable
from storage.postgres.connection.domain_errors import TransactionRolledBack, domain_errors


@pytest.mark.parametrize(
    "text",
    [
        "There is a shard placement on node machine1:5432 but could not find the node.",
        "server closed the connection unexpectedly\n\tThis probably means the server terminated",
        "could not receive data from server: Connection reset by peer",
        "could not send data to server: Broken pipe",
        "SSL SYSCALL error: EOF detected",
        "SSL connection has been closed unexpectedly",
        "no connection to the server",
        "could not commit transaction for shard 102033 on at least one active node",
        "failure on connection marked as essential: machine1:5432",
    ],
)
def test_the_loss_of_a_machine_of_citus_becomes_unavailable(text: str) -> None:
    with pytest.raises(Unavailable), domain_errors():
        raise asyncpg.InternalServerError(text)


def test_a_deadlock_on_another_machine_of_citus_becomes_a_rollback() -> None:
    with pytest.raises(TransactionRolledBack), domain_errors():
        raise asyncpg.InternalServerError("deadlock detected")


def test_other_internal_errors_propagate() -> None:
    with pytest.raises(asyncpg.InternalServerError), domain_errors():
        raise asyncpg.InternalServerError("cache lookup failed for type 17000")
