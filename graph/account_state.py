"""Whether an account is here, switched off, or gone for good. Knows nothing of who sees it then."""

from dataclasses import dataclass
from enum import Enum, IntEnum

from graph.edge import Millis


class AccountState(IntEnum):
    """The numbers are stored."""

    ACTIVE = 0
    DEACTIVATED = 1
    """Its edges are kept, and nobody sees them."""
    DELETED = 2
    """For good: its edges are on their way out, or gone."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """How far the removal of a deleted account's edges is."""

    edges_left: int
    started_at: Millis
    finished_at: Millis | None


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """An account's state and, of a deleted one, what is left of it."""

    state: AccountState
    deletion: Deletion | None = None


HERE = AccountStatus(AccountState.ACTIVE)
"""Of whom nothing else was ever said."""


class StateOutcome(Enum):
    """What became of a change of an account's state."""

    DEACTIVATED = "DEACTIVATED"
    ALREADY_DEACTIVATED = "ALREADY_DEACTIVATED"
    REACTIVATED = "REACTIVATED"
    ALREADY_ACTIVE = "ALREADY_ACTIVE"
    DELETED = "DELETED"
    ALREADY_DELETED = "ALREADY_DELETED"
    ACCOUNT_DELETED = "ACCOUNT_DELETED"
    """It was deleted before, and what is deleted does not come back."""


_MADE = {
    AccountState.ACTIVE: StateOutcome.REACTIVATED,
    AccountState.DEACTIVATED: StateOutcome.DEACTIVATED,
    AccountState.DELETED: StateOutcome.DELETED,
}
_ALREADY = {
    AccountState.ACTIVE: StateOutcome.ALREADY_ACTIVE,
    AccountState.DEACTIVATED: StateOutcome.ALREADY_DEACTIVATED,
    AccountState.DELETED: StateOutcome.ALREADY_DELETED,
}
STATE_CHANGES = frozenset(_MADE.values())


def state_outcome(was: AccountState, wanted: AccountState) -> StateOutcome:
    """What becomes of it when an account that `was` so is to be as `wanted`."""
    if was is wanted:
        return _ALREADY[wanted]
    return StateOutcome.ACCOUNT_DELETED if was is AccountState.DELETED else _MADE[wanted]
