"""Where an account is, as types: for services. Decides nothing."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias, cast

import strawberry

from engine import Parents, batched, of_rows
from graph import account_state
from graph.account_state import AccountStatus
from graph.edge import UserId
from schema.rows import date

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]


class AccountRow(NamedTuple):
    """A user, and where their account is."""

    user: UserId
    status: AccountStatus


@strawberry.enum(description="Where an account is.")
class UserAccountState(Enum):
    ACTIVE = strawberry.enum_value("ACTIVE", description="Here, as nearly all are.")
    DEACTIVATED = strawberry.enum_value(
        "DEACTIVATED",
        description="Switched off: nobody sees it, and it comes back whole when it is reactivated.",
    )
    DELETED = strawberry.enum_value(
        "DELETED", description="Deleted for good: its edges are being removed, or gone."
    )


DeletionRow: TypeAlias = account_state.Deletion


@strawberry.type(description="How far the removal of a deleted account's edges is.")
@of_rows(account_state.Deletion)
class UserAccountDeletion:
    @batched(
        description="How many edges are counted still, from the account and towards it; 0 when "
        "it is finished."
    )
    def edges_left(rows: Parents[DeletionRow]) -> list[int]:
        return [row.edges_left for row in rows]

    @batched(description="When the account was deleted.")
    def started_at(rows: Parents[DeletionRow]) -> list[datetime]:
        return [date(row.started_at) for row in rows]

    @batched(description="When nothing of it was left; null until then.")
    def finished_at(rows: Parents[DeletionRow]) -> list[datetime | None]:
        return [None if row.finished_at is None else date(row.finished_at) for row in rows]


@strawberry.type(description="Where an account is. For services.")
class UserAccount:
    @batched(description="The user whose account it is.")
    def user(rows: Parents[AccountRow]) -> list[LazyUser]:
        return cast("list[LazyUser]", [row.user for row in rows])

    @batched(description="Where it is.")
    def state(rows: Parents[AccountRow]) -> list[UserAccountState]:
        return [UserAccountState[row.status.state.name] for row in rows]

    @batched(description="How far its deletion is; null of an account that is not deleted.")
    def deletion(rows: Parents[AccountRow]) -> list[UserAccountDeletion | None]:
        return cast("list[UserAccountDeletion | None]", [row.status.deletion for row in rows])
