"""The expected outcome of following each of many users."""

import asyncio
from collections.abc import Sequence
from functools import cache

from graph.account import Account
from graph.decision_types import PairState
from graph.edge import Edge, UserId, Version
from graph.outcome import Outcome
from graph.privacy import Privacy
from graph.relation import SELF, STRANGERS, Relation
from graph.rules import among_active, follow
from resolvers.scope import Scope


async def outcomes_of_following(scope: Scope, users: Sequence[UserId]) -> list[Outcome | None]:
    """Return the expected outcome of following each of `users`; None if the request has no viewer.

    It takes three batches in total. It reads caches, so the outcome of a `followUser` may differ.
    """
    viewer = scope.viewer
    if viewer is None:
        return [None] * len(users)
    viewer_relations, ((own, counts),), accounts = await asyncio.gather(
        scope.viewer_relations.get_many(users),
        scope.profiles.get_many([viewer]),
        scope.accounts.get_many(users),
    )
    following = counts.following + counts.whispers + counts.outgoing_requests
    rule = among_active(follow(scope.policy.following_max, mutual=scope.policy.mutual_approval))

    @cache  # most users of a screen have equal kinds and privacy
    def outcome(kinds: int, privacy: Privacy) -> Outcome:
        if kinds == SELF.kinds:
            return Outcome.CANNOT_FOLLOW_SELF
        return rule(_state(STRANGERS._replace(kinds=kinds), following, own, privacy)).outcome

    return [
        outcome(relation.kinds, account.privacy)
        for relation, account in zip(viewer_relations, accounts, strict=True)
    ]


def _state(relation: Relation, following: int, own: Account, other: Privacy) -> PairState:
    """The input of the rule, without versions and dates: the result does not depend on them."""
    unversioned = Version(0)
    return PairState(
        edge=Edge(relation.kind, relation.flags, relation.since, unversioned),
        reverse=Edge(
            relation.reverse_kind, relation.reversed.flags, relation.reverse_since, unversioned
        ),
        following=following,
        now=0,
        following_limit=own.following_limit,
        protected=other.protected,
        both_active=own.privacy.present and other.present,
        actor_active=own.privacy.present,
    )
