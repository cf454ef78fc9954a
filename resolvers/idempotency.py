"""Idempotency keys: requests that may be repeated."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from graph.edge import UserId
from graph.outcome import REJECTIONS, Outcome
from graph.receipt import IdempotentRequest, Receipt, ReceiptExists, digest_of, keyed_id
from resolvers.scope import Scope


class HasOutcome(Protocol):
    """The result of a change, of any kind."""

    @property
    def outcome(self) -> Outcome: ...


T = TypeVar("T", bound=HasOutcome)


def request_of(actor: UserId, key: str | None, *fields: object) -> IdempotentRequest | None:
    """The request of `actor` with a key, or None without one. `fields`: its name and input."""
    return None if key is None else IdempotentRequest(actor, keyed_id(key), digest_of(*fields))


async def run_idempotently(
    scope: Scope, request: IdempotentRequest | None, save: Callable[[], Awaitable[T]]
) -> T | Receipt:
    """Call `save`, or return the receipt of the first request with the same key.

    A concurrent copy of the request may have committed after the first look-up. Then `save` raises
    ReceiptExists, or the copy's change makes it return a rejection. In both cases the receipt is
    looked up again; if there is one, it replaces the rejection.
    """
    first = await result_of_first(scope, request)
    if first is not None:
        return first
    saved: T | None = None
    try:
        saved = await save()
    except ReceiptExists:
        pass
    finally:
        scope.reread_fresh()
    found: T | Receipt | None = saved
    if saved is None or saved.outcome in REJECTIONS:
        found = await result_of_first(scope, request) or saved
    assert found is not None
    return found


async def result_of_first(scope: Scope, request: IdempotentRequest | None) -> Receipt | None:
    """The receipt of the same request, or one with IDEMPOTENCY_KEY_REUSED. None: no receipt."""
    if request is None:
        return None
    stored = (await scope.stores.writes.receipts.get_many(request.actor, [request.id])).get(
        request.id
    )
    if stored is None:
        return None
    if stored.receipt.digest == request.digest:
        return stored.receipt
    return Receipt(request.id, request.digest, Outcome.IDEMPOTENCY_KEY_REUSED)
