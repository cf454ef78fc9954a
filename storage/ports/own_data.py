"""Data that only its user sees: private notes, groups, pins, and seen followers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from graph.edge import Millis, Pair, UserId
from graph.follow_group import FollowGroup, GroupChange, GroupId, SavedGroups
from graph.own_change import OwnChange
from graph.pace import Pace
from graph.page import Page, Window
from graph.receipt import IdempotentRequest


class PrivateNotes(Protocol):
    """Private notes of users about others. Read from the tables, not from caches."""

    async def get_many(self, author: UserId, others: Sequence[UserId]) -> Mapping[UserId, str]:
        """The notes of `author` about each of `others`, without users who have none."""
        ...

    async def set_note(
        self,
        pair: Pair,
        note: str | None,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Set the note of the first user about the second, durably, unless the first user exceeds
        `pace`. None deletes it.

        It writes nothing if the first account is not active. If the second account is deleted, it
        only deletes notes. A `request` is used as in `AccountWrites`.
        """
        ...


class FollowGroups(Protocol):
    """Groups of follows. Read from the tables, not from caches.

    Members are the users whom the owner still follows by the same follow as when they were added,
    and whose accounts are active.
    """

    async def get_many(self, owner: UserId) -> Sequence[FollowGroup]:
        """All groups of the owner, in their order."""
        ...

    async def page(self, owner: UserId, group: GroupId, window: Window) -> Page | None:
        """A window of the members by the date of the follow. None: there is no such group."""
        ...

    async def counts(self, owner: UserId, groups: Sequence[GroupId]) -> Mapping[GroupId, int]:
        """The number of members of each of `groups`."""
        ...

    async def groups_of(
        self, owner: UserId, users: Sequence[UserId]
    ) -> Mapping[UserId, Sequence[GroupId]]:
        """For each of `users`: the groups that they are in, in the order of groups. Users who are
        in no group are left out."""
        ...

    async def change(
        self,
        owner: UserId,
        change: GroupChange,
        pace: Pace,
        restorable_s: int,
        request: IdempotentRequest | None = None,
    ) -> SavedGroups:
        """Change the owner's groups, durably, unless the owner exceeds `pace`.

        It writes nothing if the owner's account is not active. A `request` is used as in
        `AccountWrites`. For `restorable_s` seconds after the end of a follow, an undo can restore
        the follow, and with it the membership.
        """
        ...


class SeenFollowers(Protocol):
    """The moment up to which each user has seen their followers. Read from the tables, not from
    caches."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Millis]:
        """The moment of each of `users`; NEVER_SEEN for one who has marked none."""
        ...

    async def mark(
        self,
        user: UserId,
        until: Millis,
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Set the user's moment, durably, unless it is later already, or the user exceeds `pace`.

        It writes nothing if the account is not active. A `request` is used as in `AccountWrites`.
        """
        ...


class PinnedFollowing(Protocol):
    """The users whom users have pinned among those they follow. Read from the tables, not from
    caches."""

    async def pinned_by(self, user: UserId) -> Sequence[UserId]:
        """The users whom `user` has pinned and still follows by the same follow, in order."""
        ...

    async def replace(
        self,
        user: UserId,
        others: Sequence[UserId],
        request: IdempotentRequest | None = None,
        pace: Pace | None = None,
    ) -> OwnChange:
        """Replace the users whom `user` has pinned, durably, unless `user` exceeds `pace`.

        It writes nothing if the account of `user` is not active. It also writes nothing if `user`
        does not follow one of `others`, or if the account of one of `others` is not active: then
        the outcome is NOT_ALLOWED, and `not_pinnable` is this other user. A `request` is used as in
        `AccountWrites`.
        """
        ...
