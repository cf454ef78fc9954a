"""The settings of the jobs of one space."""

from dataclasses import dataclass, field
from typing import Protocol

from graph.bulk import BulkSlice, SliceResults
from storage.settings import StorageSettings
from storage.stores import Stores
from workers.webhook_settings import WebhookSettings


class AppliesSlices(Protocol):
    """Applies slices of bulk operations. Implemented outside of this package, which may not import
    the use cases."""

    async def __call__(self, stores: Stores, bulk_slice: BulkSlice, /) -> SliceResults:
        """Apply a slice. Raises Unavailable if a server cannot be reached."""
        ...


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings of one space's worker."""

    storage: StorageSettings
    undo_s: int
    """For how many seconds changes can be undone."""
    verified_rows: int = 0
    """How many rows are verified in each minute. 0: no verification."""
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    apply_slice: AppliesSlices | None = None
    """Applies bulk operations. None: other workers apply them."""
