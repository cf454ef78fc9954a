"""The settings of the jobs of one space."""

from dataclasses import dataclass, field

from storage.settings import StorageSettings
from workers.webhook_settings import WebhookSettings


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings of one space's worker."""

    storage: StorageSettings
    undo_s: int
    """How many seconds changes can be undone."""
    verified_rows: int = 0
    """How many rows are verified in a minute."""
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
