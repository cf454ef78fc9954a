"""What users say about who may see them, and what services allow them. Knows no storage."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from graph.account import Account, PrivacyChange, Saved
from graph.counts import Limit
from graph.decision import CHANGES, Outcome
from graph.edge import Millis, UserId
from graph.receipt import SERVICES, AlreadyNoted, Receipt, Request, digest, keyed_id
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result:
    """What became of it, and the account as it is now."""

    outcome: Outcome
    account: Account
    limit: Limit | None = None
    retry_at: Millis | None = None

    @property
    def is_changed(self) -> bool:
        return self.outcome in CHANGES


async def change_privacy(
    scope: Scope, change: PrivacyChange, idempotency_key: str | None = None
) -> Result:
    """The viewer says anew who may see them. Who waits for approval goes on waiting.

    With a key that was used before, it is not done again, and its first outcome is told again.

    Raises:
        Unauthenticated: nobody asks.
        Unavailable: PostgreSQL is. What was not acknowledged may or may not have happened; doing
            it again is safe.
    """
    viewer = scope.must_have_viewer()
    request = _request(viewer, idempotency_key, "updateRelationshipSettings", change)
    pace = scope.limits.pace
    accounts = scope.stores.accounts
    return await _once(
        scope, viewer, request, lambda: accounts.set_privacy(viewer, change, request, pace)
    )


async def set_following_limit(
    scope: Scope, user: UserId, limit: int | None, idempotency_key: str | None = None
) -> Result:
    """`user` may follow `limit` users; None: as many as everybody. Who follows more loses none.

    Keys are of all services together, for whomever they ask.

    Raises:
        Forbidden: no service asks.
        Unavailable: as above.
    """
    scope.must_be_service()
    request = _request(SERVICES, idempotency_key, "setFollowingLimit", user, limit)
    accounts = scope.stores.accounts
    return await _once(
        scope, user, request, lambda: accounts.set_following_limit(user, limit, request)
    )


async def settings_of(scope: Scope, user: UserId) -> Account:
    """What holds for somebody now."""
    return scope.limits.account((await scope.stores.accounts.of([user]))[user])


def _request(actor: UserId, key: str | None, *said: object) -> Request | None:
    return None if key is None else Request(actor, keyed_id(key), digest(*said))


async def _once(
    scope: Scope, user: UserId, request: Request | None, save: Callable[[], Awaitable[Saved]]
) -> Result:
    """Saves it, or tells again what became of the same request before."""
    first = await _receipt(scope, request)
    if first is None:
        try:
            saved = await save()
            account = scope.limits.account(saved.account)
            return Result(saved.outcome, account, retry_at=saved.retry_at)
        except AlreadyNoted:  # the same request has arrived twice at once
            first = await _receipt(scope, request)
        finally:
            scope.forget()
    assert request is not None
    assert first is not None
    same = first.asked == request.asked
    outcome = first.outcome if same else Outcome.IDEMPOTENCY_KEY_REUSED
    return Result(outcome, await settings_of(scope, user))


async def _receipt(scope: Scope, request: Request | None) -> Receipt | None:
    if request is None:
        return None
    kept = await scope.stores.receipts.of(request.actor, [request.id])
    return kept[request.id].receipt if request.id in kept else None
