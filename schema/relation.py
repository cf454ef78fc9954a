"""How one user stands to another, as a type. Knows nothing of how it is read."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched, derived, of_rows
from graph import relation as rules
from schema.rows import RelationRow, UserRow, date

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]


@strawberry.enum(description="How one user stands to another, in one word.")
class RelationState(Enum):
    NONE = strawberry.enum_value("NONE", description="Neither follows the other.")
    FOLLOWING = strawberry.enum_value("FOLLOWING", description="The first follows the second.")
    FOLLOWED_BY = strawberry.enum_value("FOLLOWED_BY", description="The second follows the first.")
    FRIENDS = strawberry.enum_value("FRIENDS", description="Both follow each other.")
    SELF = strawberry.enum_value("SELF", description="They are one and the same user.")


@strawberry.type(description="How the user `from` stands to the user `to`, in both directions.")
@of_rows(RelationRow)
class Relation:
    @batched(name="from", description="The user from whose side this is told.")
    def from_(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [UserRow(row.source) for row in rows])

    @batched(description="The user whom this is about.")
    def to(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [UserRow(row.target) for row in rows])

    state: RelationState = derived(
        "both.kinds",
        lambda kinds: RelationState[rules.state(kinds).name],
        description="Both directions in one word, from the side of `from`.",
    )
    following: bool = derived(
        "both.kinds", rules.follows, description="Whether `from` follows `to`."
    )
    followed_by: bool = derived(
        "both.kinds", rules.followed, description="Whether `to` follows `from`."
    )

    @batched(description="Since when `from` has followed `to`; null if they do not.")
    def followed_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            date(both.since) if both.since and rules.follows(both.kinds) else None
            for _, _, both in rows
        ]

    @batched(description="Since when `to` has followed `from`; null if they do not.")
    def followed_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            date(both.back_since) if both.back_since and rules.followed(both.kinds) else None
            for _, _, both in rows
        ]

    @batched(description="Since when both have followed each other; null if they are no friends.")
    def friends_since(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            None if since is None else date(since)
            for since in (rules.friends_since(both) for _, _, both in rows)
        ]
