"""Edges of any kind for tests: written by the real store, past the rules of who may make them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from graph.decision import Before, Decision, Outcome, Rule, Step
from graph.edge import Flags, Kind, Millis, Version
from storage.stores import Stores
from tests.support.graphs import as_pair

Said = tuple[Kind, Flags]
Edges = Mapping[tuple[int, int], Kind | Said]


def becomes(kind: Kind, flags: Flags = Flags.PLAIN) -> Rule:
    """The actor's edge is that from now on; the other's stays."""

    def decide(before: Before) -> Decision:
        edge = replace(
            before.edge,
            kind=kind,
            flags=flags,
            since=Millis(before.now // 1000),
            version=Version(max(before.now, before.edge.version + 1)),
        )
        mutual = before.back.kind is Kind.FOLLOW
        friends = mutual * ((kind is Kind.FOLLOW) - (before.edge.kind is Kind.FOLLOW))
        step = Step(before.edge, edge, friends, turned=False)
        return Decision(Outcome.UPDATED, (step,), edge, before.back)

    return decide


async def edges(stores: Stores, said: Edges) -> None:
    """All of these edges, at once."""
    await asyncio.gather(
        *(
            stores.writes.edges.change(
                as_pair(*ends), becomes(*(edge if isinstance(edge, tuple) else (edge,)))
            )
            for ends, edge in said.items()
        )
    )
