"""Converts exceptions into GraphQL errors with codes. The only module that maps them to codes.

An exception that is not a `KithError` is a bug: it is logged with an id, and the client receives
only the id, and that of the request.
"""

import logging
import uuid
from typing import Any

from graphql import GraphQLError

from graph.errors import BadInput, KithError, Stale, Unavailable
from telemetry.request_id import request_id

log = logging.getLogger("kith.errors")

_NOTE = "error id "


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
        answer["extensions"] = {"code": "INTERNAL", "id": _log_once(error, cause)}
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
        log.warning("%s", cause, exc_info=cause.__cause__)
        extensions["part"] = cause.part
    return extensions


def _log_once(error: GraphQLError, cause: Exception) -> str:
    """Log the cause and return the id of the log entry.

    A failed batch raises the same exception in all its fields: it is logged once.
    """
    for note in getattr(cause, "__notes__", ()):
        if note.startswith(_NOTE):
            return str(note.removeprefix(_NOTE))
    error_id = uuid.uuid4().hex
    cause.add_note(_NOTE + error_id)
    log.error("internal error %s at %s", error_id, error.path, exc_info=cause)
    return error_id
