"""The settings of the jobs of one space."""

from dataclasses import dataclass, field
from typing import Protocol

from graph.bulk import BulkSlice, SliceResults
from storage.settings import StorageSettings
from storage.stores import Stores
from workers.webhook_settings import WebhookSettings


class AppliesSlices(Protocol):
    """Applies slices of bulk operations by the use cases, which workers do not know."""

    async def __call__(self, stores: Stores, bulk_slice: BulkSlice, /) -> SliceResults:
        """Apply a slice. Raises Unavailable if a server cannot be reached."""
        ...


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings of one space's worker."""

    storage: StorageSettings
    undo_s: int
    """How many seconds changes can be undone."""
    verified_rows: int = 0
    """How many rows are verified in a minute."""
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    apply_slice: AppliesSlices | None = None
    """How bulk operations are applied. None: by other workers."""
