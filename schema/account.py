"""The state of accounts as GraphQL types, for services."""

from datetime import datetime
from enum import Enum
from typing import NamedTuple, TypeAlias

import strawberry
from strawberry import enum_value

from engine import Parents, batched, row_classes
from graph import account_state
from graph.account_state import AccountStatus
from graph.edge import UserId
from schema.node import LazyUser
from schema.rows import date


class AccountRow(NamedTuple):
    """A user and the state of their account."""

    user: UserId
    status: AccountStatus


@strawberry.enum(description="The state of an account.")
class UserAccountState(Enum):
    ACTIVE = enum_value("ACTIVE", description="The account is active. This is the default.")
    DEACTIVATED = enum_value(
        "DEACTIVATED",
        description="The account is deactivated: other users see neither it nor its "
        "relationships. `reactivateAccount` restores it.",
    )
    DELETED = enum_value(
        "DELETED",
        description="The account is deleted permanently. Its relationships are being removed, "
        "or are already removed.",
    )


DeletionRow: TypeAlias = account_state.Deletion


@strawberry.type(description="The progress of removing a deleted account's relationships.")
@row_classes(account_state.Deletion)
class UserAccountDeletion:
    @batched(
        description="The number of follows, requests and blocks, in both directions, that are "
        "still to be removed. 0 when the removal is finished."
    )
    def edges_left(rows: Parents[DeletionRow]) -> list[int]:
        return [row.edges_left for row in rows]

    @batched(description="When the account was deleted.")
    def started_at(rows: Parents[DeletionRow]) -> list[datetime]:
        return [date(row.started_at) for row in rows]

    @batched(description="When the removal was finished. Null until then.")
    def finished_at(rows: Parents[DeletionRow]) -> list[datetime | None]:
        return [None if row.finished_at is None else date(row.finished_at) for row in rows]


@strawberry.type(description="The state of a user's account. Only services can read it.")
class UserAccount:
    @batched(graphql_type=LazyUser, description="The user who owns the account.")
    def user(rows: Parents[AccountRow]) -> list[UserId]:
        return [row.user for row in rows]

    @batched(description="The state of the account.")
    def state(rows: Parents[AccountRow]) -> list[UserAccountState]:
        return [UserAccountState[row.status.state.name] for row in rows]

    @batched(
        graphql_type=UserAccountDeletion | None,
        description="The progress of the deletion. Null if the account is not deleted.",
    )
    def deletion(rows: Parents[AccountRow]) -> list[DeletionRow | None]:
        return [row.status.deletion for row in rows]
