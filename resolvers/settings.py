"""What users say about who may see them, and what services allow them. Knows no storage."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from graph.account import Account, PrivacyChange, Saved
from graph.edge import UserId
from graph.receipt import SERVICES, Receipt, Request
from resolvers import result
from resolvers.repeats import keyed, once
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """What became of it, and the account as it is now."""

    account: Account


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
    request = keyed(viewer, idempotency_key, "updateRelationshipSettings", change)
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
    request = keyed(SERVICES, idempotency_key, "setFollowingLimit", user, limit)
    accounts = scope.stores.accounts
    return await _once(
        scope, user, request, lambda: accounts.set_following_limit(user, limit, request)
    )


async def settings_of(scope: Scope, user: UserId) -> Account:
    """What holds for somebody now."""
    return scope.limits.account((await scope.stores.accounts.of([user]))[user])


async def _once(
    scope: Scope, user: UserId, request: Request | None, save: Callable[[], Awaitable[Saved]]
) -> Result:
    """Saves it, or tells again what became of the same request before."""
    saved = await once(scope, request, save)
    if isinstance(saved, Receipt):
        return Result(saved.outcome, await settings_of(scope, user))
    account = scope.limits.account(saved.account)
    return Result(saved.outcome, account, retry_at=saved.retry_at)
