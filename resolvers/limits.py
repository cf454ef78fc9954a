"""What a user may still do: how many users to follow and to block, and how many changes to make."""

from collections.abc import Sequence
from typing import NamedTuple

from graph.edge import UserId
from graph.pace import Budget, budget
from resolvers.scope import Scope
from storage.ports import Usage


class Quota(NamedTuple):
    """A number of edges that a user may have, and how many they have."""

    limit: int
    used: int

    @property
    def remaining(self) -> int:
        """How many more there may be. A lowered limit takes no edge away, and leaves 0."""
        return max(0, self.limit - self.used)


class RemainingLimits(NamedTuple):
    """The limits of one user, and what is left of them."""

    user: UserId
    following: Quota
    blocks: Quota
    changes: Budget


async def limits_of(scope: Scope, users: Sequence[UserId]) -> list[RemainingLimits]:
    """One entry for each user, in order: one statement, on the tables themselves.

    Raises:
        Unavailable: PostgreSQL does not answer.
    """
    found = await scope.stores.usages.get_many(users)
    return [_limits(scope, user, found[user]) for user in users]


def _limits(scope: Scope, user: UserId, usage: Usage) -> RemainingLimits:
    limits, own = scope.limits, usage.following_limit
    return RemainingLimits(
        user=user,
        following=Quota(limits.following_max if own is None else own, usage.following),
        blocks=Quota(limits.blocks_max, usage.blocks),
        changes=budget(limits.pace, usage.now, usage.paced_until),
    )
