"""How services switch accounts off and on, and delete them. Knows nothing of how that is done."""

from collections.abc import Sequence
from dataclasses import dataclass

from graph.account_state import AccountState, AccountStatus
from graph.edge import UserId
from graph.receipt import SERVICES, AlreadyNoted
from resolvers import result
from resolvers.repeats import keyed, told_before
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """What became of it, and where the account is now."""

    status: AccountStatus


async def change_state(
    scope: Scope, user: UserId, state: AccountState, idempotency_key: str | None = None
) -> Result:
    """The account is so from now on, for everybody. Doing it twice is no error: it is already so.

    What a deleted account was to others is erased by the workers. With a key that was used before,
    it is not done again; keys are of all services together.

    Raises:
        Forbidden: no service asks.
        Unavailable: PostgreSQL is. It may or may not have happened; doing it again is safe.
    """
    scope.must_be_service()
    request = keyed(SERVICES, idempotency_key, "changeState", user, state.name)
    # Asked for first of all: where the same was cut off before all were told of it, they are now.
    try:
        outcome = await scope.stores.states.change(user, state, request)
    except AlreadyNoted:
        first = await told_before(scope, request)
        assert first is not None
        outcome = first.outcome
    finally:
        scope.forget()
    (status,) = await statuses(scope, [user])
    return Result(outcome, status)


async def statuses(scope: Scope, users: Sequence[UserId]) -> list[AccountStatus]:
    """Where each account is.

    Raises:
        Forbidden: no service asks.
    """
    scope.must_be_service()
    found = await scope.stores.states.of(users)
    return [found[user] for user in users]
