"""Remaining limits: how many users a user may still follow and block, and how many changes the
user may still make."""

from collections.abc import Sequence
from typing import NamedTuple

from graph.counts import Limit
from graph.edge import UserId
from graph.outcome import Outcome
from graph.pace import ChangeAllowance, allowance
from resolvers.scope import Scope
from storage.ports.limits import Usage


class RemainingLimits(NamedTuple):
    """One user's limits, and how much of each is left."""

    user: UserId
    following: Limit
    blocks: Limit
    changes: ChangeAllowance


async def limits_of(scope: Scope, users: Sequence[UserId]) -> list[RemainingLimits]:
    """One entry for each user, in order: one statement, on the tables themselves.

    Raises:
        Unavailable: PostgreSQL does not answer.
    """
    found = await scope.stores.writes.usages.get_many(users)
    return [_limits(scope, user, found[user]) for user in users]


async def reached_limit(scope: Scope, user: UserId, outcome: Outcome) -> Limit | None:
    """The limit that a rejection with this outcome names, as it is now. None: it names none.

    Raises:
        Unavailable: PostgreSQL does not answer.
    """
    if outcome not in (Outcome.FOLLOWING_LIMIT_REACHED, Outcome.BLOCK_LIMIT_REACHED):
        return None
    (limits,) = await limits_of(scope, [user])
    return limits.following if outcome is Outcome.FOLLOWING_LIMIT_REACHED else limits.blocks


def _limits(scope: Scope, user: UserId, usage: Usage) -> RemainingLimits:
    policy, own = scope.policy, usage.following_limit
    return RemainingLimits(
        user=user,
        following=Limit(policy.following_max if own is None else own, usage.following),
        blocks=Limit(policy.blocks_max, usage.blocks),
        changes=allowance(policy.pace, usage.now, usage.paced_until),
    )
