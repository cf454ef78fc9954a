"""The entries of an account export: all that is stored about one user and that the user may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graph.account import Account
from graph.account_state import AccountState
from graph.edge import Edge, Kind, Millis, UserId
from graph.follow_group import GroupId
from graph.outcome import Outcome
from graph.receipt import UndoRecord


@dataclass(frozen=True, slots=True)
class AccountEntry:
    """The user's settings, state, and use of the rate limit. Times are in microseconds, except
    `followers_seen`; None: never."""

    account: Account
    state: AccountState
    changed_at: int | None
    deleted_at: int | None
    erased_at: int | None
    paced_until: int
    """The state of the rate limiter: see `graph.pace`. 0: never used."""
    followers_seen: Millis
    """Up to when the user has seen their followers: see `graph.new_followers`."""


class OutgoingEntry(NamedTuple):
    """The user's edge to another user, with the message of a request and the end of a mute."""

    other: UserId
    edge: Edge
    message: str | None
    muted_until: Millis | None


class IncomingEntry(NamedTuple):
    """Another user's edge to the user, without what only its owner may see."""

    other: UserId
    kind: Kind
    since: Millis
    message: str | None
    """The message of a request."""


class NoteEntry(NamedTuple):
    """A private note of the user's."""

    other: UserId
    note: str


class PinEntry(NamedTuple):
    """A user whom the user has pinned, and since when they followed that user."""

    other: UserId
    since: Millis


class GroupEntry(NamedTuple):
    """A group of the user's."""

    id: GroupId
    name: str


class MemberEntry(NamedTuple):
    """A member of groups of the user's. For each group: its id, and the date that the user's follow
    of the member had when the member was added."""

    other: UserId
    groups: Sequence[tuple[GroupId, Millis]]


class AffinityEntry(NamedTuple):
    """How close the user is to another: see `graph.affinity`."""

    other: UserId
    rank: float


@dataclass(frozen=True, slots=True)
class ReceiptEntry:
    """The stored result of a request of the user's."""

    id: int
    """The id of the receipt, a UUID, as a number."""
    other: UserId | None
    made_at: int
    """When the request was made, in microseconds."""
    outcome: Outcome
    undo: UndoRecord | None
    recorded: int | None
    """The number of recorded interactions. None: the request was not to record interactions."""
