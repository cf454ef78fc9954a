"""How services switch accounts off and on, and delete them. Knows nothing of how that is done."""

from collections.abc import Sequence

from graph.account_state import AccountState, AccountStatus, StateOutcome
from graph.edge import UserId
from resolvers.scope import Scope


async def change_state(scope: Scope, user: UserId, state: AccountState) -> StateOutcome:
    """The account is so from now on, for everybody. Doing it twice is no error: it is already so.

    What a deleted account was to others is erased by the workers.

    Raises:
        Forbidden: no service asks.
        Unavailable: PostgreSQL is. It may or may not have happened; doing it again is safe.
    """
    scope.must_be_service()
    outcome = await scope.stores.states.change(user, state)
    scope.forget()
    if state is AccountState.DELETED:
        await scope.stores.deletions.wake([user])
    return outcome


async def statuses(scope: Scope, users: Sequence[UserId]) -> list[AccountStatus]:
    """Where each account is.

    Raises:
        Forbidden: no service asks.
    """
    scope.must_be_service()
    found = await scope.stores.states.of(users)
    return [found[user] for user in users]
