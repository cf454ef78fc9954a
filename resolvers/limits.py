"""Remaining limits: how many users a user may still follow and block, and how many changes make."""

from collections.abc import Sequence
from typing import NamedTuple

from graph.edge import UserId
from graph.pace import Budget, budget
from resolvers.scope import Scope
from storage.ports import Usage


class Quota(NamedTuple):
    """The maximum number of edges a user may have, and the number in use."""

    limit: int
    used: int

    @property
    def remaining(self) -> int:
        """How many more are allowed: 0 if the limit was lowered below the number in use."""
        return max(0, self.limit - self.used)


class RemainingLimits(NamedTuple):
    """One user's limits, and how much of each is left."""

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
