"""A user's relationship settings as GraphQL types."""

from enum import Enum

import strawberry

from engine import Parents, batched, derived, of_rows
from graph.account import Account
from schema.context import Info, scope_of


@strawberry.enum(description="Who can open a list. The owner always can.")
class ListAudience(Enum):
    EVERYONE = strawberry.enum_value("EVERYONE", description="Everyone, signed in or not.")
    FOLLOWERS = strawberry.enum_value("FOLLOWERS", description="The followers of the owner.")
    FRIENDS = strawberry.enum_value(
        "FRIENDS", description="The followers of the owner whom the owner also follows."
    )
    ONLY_ME = strawberry.enum_value("ONLY_ME", description="Only the owner.")


@strawberry.type(
    description="A user's settings: who can follow them, who can see their lists, and how many "
    "users they can follow."
)
@of_rows(Account)
class RelationshipSettings:
    protected: bool = derived(
        "privacy.protected",
        bool,
        description="Whether the user approves their followers. If true, only followers can open "
        "the user's lists.",
    )
    following_audience: ListAudience = derived(
        "privacy.following",
        lambda audience: ListAudience[audience.name],
        description="Who can open the user's list `following`.",
    )
    followers_audience: ListAudience = derived(
        "privacy.followers",
        lambda audience: ListAudience[audience.name],
        description="Who can open the user's list `followers`.",
    )

    @batched(description="The maximum number of users that this user can follow.")
    def following_limit(accounts: Parents[Account], info: Info) -> list[int]:
        most = scope_of(info).limits.following_max
        return [
            most if account.following_limit is None else account.following_limit
            for account in accounts
        ]
