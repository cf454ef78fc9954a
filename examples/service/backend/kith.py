"""Opens the generated client, and repeats calls that failed with a temporary error."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx

from backend.settings import KithSettings
from kith_client import (
    GraphQLClientError,
    GraphQLClientGraphQLMultiError,
    GraphQLClientHttpError,
    KithClient,
)

ATTEMPTS = 5
TIMEOUT_S = 15  # longer than Kith's deadline of 10 s, whose error is more precise
PARALLEL = 4
"""Concurrent calls. More would only wait in Kith."""

MESSAGE_MAX = 500

TEMPORARY_CODES = {"STALE", "UNAVAILABLE", "OVERLOADED", "DEADLINE_EXCEEDED"}
TEMPORARY_STATUSES = {429, 502, 503, 504}

Answer = TypeVar("Answer")


@asynccontextmanager
async def open_client(settings: KithSettings) -> AsyncIterator[KithClient]:
    """A client with this service's token."""
    async with httpx.AsyncClient(
        headers={"authorization": f"Bearer {settings.token}"},
        timeout=TIMEOUT_S,
        limits=httpx.Limits(max_connections=PARALLEL),
    ) as http:
        # The generated protocol names httpx's own parameters in another order than httpx.
        yield KithClient(url=settings.url, http_client=http)  # type: ignore[arg-type]


async def with_retries(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Return the answer of `call`, which may be tried `ATTEMPTS` times.

    For reads. A mutation needs an `idempotencyKey` to be repeated safely.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await call()
        except (httpx.TransportError, GraphQLClientError) as error:
            if not _is_temporary(error):
                raise
        await asyncio.sleep(random.uniform(0.1, 0.2 * 2**attempt))
    return await call()


def error_text(error: Exception) -> str:
    """Return the error as text, with the body of an HTTP error, which says more than its status."""
    if isinstance(error, GraphQLClientHttpError) and isinstance(error.response, httpx.Response):
        return f"{error}: {error.response.text[:MESSAGE_MAX]}"
    return f"{type(error).__name__}: {error}"


def _is_temporary(error: Exception) -> bool:
    match error:
        case httpx.TransportError():
            return True
        case GraphQLClientHttpError(status_code=status):
            return status in TEMPORARY_STATUSES
        case GraphQLClientGraphQLMultiError(errors=errors):
            return all((e.extensions or {}).get("code") in TEMPORARY_CODES for e in errors)
    return False
