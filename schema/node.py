"""The interface of objects that have a globally unique id, and the form of these ids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import orjson
import strawberry

from engine import Parents, batched
from graph.edge import MAX_USER_ID, UserId, user_id_of
from schema.rows import UserRow

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]
"""`User` in the modules that `schema.user` imports."""

GROUP_PREFIX = "group"
LIMITS_PREFIX = "limits"
RELATION_PREFIX = "relation"
REQUEST_PREFIX = "request"
SETTINGS_PREFIX = "settings"
SUGGESTION_PREFIX = "suggestion"
VIEWER_PREFIX = "viewer"
"""The prefixes of ids. A user's id has no prefix."""

USERS_IN_ID = {
    GROUP_PREFIX: 2,
    LIMITS_PREFIX: 1,
    RELATION_PREFIX: 2,
    REQUEST_PREFIX: 2,
    SETTINGS_PREFIX: 1,
    SUGGESTION_PREFIX: 2,
    VIEWER_PREFIX: 1,
}
"""How many user ids follow each prefix, separated by colons. The second number in the id of a
group is not a user's, but has the same form."""

PREFIXED_CHARS_MAX = max(
    len(prefix) + users * len(f":{MAX_USER_ID}") for prefix, users in USERS_IN_ID.items()
)
"""The length of the longest id with a prefix."""


@strawberry.interface(description="An object that `node(id)` can fetch by its id.")
class Node:
    @batched(
        graphql_type=strawberry.ID,
        description="The globally unique id. The id of a user is the platform's 64-bit user id as "
        "a decimal number; other ids begin with a prefix and a colon.",
        serialized=True,
    )
    def id(rows: Parents[UserRow]) -> list[str]:
        # orjson formats a column of numbers in less than half of the time of str.
        return orjson.dumps(list(rows))[1:-1].decode().split(",")


def parsed_id(text: str) -> tuple[str, Sequence[UserId]] | None:
    """Return the prefix of an object's id and the numbers after it: ids of users, and of a group.
    None if `text` is no id with a prefix, as that of a user."""
    if len(text) > PREFIXED_CHARS_MAX:
        return None
    prefix, *parts = text.split(":", 3)
    users = [user for user in map(user_id_of, parts) if user is not None]
    if len(users) != len(parts) or len(users) != USERS_IN_ID.get(prefix):
        return None
    return prefix, users
