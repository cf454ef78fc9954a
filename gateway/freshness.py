"""What a request says about the freshness of its answer: in its header, and in its document.

Knows nothing of what tokens hold.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

from engine import Operation
from gateway.headers import Headers
from schema.context import Context
from schema.freshness import ARGUMENT, FIELD, HEADER, begin

_NAME = HEADER.lower().encode()


def tokens_in(headers: Headers) -> list[str]:
    """The tokens of a request's header, which may come more than once, and hold several."""
    if _NAME not in headers:
        return []
    return [
        token.strip()
        for value in headers.every(_NAME)
        for token in value.decode("latin-1").split(",")
    ]


def before(
    operation: Operation, variables: Mapping[str, Any], context: Context
) -> Awaitable[None] | None:
    """What is to be awaited before the operation is run: nearly always nothing."""
    looks = operation.asks_for(FIELD)
    if not (context.tokens or looks or ARGUMENT in operation.root_arguments):
        return None
    arguments = operation.given(ARGUMENT, variables)
    if not (context.tokens or looks or arguments):
        return None
    return begin(context.scope, header=context.tokens, arguments=arguments, looks=looks)
