"""Versions of the viewer's relations, and changes that are conditional on them."""

import asyncio
from collections.abc import Mapping, Set

from graph.decision_types import Decision, PairState, Rule
from graph.edge import UserId
from graph.outcome import Outcome
from graph.relation import SELF, Relation
from graph.relation_version import NO_OWN_EDGE, OwnEdge, version_of
from graph.steps import unchanged
from resolvers.scope import Scope
from resolvers.visibility import own_relation

VERSIONS_PER_TURN = 1_000
"""Versions that are computed in one turn of the event loop, which takes 4 ms."""


async def versions_to(
    scope: Scope, viewer: UserId, relations: Mapping[UserId, Relation]
) -> dict[UserId, str]:
    """The versions of these relations of the viewer to others, none to the viewer themselves."""
    others = [other for other, relation in relations.items() if relation.kinds != SELF.kinds]
    if not others:
        return {}
    edges = await scope.stores.reads.edge_notes.own_edges(viewer, others)
    absent = await scope.absent()
    versions: dict[UserId, str] = {}
    for other in others:
        own = edges.get(other, NO_OWN_EDGE)
        versions[other] = _version(scope, absent, other, relations[other], own)
        if len(versions) % VERSIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return versions


def if_unchanged(
    scope: Scope, absent: Set[UserId], target: UserId, version: str, rule: Rule
) -> Rule:
    """The same rule, if the actor's relation to `target` still has this version.

    The store writes only if both edges are as the rule has read them, so nothing comes between.
    """

    def decide(state: PairState) -> Decision:
        own = OwnEdge(state.edge.version, state.muted_until)
        if _version(scope, absent, target, state.relation, own) != version:
            return unchanged(Outcome.CONFLICT, state)
        return rule(state)

    return decide


def _version(
    scope: Scope, absent: Set[UserId], other: UserId, relation: Relation, own: OwnEdge
) -> str:
    # A service that asks for itself has read more than the user may see.
    seen = own_relation(scope, absent, other, relation)
    return version_of(seen, own, is_absent=other in absent)
