"""The kinds of lists that a user has."""

from enum import IntEnum
from typing import NamedTuple

from graph.edge import UserId


class ListKind(IntEnum):
    """A user's public lists; `graph.lists` defines them. The numbers are parts of cursors, so none
    is reused."""

    FOLLOWING = 1
    FOLLOWERS = 2
    FRIENDS = 3


class OwnListKind(IntEnum):
    """Lists that only their owner may open. The numbers continue those of `ListKind`."""

    FOLLOWING = 4
    """Follows, including whispers."""
    FOLLOWERS = 5
    """Followers, including whispers."""
    CLOSE_FOLLOWS = 6
    MUTED = 7
    BLOCKED = 8
    OUTGOING_REQUESTS = 9
    INCOMING_REQUESTS = 10


class Ranking(IntEnum):
    """Lists in another order than by date. The numbers differ from those of the other two enums."""

    FRIENDS = 101
    """A user's friends, closest first."""
    SUGGESTIONS = 102


class ListOf(NamedTuple):
    """A list: its kind, its owner, and the end that it is read from."""

    kind: ListKind | OwnListKind | Ranking
    owner: UserId
    oldest_first: bool = False
