"""How one user stands to another, as a type. Knows nothing of how it is read."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched, of_rows
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


_STATES = [RelationState[state.name] for state in rules.RelationState]


@strawberry.type(description="How the user `from` stands to the user `to`, in both directions.")
@of_rows(RelationRow)
class Relation:
    @batched(name="from", description="The user from whose side this is told.")
    def from_(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [UserRow(row.source) for row in rows])

    @batched(description="The user whom this is about.")
    def to(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [UserRow(row.target) for row in rows])

    @batched(description="Both directions in one word, from the side of `from`.")
    def state(rows: Parents[RelationRow]) -> list[RelationState]:
        return [
            RelationState.SELF if source == target else _STATES[both.state]
            for source, target, both in rows
        ]

    @batched(description="Whether `from` follows `to`.")
    def following(rows: Parents[RelationRow]) -> list[bool]:
        return [row.both.following for row in rows]

    @batched(description="Whether `to` follows `from`.")
    def followed_by(rows: Parents[RelationRow]) -> list[bool]:
        return [row.both.followed_by for row in rows]

    @batched(description="Since when `from` has followed `to`; null if they do not.")
    def followed_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [date(row.both.since) if row.both.following else None for row in rows]

    @batched(description="Since when `to` has followed `from`; null if they do not.")
    def followed_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [date(row.both.back_since) if row.both.followed_by else None for row in rows]

    @batched(description="Since when both have followed each other; null if they are no friends.")
    def friends_since(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            None if since is None else date(since)
            for since in (row.both.friends_since for row in rows)
        ]
