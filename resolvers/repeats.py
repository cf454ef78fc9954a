"""Idempotency keys: requests that may be repeated."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from graph.decision import Outcome
from graph.edge import UserId
from graph.receipt import AlreadyNoted, Receipt, Request, digest, keyed_id
from resolvers.scope import Scope

T = TypeVar("T")


def keyed(actor: UserId, key: str | None, *said: object) -> Request | None:
    """The request of `actor` with a key, or None without one."""
    return None if key is None else Request(actor, keyed_id(key), digest(*said))


async def once(
    scope: Scope, request: Request | None, save: Callable[[], Awaitable[T]]
) -> T | Receipt:
    """Call `save`, or return the receipt of the first request with the same key."""
    first = await result_of_first(scope, request)
    if first is None:
        try:
            return await save()
        except AlreadyNoted:  # two copies of the request run concurrently
            first = await result_of_first(scope, request)
        finally:
            scope.forget()
    assert first is not None
    return first


async def result_of_first(scope: Scope, request: Request | None) -> Receipt | None:
    """The receipt of the same request, or one with IDEMPOTENCY_KEY_REUSED. None: no receipt."""
    if request is None:
        return None
    kept = (await scope.stores.writes.receipts.of(request.actor, [request.id])).get(request.id)
    if kept is None:
        return None
    if kept.receipt.asked == request.asked:
        return kept.receipt
    return Receipt(request.id, request.asked, Outcome.IDEMPOTENCY_KEY_REUSED)
