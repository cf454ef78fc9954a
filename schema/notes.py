"""Reads the notes on edges (the end of a mute, the message of a request) for several types."""

from collections.abc import Mapping, Sequence

from graph.edge import Pair
from resolvers.scope import Scope
from storage.ports import EdgeNote


async def notes_of(scope: Scope, pairs: Sequence[Pair]) -> Mapping[Pair, EdgeNote]:
    """Return the notes on these edges."""
    return await scope.stores.reads.edge_notes.get_many(pairs)
