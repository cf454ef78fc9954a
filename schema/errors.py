"""Converts exceptions into GraphQL errors with codes. The only module that maps them to codes.

An exception that is not a `KithError` is a bug: it is logged with an id, and the client receives
only the id, and that of the request.
"""

import logging
import uuid
from typing import Any

from graphql import GraphQLError

from graph.errors import BadInput, KithError, Stale, Unavailable
from telemetry.entry_limit import EntryLimit
from telemetry.request_id import request_id

log = logging.getLogger("kith.errors")

_NOTE = "error id "

_unavailable_limit = EntryLimit()


def formatted(error: GraphQLError) -> dict[str, Any]:
    """An error as the GraphQL specification formats it, always with `extensions.code`."""
    answer: dict[str, Any] = dict(error.formatted)
    cause = _cause(error)
    if isinstance(cause, KithError):
        answer["extensions"] = _extensions(cause)
    elif cause is None:
        answer["extensions"] = {"code": "BAD_USER_INPUT", **(error.extensions or {})}
    else:
        answer["message"] = "Internal error"
        answer["extensions"] = {"code": "INTERNAL", "id": _log_internal(error, cause)}
        if (current_request := request_id.get()) is not None:
            answer["extensions"]["requestId"] = current_request
    return answer


def _cause(error: GraphQLError) -> Exception | None:
    """The exception that graphql-core has wrapped; None if the error is graphql-core's own."""
    cause = error.original_error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause


def _extensions(cause: KithError) -> dict[str, Any]:
    extensions: dict[str, Any] = {"code": cause.code}
    if isinstance(cause, BadInput):
        extensions["argument"] = cause.argument
    if isinstance(cause, Stale):
        extensions["retryAfterMs"] = cause.retry_after_ms
    if isinstance(cause, Unavailable):
        _log_unavailable(cause)
        extensions["part"] = cause.part
    return extensions


def _log_unavailable(failure: Unavailable) -> None:
    """Log the failure and its cause in one line, without a traceback.

    While a component is down, all requests fail in the same way: the number of entries is limited.
    """
    if _error_id_of(failure) is None and _unavailable_limit.admit():
        failure.add_note(_NOTE)
        reason = "" if failure.__cause__ is None else f" ({failure.__cause__!r:.500})"
        log.warning("%s%s", failure, reason, extra=_unavailable_limit.take_omitted())


def _log_internal(error: GraphQLError, cause: Exception) -> str:
    """Log the cause and return the id of the log entry."""
    error_id = _error_id_of(cause)
    if error_id is None:
        error_id = uuid.uuid4().hex
        cause.add_note(_NOTE + error_id)
        log.error("internal error %s at %s", error_id, error.path, exc_info=cause)
    return error_id


def _error_id_of(cause: Exception) -> str | None:
    """The id under which the exception was logged, or None if it was not. A failed batch raises the
    same exception in all its fields: it is logged once."""
    for note in getattr(cause, "__notes__", ()):
        if note.startswith(_NOTE):
            return str(note.removeprefix(_NOTE))
    return None
