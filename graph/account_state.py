"""The states of an account: active, deactivated or deleted."""

from dataclasses import dataclass
from enum import IntEnum

from graph.edge import Millis
from graph.outcome import Outcome


class AccountState(IntEnum):
    """An account's state. The numbers are stored."""

    ACTIVE = 0
    DEACTIVATED = 1
    """Its edges are kept but hidden from everybody."""
    DELETED = 2
    """Final. The workers erase its edges."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The progress of erasing a deleted account's edges."""

    edges_left: int
    started_at: Millis
    finished_at: Millis | None


@dataclass(frozen=True, slots=True)
class AccountStatus:
    """An account's state and, if it is deleted, the progress of the erasure."""

    state: AccountState
    deletion: Deletion | None = None


ACTIVE_STATUS = AccountStatus(AccountState.ACTIVE)
"""The status of an account without a stored state."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """The result of changing a state."""

    outcome: Outcome
    is_delayed: bool = False
    """Whether readers may not see the change yet: the caches could not be updated."""


_OUTCOME_OF_CHANGE = {
    AccountState.ACTIVE: Outcome.REACTIVATED,
    AccountState.DEACTIVATED: Outcome.DEACTIVATED,
    AccountState.DELETED: Outcome.DELETED,
}
_OUTCOME_WITHOUT_CHANGE = {
    AccountState.ACTIVE: Outcome.ALREADY_ACTIVE,
    AccountState.DEACTIVATED: Outcome.ALREADY_DEACTIVATED,
    AccountState.DELETED: Outcome.ALREADY_DELETED,
}


def state_outcome(current: AccountState, wanted: AccountState) -> Outcome:
    """The outcome of changing an account from state `current` to `wanted`."""
    if current is wanted:
        return _OUTCOME_WITHOUT_CHANGE[wanted]
    return (
        Outcome.ACCOUNT_DELETED if current is AccountState.DELETED else _OUTCOME_OF_CHANGE[wanted]
    )
