"""The lists of a user, and the definition of each: its length, who may open it, whether it lags.

CONTRIBUTING.md says how to add a list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from graph.counts import Counts
from graph.edge import UserId
from graph.privacy import Audience, Privacy


class ListKind(IntEnum):
    """Lists that others may open if the owner's privacy settings allow it. The numbers are parts of
    cursors, so none is reused."""

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


AnyList: TypeAlias = ListKind | OwnListKind


class ListOf(NamedTuple):
    """A list: its kind, its owner, and the end that it is read from."""

    kind: AnyList | Ranking
    owner: UserId
    oldest_first: bool = False


def _only_me(privacy: Privacy) -> tuple[Audience, ...]:
    return (Audience.ONLY_ME,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDefinition:
    """The properties of one list."""

    total: Callable[[Counts], int]
    """Its length."""
    audiences: Callable[[Privacy], tuple[Audience, ...]] = _only_me
    """The audiences of an account with this privacy: a viewer must be in each of them to open the
    list."""
    lags: bool = False
    """Whether it depends on reverse rows, which a drain of the owner's lane updates after others'
    changes. All other lists are exact."""
    shows_absent: bool = False
    """Whether it shows deactivated and deleted accounts too, so that its owner can remove them."""


LISTS: Mapping[AnyList, ListDefinition] = {
    ListKind.FOLLOWING: ListDefinition(
        total=attrgetter("following"), audiences=lambda privacy: (privacy.following,)
    ),
    ListKind.FOLLOWERS: ListDefinition(
        total=attrgetter("followers"), audiences=lambda privacy: (privacy.followers,), lags=True
    ),
    ListKind.FRIENDS: ListDefinition(
        total=attrgetter("friends"),
        # Friends are in both other lists, so both must be open.
        audiences=lambda privacy: (privacy.following, privacy.followers),
        lags=True,
    ),
    OwnListKind.FOLLOWING: ListDefinition(total=lambda counts: counts.following + counts.whispers),
    OwnListKind.FOLLOWERS: ListDefinition(
        total=lambda counts: counts.followers + counts.whispered, lags=True
    ),
    OwnListKind.CLOSE_FOLLOWS: ListDefinition(total=attrgetter("close_follows")),
    OwnListKind.MUTED: ListDefinition(total=attrgetter("mutes"), shows_absent=True),
    OwnListKind.BLOCKED: ListDefinition(total=attrgetter("blocks"), shows_absent=True),
    OwnListKind.OUTGOING_REQUESTS: ListDefinition(total=attrgetter("outgoing_requests")),
    OwnListKind.INCOMING_REQUESTS: ListDefinition(total=attrgetter("incoming_requests"), lags=True),
}


def ranked_list(kind: AnyList | Ranking) -> AnyList:
    """The list with the same entries, ordered by date. For suggestions there is none."""
    assert kind is not Ranking.SUGGESTIONS
    return ListKind.FRIENDS if kind is Ranking.FRIENDS else kind
