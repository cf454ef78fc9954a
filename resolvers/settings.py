"""What users say about who may see them, and what services allow them. Knows no storage."""

from graph.account import Account, PrivacyChange
from graph.edge import UserId
from resolvers.scope import Scope


async def change_privacy(scope: Scope, change: PrivacyChange) -> Account:
    """The viewer's account as it is then. Who waits for approval goes on waiting, whatever it says.

    Raises:
        Unauthenticated: nobody asks.
        Unavailable: PostgreSQL is; doing it again is safe.
    """
    viewer = scope.must_have_viewer()
    account = await scope.stores.accounts.set_privacy(viewer, change)
    scope.forget()
    return account


async def set_following_limit(scope: Scope, user: UserId, limit: int | None) -> Account:
    """`user` may follow `limit` users; None: as many as everybody. Who follows more loses none.

    Raises:
        Forbidden: no service asks.
        Unavailable: PostgreSQL is; doing it again is safe.
    """
    scope.must_be_service()
    account = await scope.stores.accounts.set_following_limit(user, limit)
    scope.forget()
    return account
