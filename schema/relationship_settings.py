"""A user's relationship settings as GraphQL types."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import strawberry
from strawberry import enum_value

from engine import Parents, batched, derived, row_classes
from graph.account import Account
from graph.edge import UserId
from resolvers.scope import Scope
from schema.context import Info, scope_of
from schema.node import SETTINGS_PREFIX, Node


@strawberry.enum(description="Who can open a list. The owner always can.")
class ListAudience(Enum):
    EVERYONE = enum_value("EVERYONE", description="Everyone, signed in or not.")
    FOLLOWERS = enum_value("FOLLOWERS", description="The followers of the owner.")
    FRIENDS = enum_value(
        "FRIENDS", description="The followers of the owner whom the owner also follows."
    )
    ONLY_ME = enum_value("ONLY_ME", description="Only the owner.")


class SettingsRow(NamedTuple):
    """A user and their account, which holds the settings."""

    user: UserId
    account: Account


@strawberry.type(
    description="A user's settings: who can follow them, who can see their lists, and how many "
    "users they can follow. Visible to the user and to services."
)
@row_classes(SettingsRow)
class RelationshipSettings(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `settings:` and the user's id.",
        serialized=True,
    )
    def id(rows: Parents[SettingsRow]) -> list[str]:
        return [f"{SETTINGS_PREFIX}:{row.user}" for row in rows]

    protected: bool = derived(
        "account.privacy.protected",
        bool,
        description="Whether the user approves their followers. If true, only followers can open "
        "the user's lists.",
    )
    following_audience: ListAudience = derived(
        "account.privacy.following",
        lambda audience: ListAudience[audience.name],
        description="Who can open the user's list `following`.",
    )
    followers_audience: ListAudience = derived(
        "account.privacy.followers",
        lambda audience: ListAudience[audience.name],
        description="Who can open the user's list `followers`.",
    )

    @batched(description="The maximum number of users that this user can follow.")
    def following_limit(rows: Parents[SettingsRow], info: Info) -> list[int]:
        default = scope_of(info).policy.following_max
        limits = [row.account.following_limit for row in rows]
        return [default if limit is None else limit for limit in limits]


async def settings_rows(scope: Scope, users: Sequence[UserId]) -> list[SettingsRow]:
    """One row for each user, in order."""
    return list(map(SettingsRow, users, await scope.accounts.get_many(users)))
