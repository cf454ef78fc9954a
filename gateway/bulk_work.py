"""How the workers apply a slice of a bulk operation: by the use cases of the API."""

from dataclasses import dataclass

from graph.bulk import BulkSlice, SliceResults
from resolvers import bulk
from resolvers.scope import Limits
from schema.bulk_lines import SliceLines
from storage.stores import Stores


@dataclass(frozen=True, slots=True)
class BulkWork:
    """Applies slices with the limits of a space: an `AppliesSlices` of the workers."""

    limits: Limits

    async def __call__(self, stores: Stores, part: BulkSlice) -> SliceResults:
        """Apply a slice. Raises Unavailable if a server cannot be reached: apply it again then."""
        lines = SliceLines(self.limits, part)
        return lines.results(await bulk.apply(stores, self.limits, part, lines.changes))
