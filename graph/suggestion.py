"""Whom to suggest to somebody, and in which order. Knows nothing of where the lists come from."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from graph.edge import Flags, Kind, Millis, UserId
from graph.page import Position

FOLLOWS_YOU_WORTH = 4.0
"""Following back is the likeliest of all: it outweighs three known followers."""


class Reason(Enum):
    """Why somebody is suggested. The first that holds."""

    FOLLOWS_YOU = "FOLLOWS_YOU"
    FRIENDS_OF_FRIENDS = "FRIENDS_OF_FRIENDS"


class Suggestion(NamedTuple):
    """A user, and why. A tuple, because there may be thousands of candidates."""

    user: UserId
    reason: Reason
    known: Sequence[UserId]
    """Of those whom one follows, who follow that user."""


def suggestions(
    followers: Sequence[Position],
    circles: Mapping[UserId, Sequence[Position]],
    strengths: Mapping[UserId, float],
) -> list[Suggestion]:
    """Everybody who might be suggested, best first.

    `followers` are one's own, `circles` whom those follow whom one follows. How close one is to a
    user (`strengths`) counts as it is, and each known follower as much as an interaction of weight
    1 of this moment.
    """
    since = {user: begun for begun, user in followers}
    known: dict[UserId, list[UserId]] = {user: [] for user in since}
    for middle, circle in circles.items():
        for _, user in circle:
            known.setdefault(user, []).append(middle)

    def order(user: UserId) -> tuple[float, Millis, UserId]:
        worth = strengths.get(user, 0.0) + len(known[user]) + (user in since) * FOLLOWS_YOU_WORTH
        return worth, since.get(user, Millis(0)), user

    return [
        Suggestion(
            user, Reason.FOLLOWS_YOU if user in since else Reason.FRIENDS_OF_FRIENDS, known[user]
        )
        for user in sorted(known, key=order, reverse=True)
    ]


def may_suggest(kinds: int) -> bool:
    """Whether a user may be suggested to whoever stands to them like this.

    They must have nothing to do with that user, not even a note (muted, dismissed), and must not be
    blocked by them.
    """
    return kinds & ~0xF0 == _NOTHING and kinds >> 4 & 15 != Kind.BLOCK


_NOTHING = Kind.NONE | Flags.PLAIN << 8
