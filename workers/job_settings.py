"""The settings of the jobs of one space."""

from dataclasses import dataclass

from storage.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class JobSettings:
    """The settings of one space's worker."""

    storage: StorageSettings
    undo_s: int
    """How many seconds changes can be undone."""
    verified_rows: int = 0
    """How many rows are verified in a minute."""
