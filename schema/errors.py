"""From errors to what callers read. The only place that turns the error tree into codes.

What is not in the tree is a bug: it is logged under an id, and only the id is told.
"""

import logging
import uuid
from typing import Any

from graphql import GraphQLError

from graph.errors import BadInput, KithError, Unavailable

log = logging.getLogger("kith.errors")


def formatted(error: GraphQLError) -> dict[str, Any]:
    """An error as the GraphQL specification formats it, always with `extensions.code`."""
    answer: dict[str, Any] = dict(error.formatted)
    answer["extensions"] = {**(error.extensions or {})}
    cause = error.original_error
    if isinstance(cause, KithError):
        answer["extensions"] |= _extensions(cause)
    elif cause is not None and not isinstance(cause, GraphQLError):
        answer["message"] = "Something went wrong on our side."
        answer["extensions"] = {"code": "INTERNAL", "id": _logged(error, cause)}
    answer["extensions"].setdefault("code", "BAD_REQUEST")
    return answer


def _extensions(cause: KithError) -> dict[str, Any]:
    extensions: dict[str, Any] = {"code": cause.code}
    if isinstance(cause, BadInput):
        extensions["argument"] = cause.argument
    if isinstance(cause, Unavailable):
        log.warning("unavailable: %s", cause, exc_info=cause.__cause__)
        extensions["part"] = cause.part
    return extensions


def _logged(error: GraphQLError, cause: Exception) -> str:
    error_id = uuid.uuid4().hex
    log.error("internal error %s at %s", error_id, error.path, exc_info=cause)
    return error_id
