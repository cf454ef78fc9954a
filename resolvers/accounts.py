"""Account states: how services deactivate, reactivate and delete accounts."""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.account_state import AccountState, AccountStatus, StateChange
from graph.edge import UserId
from graph.outcome import REJECTIONS
from graph.receipt import SERVICE_ACTOR, ReceiptExists
from resolvers import result
from resolvers.audit import audited, require_service
from resolvers.idempotency import request_of, result_of_first
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """The result of the change, and the account's status after it."""

    status: AccountStatus


async def change_state(
    scope: Scope, user: UserId, state: AccountState, idempotency_key: str | None = None
) -> Result:
    """Change an account's state for all viewers. A repeated change succeeds without effect.

    The workers erase the edges of a deleted account. With a key that was used before, it returns
    the first result. All services share one space of keys.

    Raises:
        Forbidden: the request is not from a service.
        Unavailable: PostgreSQL cannot be reached. The change may or may not be applied; repeating
            it is safe.
    """
    require_service(scope, change_action(state), user)
    change = _change_state(scope, user, state, idempotency_key)
    return await audited(scope, change_action(state), user, change)


def change_action(state: AccountState) -> str:
    """The name of a change to this state in the audit log."""
    return f"changeState {state.name}"


async def _change_state(
    scope: Scope, user: UserId, state: AccountState, idempotency_key: str | None
) -> Result:
    request = request_of(SERVICE_ACTOR, idempotency_key, "changeState", user, state.name)
    # Call the store even for a repeated key: the first request may have been interrupted between
    # its commit and the update of the caches, which the store does also before ReceiptExists.
    try:
        change = await scope.stores.writes.account_states.change(user, state, request)
    except ReceiptExists as exists:
        first = await result_of_first(scope, request)
        assert first is not None
        change = StateChange(first.outcome, exists.is_delayed)
    else:
        # The first request may have been possible where its repeat is not.
        first = await result_of_first(scope, request) if change.outcome in REJECTIONS else None
        if first is not None:
            change = StateChange(first.outcome, change.is_delayed)
    finally:
        scope.reread_fresh()
    (status,) = await statuses(scope, [user])
    return Result(change.outcome, status, is_delayed=change.is_delayed)


async def statuses(scope: Scope, users: Sequence[UserId]) -> list[AccountStatus]:
    """The status of each account, in order.

    Raises:
        Forbidden: the request is not from a service.
    """
    target = users[0] if len(users) == 1 else None
    require_service(scope, "readAccounts", target, accounts=len(users))
    found = await scope.stores.writes.account_states.get_many(users)
    return [found[user] for user in users]
