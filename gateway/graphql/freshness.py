"""Freshness requirements of a request: in its header and in its document."""

from collections.abc import Awaitable, Mapping
from typing import Any

from engine import Operation
from gateway.http.headers import Headers
from schema.context import Context
from schema.freshness import ARGUMENT, FIELD, HEADER, TOKENS_MAX, begin

HEADER_NAME = HEADER.lower().encode()


def tokens_in(headers: Headers) -> list[str]:
    """The consistency tokens in a request's header, which may repeat and hold several each.

    A value with more than `TOKENS_MAX` is not split further: its rest is one more item, and `begin`
    rejects the request.
    """
    return [
        token.strip()
        for value in headers.every(HEADER_NAME)
        for token in value.decode("latin-1").split(",", TOKENS_MAX)
    ]


def freshness_wait(
    operation: Operation, variables: Mapping[str, Any], context: Context
) -> Awaitable[None] | None:
    """An awaitable to complete before the operation runs, or None, the usual case."""
    reads_freshness = FIELD in operation.field_names
    if not (context.tokens or reads_freshness or ARGUMENT in operation.root_argument_names):
        return None
    arguments = list(operation.root_argument_values(ARGUMENT, variables))
    if not (context.tokens or reads_freshness or arguments):
        return None
    return begin(
        context.scope, header=context.tokens, arguments=arguments, reads_freshness=reads_freshness
    )
