"""Accounts: their settings, their states, and the users with edges from or to them."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

from graph.account import PrivacyChange, Saved
from graph.account_state import AccountState, AccountStatus, StateChange
from graph.edge import UserId
from graph.pace import Pace
from graph.receipt import IdempotentRequest


class AccountWrites(Protocol):
    """Changes of account settings.

    If `request` is given, its receipt is written in the transaction of the change. Both setters
    raise ReceiptExists if the receipt exists; nothing is written then.
    """

    async def set_privacy(
        self,
        user: UserId,
        change: PrivacyChange,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> Saved:
        """Set the fields that `change` names, durably.

        Writes nothing and returns RATE_LIMITED with `retry_at` if the user exceeds `pace`, and
        ACCOUNT_NOT_ACTIVE for a deleted account.
        """
        ...

    async def set_following_limit(
        self, user: UserId, limit: int | None, request: IdempotentRequest | None = None
    ) -> Saved:
        """Set the limit, durably. None: the deployment's default. Writes nothing and returns
        ACCOUNT_DELETED for a deleted account."""
        ...


class Accounts(AccountWrites, Protocol):
    """Changes that are visible to all readers when they return, unless they are `is_delayed`."""

    async def update_caches_again(self, user: UserId) -> bool:
        """Update the caches again when a request is repeated, because the first request may have
        ended before it updated them. Returns whether they were updated."""
        ...


class AccountStates(Protocol):
    """Account states. A change is visible to all readers when it returns, unless it
    `is_delayed`."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, AccountStatus]:
        """The state of each of `users`; a user without a row is active."""
        ...

    async def change(
        self, user: UserId, state: AccountState, request: IdempotentRequest | None = None
    ) -> StateChange:
        """Set the state, durably, unless it is set already or the account is deleted.

        Raises:
            ReceiptExists: the request has a receipt; nothing was written.
        """
        ...


class Neighbours(Protocol):
    """The users whose lists or flags may contain a user."""

    async def neighbours(self, user: UserId, limit: int) -> Set[UserId]:
        """About `limit` users to whom `user` has an edge, as many whom `user` has only muted or
        dismissed, and as many of each in the other direction."""
        ...


class Absences(Protocol):
    """The accounts that are deactivated or deleted."""

    async def now(self) -> Set[UserId]:
        """All absent users, as of a short time ago. Callers must not modify or keep the set.

        Raises:
            Unavailable: it is unknown which accounts have become absent since the last read.
        """
        ...

    async def as_of(self, at_us: int) -> Set[UserId]:
        """All absent users, including every change that was committed by `at_us` (database clock,
        microseconds), unless that is in the future, and every change before the last `expire`.

        Raises:
            Unavailable: the store cannot read that state.
        """
        ...

    def expire(self) -> None:
        """Make later calls read the set again, because an account has become absent or active."""
        ...


class AbsenceLog(Protocol):
    """The accounts that have become absent lately, for gateways that cannot reach PostgreSQL."""

    async def add(self, user: UserId) -> None:
        """Add an account, before its change is committed.

        Raises:
            Unavailable: the log cannot be reached.
        """
        ...

    async def epoch(self) -> str:
        """An identifier of the log. Once the log may have lost entries, it has another one.

        Raises:
            Unavailable: the log cannot be reached.
        """
        ...

    async def since(self, age_s: float, epoch: str) -> Set[UserId] | None:
        """The accounts that were added in the last `age_s` seconds. Some may not have become
        absent, or be active again. None: the log may have dropped some of them, or does not have
        the `epoch` any more.

        Raises:
            Unavailable: the log cannot be reached.
        """
        ...


class ErasureQueue(Protocol):
    """Wakes the workers for deleted accounts. Best effort, like `Lanes`."""

    async def wake(self, users: Iterable[UserId]) -> None:
        """Queue the erasure of these users. Returns when they are queued, or when queueing has
        failed."""
        ...
