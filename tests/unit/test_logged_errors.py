"""What the log says about the errors in responses."""

import logging

import pytest
from graphql import GraphQLError

from graph.errors import Overloaded, Unavailable
from schema import errors
from schema.errors import formatted
from telemetry.entry_limit import ENTRIES_PER_S, EntryLimit


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    """The error after it was raised, so that it has a traceback."""
    try:
        raise error from cause
    except Exception as caught:
        return caught


def test_an_unavailable_component_is_logged_in_one_line_for_a_batch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While a component is down, all requests fail: their tracebacks would hide everything else."""
    failure = raised(Unavailable("PostgreSQL"), raised(ConnectionRefusedError("port 5432")))
    for field in ("a", "b"):
        error = GraphQLError("", path=[field], original_error=failure)
        assert formatted(error)["extensions"] == {"code": "UNAVAILABLE", "part": "PostgreSQL"}
    (record,) = caplog.records
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert record.getMessage() == (
        "PostgreSQL is unavailable. Try again later. (ConnectionRefusedError('port 5432'))"
    )


def test_few_entries_are_logged_while_a_component_is_unavailable(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "_unavailable_limit", EntryLimit(lambda: 7.0))
    for _ in range(10 * ENTRIES_PER_S):
        formatted(GraphQLError("", original_error=raised(Unavailable("Redis"))))
    assert len(caplog.records) == ENTRIES_PER_S


def test_an_overload_is_logged_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    failure = raised(Overloaded("PostgreSQL"), raised(TimeoutError()))
    formatted(GraphQLError("", original_error=failure))
    (record,) = caplog.records
    assert record.exc_info is None


def test_an_internal_error_is_logged_once_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failure = raised(ValueError("a bug"))
    errors = [GraphQLError("", path=[field], original_error=failure) for field in ("a", "b")]
    ids = {formatted(error)["extensions"]["id"] for error in errors}
    (record,) = caplog.records
    assert record.exc_info is not None
    assert len(ids) == 1
    assert ids.pop() in record.getMessage()
