"""What a user says about who may see them, as types. Decides nothing."""

from enum import Enum

import strawberry

from engine import Parents, batched, derived, of_rows
from graph.account import Account
from schema.context import Info, scope_of


@strawberry.enum(description="To whom a list is open; to its owner it always is.")
class ListAudience(Enum):
    EVERYONE = strawberry.enum_value("EVERYONE", description="Everybody, signed in or not.")
    FOLLOWERS = strawberry.enum_value("FOLLOWERS", description="Who follows the owner.")
    FRIENDS = strawberry.enum_value(
        "FRIENDS", description="Who follows the owner and is followed by them."
    )
    ONLY_ME = strawberry.enum_value("ONLY_ME", description="The owner alone.")


@strawberry.type(description="What a user says about who may see them.")
@of_rows(Account)
class RelationshipSettings:
    protected: bool = derived(
        "privacy.protected",
        bool,
        description="Whether the user approves who follows them, and opens their lists to "
        "followers only.",
    )
    following_audience: ListAudience = derived(
        "privacy.following",
        lambda audience: ListAudience[audience.name],
        description="To whom the list of those whom the user follows is open.",
    )
    followers_audience: ListAudience = derived(
        "privacy.followers",
        lambda audience: ListAudience[audience.name],
        description="To whom the list of the user's followers is open.",
    )

    @batched(description="How many users this user may follow.")
    def following_limit(accounts: Parents[Account], info: Info) -> list[int]:
        most = scope_of(info).limits.following_max
        return [
            most if account.following_limit is None else account.following_limit
            for account in accounts
        ]
