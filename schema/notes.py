"""What is written beside edges, for the fields of several types. Knows no type of the API."""

from collections.abc import Mapping, Sequence

from graph.edge import Pair
from resolvers.scope import Scope
from storage.ports import Remark


async def notes_of(scope: Scope, pairs: Sequence[Pair]) -> Mapping[Pair, Remark]:
    """What is written beside these edges."""
    return await scope.stores.remarks.of(pairs)
