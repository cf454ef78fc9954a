"""Applies slices of bulk operations in workers: implements `workers.job_settings.AppliesSlices`."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph.bulk import BulkSlice, SliceResults
from resolvers import bulk
from resolvers.policy import Policy
from storage.stores import Stores

if TYPE_CHECKING:
    from schema.mutations.bulk_lines import SliceLines


@dataclass(frozen=True, slots=True)
class BulkWork:
    """Applies slices with the limits of a space."""

    policy: Policy

    async def __call__(self, stores: Stores, bulk_slice: BulkSlice) -> SliceResults:
        """Apply a slice. Raises Unavailable if a server cannot be reached: apply it again then."""
        slice_lines_type = await asyncio.to_thread(_import_slice_lines)
        lines = slice_lines_type(self.policy, bulk_slice)
        return lines.results(
            await bulk.apply(stores.batched, self.policy, bulk_slice, lines.changes)
        )


def _import_slice_lines() -> "type[SliceLines]":
    """Import the types of the API for the first slice. At the start of the worker, the import would
    delay it."""
    from schema.mutations.bulk_lines import SliceLines

    return SliceLines
