"""Suggestions: the candidates to follow, and their order."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from graph.edge import Flags, Kind, Millis, UserId
from graph.page import Position
from graph.relation import REVERSE_KIND_MASK

FOLLOWS_YOU_WORTH = 4.0
"""More than three known followers: people follow back more often than they follow anybody else."""


class Reason(Enum):
    """Why a user is suggested. If several reasons apply, the first one."""

    FOLLOWS_YOU = "FOLLOWS_YOU"
    FRIENDS_OF_FRIENDS = "FRIENDS_OF_FRIENDS"


class Suggestion(NamedTuple):
    """A suggested user and the reason. A tuple, because there may be thousands of candidates."""

    user: UserId
    reason: Reason
    known: Sequence[UserId]
    """The users followed by the viewer who follow that user."""


def suggestions(
    followers: Sequence[Position],
    circles: Mapping[UserId, Sequence[Position]],
    strengths: Mapping[UserId, float],
) -> list[Suggestion]:
    """All candidates, best first.

    `followers` are the viewer's own. `circles` maps each user the viewer follows to the users whom
    that user follows. A candidate's score is its affinity (`strengths`) plus 1 for each known
    follower, the weight of one interaction of weight 1 made now.
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
    """Whether a user may be suggested to a viewer with these kinds.

    The viewer must have no edge and no flag (muted, dismissed) about the user, and must not be
    blocked by the user.
    """
    return kinds & ~REVERSE_KIND_MASK == _NOTHING and kinds >> 4 & 15 != Kind.BLOCK


_NOTHING = Kind.NONE | Flags.PLAIN << 8
