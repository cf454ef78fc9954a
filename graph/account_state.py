"""Whether an account is here, switched off, or gone for good. Knows nothing of who sees it then."""

from dataclasses import dataclass
from enum import IntEnum

from graph.decision import Outcome
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


_MADE = {
    AccountState.ACTIVE: Outcome.REACTIVATED,
    AccountState.DEACTIVATED: Outcome.DEACTIVATED,
    AccountState.DELETED: Outcome.DELETED,
}
_ALREADY = {
    AccountState.ACTIVE: Outcome.ALREADY_ACTIVE,
    AccountState.DEACTIVATED: Outcome.ALREADY_DEACTIVATED,
    AccountState.DELETED: Outcome.ALREADY_DELETED,
}


def state_outcome(was: AccountState, wanted: AccountState) -> Outcome:
    """What becomes of it when an account that `was` so is to be as `wanted`."""
    if was is wanted:
        return _ALREADY[wanted]
    return Outcome.ACCOUNT_DELETED if was is AccountState.DELETED else _MADE[wanted]
