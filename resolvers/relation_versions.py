"""Versions of the viewer's relations, and changes that are conditional on them."""

import asyncio
from collections.abc import Mapping, Set

from graph.decision_types import Decision, PairState, Rule
from graph.edge import Kind, UserId
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
    stored = await scope.viewer_relations.get_many(others)  # with the others' blocks
    absent = await scope.absent()
    versions: dict[UserId, str] = {}
    for other, relation in zip(others, stored, strict=True):
        own = edges.get(other, NO_OWN_EDGE)
        is_unavailable = other in absent or relation.reverse_kind is Kind.BLOCK
        seen = own_relation(scope, absent, other, relations[other])
        versions[other] = version_of(seen, own, is_unavailable=is_unavailable)
        if len(versions) % VERSIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return versions


def if_unchanged(
    scope: Scope, absent: Set[UserId], target: UserId, version: str, rule: Rule
) -> Rule:
    """A rule that applies `rule` if the actor's relation to `target` still has this version, and
    otherwise decides CONFLICT.

    The store writes only if both edges are as the rule has read them, so the version is still the
    current one at the write.
    """

    def decide(state: PairState) -> Decision:
        own = OwnEdge(state.edge.version, state.muted_until)
        is_unavailable = target in absent or state.reverse.kind is Kind.BLOCK
        seen = own_relation(scope, absent, target, state.relation)
        if version_of(seen, own, is_unavailable=is_unavailable) != version:
            return unchanged(Outcome.CONFLICT, state)
        return rule(state)

    return decide
