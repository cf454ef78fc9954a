"""Write edges of any kind through the real store, without the rules for who may create them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from graph.decision_types import Decision, PairState, Rule, Step
from graph.edge import Flags, Kind, Millis, Version
from graph.outcome import Outcome
from storage.stores import Stores
from tests.support.graphs import as_pair

KindAndFlags = tuple[Kind, Flags]
Edges = Mapping[tuple[int, int], Kind | KindAndFlags]


def becomes(kind: Kind, flags: Flags = Flags.PLAIN, since: int | None = None) -> Rule:
    """A rule that sets the actor's edge to this kind and these flags, since now or `since`."""

    def decide(state: PairState) -> Decision:
        edge = replace(
            state.edge,
            kind=kind,
            flags=flags,
            since=Millis(state.now // 1000 if since is None else since),
            version=Version(max(state.now, state.edge.version + 1)),
        )
        mutual = state.reverse.kind is Kind.FOLLOW
        friends = mutual * ((kind is Kind.FOLLOW) - (state.edge.kind is Kind.FOLLOW))
        step = Step(state.edge, edge, friends, is_reverse=False)
        return Decision(Outcome.UPDATED, (step,), edge, state.reverse)

    return decide


async def edges(stores: Stores, wanted: Edges) -> None:
    """Write all of these edges concurrently."""
    await asyncio.gather(
        *(
            stores.writes.edges.change(
                as_pair(*ends), becomes(*(edge if isinstance(edge, tuple) else (edge,)))
            )
            for ends, edge in wanted.items()
        )
    )
