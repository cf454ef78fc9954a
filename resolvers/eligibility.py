"""Whether the viewer may follow users, for a whole screen at once."""

import asyncio
from collections.abc import Sequence
from functools import cache

from graph.account import Account
from graph.decision import PairState
from graph.edge import Edge, UserId, Version
from graph.eligibility import Eligibility, eligibility
from graph.relation import SELF, STRANGERS, Relation
from graph.visibility import Privacy
from resolvers.scope import Scope


async def eligibilities(scope: Scope, users: Sequence[UserId]) -> list[Eligibility]:
    """The expected result of following each of `users`, from three batches in total.

    It reads caches, so the result of a `followUser` may differ.
    """
    viewer = scope.viewer
    if viewer is None:
        return [Eligibility.SIGN_IN] * len(users)
    viewer_relations, ((own, counts),), accounts = await asyncio.gather(
        scope.viewer_relations.get_many(users),
        scope.profiles.get_many([viewer]),
        scope.accounts.get_many(users),
    )
    following = counts.following + counts.whispers + counts.outgoing_requests

    @cache  # most users of a screen have equal kinds and privacy
    def can_follow(kinds: int, privacy: Privacy) -> Eligibility:
        if kinds == SELF.kinds:
            return Eligibility.SELF
        state = _state(STRANGERS._replace(kinds=kinds), following, own, privacy)
        limits = scope.limits
        return eligibility(state, limits.following_max, mutual=limits.mutual_approval)

    return [
        can_follow(relation.kinds, account.privacy)
        for relation, account in zip(viewer_relations, accounts, strict=True)
    ]


def _state(relation: Relation, following: int, own: Account, other: Privacy) -> PairState:
    """The input of the rule, without versions and dates: the result does not depend on them."""
    unversioned = Version(0)
    return PairState(
        edge=Edge(relation.kind, relation.flags, relation.since, unversioned),
        reverse=Edge(relation.back_kind, relation.turned.flags, relation.back_since, unversioned),
        following=following,
        now=0,
        following_limit=own.following_limit,
        protected=other.protected,
        present=own.privacy.present and other.present,
        active=own.privacy.present,
    )
