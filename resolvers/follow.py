"""What following and unfollowing are: who may, what is decided, what the caller is told.

Knows nothing of transactions: the rule is in `graph.transitions`, the store applies it.
"""

from dataclasses import dataclass

from graph.decision import Outcome, Rule
from graph.edge import Pair, UserId
from graph.relation import SELF, Relation
from graph.transitions import follow, unfollow
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result:
    """What became of it, and how viewer and target stand to each other now."""

    outcome: Outcome
    relation: Relation


async def follow_user(scope: Scope, target: UserId) -> Result:
    """The viewer follows `target`. Following twice is no error: it is already so.

    Raises:
        Unauthenticated: nobody asks.
        Unavailable: PostgreSQL is. What was not acknowledged may or may not have happened; doing
            it again is safe.
    """
    viewer = scope.must_have_viewer()
    if target == viewer:
        return Result(Outcome.CANNOT_FOLLOW_SELF, SELF)
    return await _change(scope, Pair(viewer, target), follow(scope.limits.following_max))


async def unfollow_user(scope: Scope, target: UserId) -> Result:
    """The viewer no longer follows `target`. Raises as `follow_user` does."""
    viewer = scope.must_have_viewer()
    if target == viewer:
        return Result(Outcome.NOT_FOLLOWING, SELF)
    return await _change(scope, Pair(viewer, target), unfollow())


async def _change(scope: Scope, pair: Pair, rule: Rule) -> Result:
    decision = await scope.stores.edges.change(pair, rule)
    scope.forget()
    return Result(decision.outcome, decision.relation)
