"""How one user stands to another, as a type. Knows nothing of how it is read."""

from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched, derived
from graph import relation as rules
from schema.rows import KINDS, RelationRow, date

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
class Relation:
    @batched(name="from", description="The user from whose side this is told.")
    def from_(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [row[0] for row in rows])

    @batched(description="The user whom this is about.")
    def to(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", [row[1] for row in rows])

    state: RelationState = derived(
        KINDS,
        lambda kinds: RelationState[rules.state(kinds).name],
        description="Both directions in one word, from the side of `from`.",
    )
    following: bool = derived(KINDS, rules.follows, description="Whether `from` follows `to`.")
    followed_by: bool = derived(KINDS, rules.followed, description="Whether `to` follows `from`.")

    @batched(description="Since when `from` has followed `to`; null if they do not.")
    def followed_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            date(relation.since) if relation.since and rules.follows(kinds) else None
            for _, _, kinds, relation in rows
        ]

    @batched(description="Since when `to` has followed `from`; null if they do not.")
    def followed_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            date(relation.back_since) if relation.back_since and rules.followed(kinds) else None
            for _, _, kinds, relation in rows
        ]

    @batched(description="Since when both have followed each other; null if they are no friends.")
    def friends_since(rows: Parents[RelationRow]) -> list[datetime | None]:
        return [
            date(max(relation.since, relation.back_since)) if kinds == rules.FRIENDS else None
            for _, _, kinds, relation in rows
        ]
