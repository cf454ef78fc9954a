"""Events: feeds of users, the change feed of the space, and subscriptions."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from graph.edge import UserId
from graph.event import Event


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event of a feed, with its position."""

    cursor: str
    event: Event


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """The next events of a feed and the cursor after them. `lost`: the feed no longer holds all
    events after the requested cursor; then `events` is empty."""

    events: Sequence[FeedEvent]
    cursor: str
    more: bool = False
    """Whether there may be further events."""
    lost: bool = False


class Feeds(Protocol):
    """The events of single users, kept for a limited time."""

    @property
    def kept_s(self) -> int:
        """For how long a feed is kept after it was read last."""
        ...

    async def open(self, user: UserId) -> str:
        """Open the user's feed, and return the cursor of its end."""
        ...

    async def after(self, user: UserId, cursor: str, limit: int) -> FeedBatch:
        """At most `limit` events of the user's feed after `cursor`."""
        ...


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The next entries of the change feed, each with its fields as text, and the cursor after
    them."""

    changes: Sequence[Mapping[str, str]]
    cursor: str
    more: bool
    """Whether there may be further entries now."""
    bulk_ends: Sequence[Mapping[str, str]] = ()
    """The ends of bulk operations."""


class ChangeFeed(Protocol):
    """All changes of the space, kept for a limited time."""

    async def end(self) -> str:
        """The cursor after the newest change."""
        ...

    async def after(self, cursor: str, limit: int) -> ChangeBatch:
        """At most `limit` changes of each lane group after the cursor.

        Raises:
            BadCursor: the cursor is damaged, or belongs to another space.
            ChangesLost: some of these changes are no longer kept.
        """
        ...


class Woken(IntEnum):
    """What ended a wait for changes."""

    NOT = 0
    """The wait has timed out."""
    BY_OTHERS = 1
    """Something may have changed. It may be hidden from the viewer."""
    BY_OWN = 2
    """A change of the viewer's own relations or settings, which the viewer may see."""


class Subscription(Protocol):
    """Waits for changes of some users."""

    async def wait_for_change(self, within_s: float | None = None) -> Woken:
        """Wait until something may have changed since the last return, or for `within_s`."""
        ...


class Subscriptions(Protocol):
    """The subscriptions of this process to changes of users."""

    def open(
        self, *users: UserId, viewer: UserId | None = None, sees_everything: bool = False
    ) -> AbstractContextManager[Subscription]:
        """A subscription of `viewer`, for a block: to changes of the viewer's relations and
        settings, by either user, and to what others may see of `users`; with `sees_everything`, to
        all changes of `users`. It is anonymous if it has neither.

        Raises:
            Overloaded: this process, this viewer, or all anonymous clients together have the
                maximum number of subscriptions.
        """
        ...

    def reading(self, caller: Hashable, *, is_anonymous: bool) -> AbstractAsyncContextManager[None]:
        """Wait for a place to read the stores for a subscription of this caller, and keep it inside
        the `async with` statement. `is_anonymous`: the caller is an address without a token.

        A change of a user whom thousands watch, or the loss of Redis, wakes all subscriptions.
        Without a limit, their reads would take all connections to PostgreSQL.
        """
        ...

    async def pause(self, seconds: float) -> None:
        """Wait for `seconds`, or longer if many pauses end together: only a few subscriptions
        continue in one iteration of the event loop."""
        ...

    def open_for_all(self) -> AbstractContextManager[Subscription]:
        """A context manager that opens a subscription to the changes of all users.

        Raises:
            Overloaded: this process has its maximum number of subscriptions.
        """
        ...
