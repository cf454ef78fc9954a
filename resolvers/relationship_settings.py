"""Relationship settings: users' privacy, and following limits that services set."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from graph.account import Account, PrivacyChange, Saved
from graph.edge import UserId
from graph.receipt import SERVICE_ACTOR, IdempotentRequest, Receipt
from resolvers import result
from resolvers.audit import audited, require_service
from resolvers.idempotency import request_of, run_idempotently
from resolvers.scope import Scope
from storage.ports.reader import AccountsOf


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """The result of the change, and the account after it."""

    account: Account


async def change_privacy(
    scope: Scope, change: PrivacyChange, idempotency_key: str | None = None
) -> Result:
    """Change the viewer's privacy settings. Pending requests stay pending.

    With a key that was used before, it returns the first outcome.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL cannot be reached. The change may or may not be applied; repeating
            it is safe.
    """
    viewer = scope.must_have_viewer()
    request = request_of(viewer, idempotency_key, "updateRelationshipSettings", change)
    pace = scope.policy.pace
    accounts = scope.stores.writes.accounts
    saved = _save_idempotently(
        scope, viewer, request, lambda: accounts.set_privacy(viewer, change, request, pace)
    )
    return await audited(scope, "updateRelationshipSettings", viewer, saved)


async def set_following_limit(
    scope: Scope, user: UserId, limit: int | None, idempotency_key: str | None = None
) -> Result:
    """Set how many users `user` may follow. None: the default limit. Existing follows stay.

    All services share one space of keys.

    Raises:
        Forbidden: the request is not from a service.
        Unavailable: PostgreSQL cannot be reached. The change may or may not be applied; repeating
            it is safe.
    """
    require_service(scope, "setFollowingLimit", user)
    request = request_of(SERVICE_ACTOR, idempotency_key, "setFollowingLimit", user, limit)
    accounts = scope.stores.writes.accounts
    saved = _save_idempotently(
        scope, user, request, lambda: accounts.set_following_limit(user, limit, request)
    )
    return await audited(scope, "setFollowingLimit", user, saved)


async def settings_of(scope: Scope, user: UserId) -> Account:
    """The effective settings of a user."""
    found = await scope.stores.reads.reader.read(
        None, AccountsOf([user]), consistency=scope.consistency
    )
    return scope.policy.account(found[user])


async def _save_idempotently(
    scope: Scope,
    user: UserId,
    request: IdempotentRequest | None,
    save: Callable[[], Awaitable[Saved]],
) -> Result:
    """Save the account, or return the first result of the same request."""
    saved = await run_idempotently(scope, request, save)
    if isinstance(saved, Receipt):
        is_updated = await scope.stores.writes.accounts.update_caches_again(user)
        account = await settings_of(scope, user)
        return Result(saved.outcome, account, is_delayed=not is_updated)
    account = scope.policy.account(saved.account)
    return Result(saved.outcome, account, retry_at=saved.retry_at, is_delayed=saved.is_delayed)
