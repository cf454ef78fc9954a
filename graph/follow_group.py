"""Groups of follows: named parts of the list of users whom a user follows, private to that user."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, NewType, TypeAlias
from uuid import UUID

from graph.counts import Limit
from graph.edge import Millis, UserId
from graph.outcome import Outcome

GroupId = NewType("GroupId", int)
"""Unique among the groups of its owner: when it was created, in microseconds since 1970."""

NO_GROUP = GroupId(0)
"""No group has this id."""

GROUPS_MAX = 100
"""How many groups a user may have."""

NAME_CHARS_MAX = 50


class FollowGroup(NamedTuple):
    """A group of users whom the owner follows."""

    owner: UserId
    id: GroupId
    name: str
    position: int
    """Its place among the owner's groups, from 0."""
    request_id: UUID | None = None
    """The id of the request that created it, if the request had an idempotency key."""


@dataclass(frozen=True, slots=True)
class CreateGroup:
    """Add a group after the owner's other groups."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameGroup:
    group: GroupId
    name: str


@dataclass(frozen=True, slots=True)
class OrderGroups:
    """Put these groups first, in this order. The others follow in their present order. Groups that
    do not exist are ignored."""

    groups: Sequence[GroupId]


@dataclass(frozen=True, slots=True)
class DeleteGroup:
    group: GroupId


@dataclass(frozen=True, slots=True)
class AddMembers:
    """Add users to a group: all or, unless the owner follows all of them, none."""

    group: GroupId
    users: Sequence[UserId]


@dataclass(frozen=True, slots=True)
class RemoveMembers:
    """Remove users from a group. Those who are not in it are ignored."""

    group: GroupId
    users: Sequence[UserId]


GroupChange: TypeAlias = (
    CreateGroup | RenameGroup | OrderGroups | DeleteGroup | AddMembers | RemoveMembers
)


@dataclass(frozen=True, slots=True)
class SavedGroups:
    """The result of a change of groups."""

    outcome: Outcome
    created: GroupId | None = None
    not_followed: tuple[UserId, ...] = ()
    """The users who were not added because the owner does not follow them."""
    limit: Limit | None = None
    """The limit that was reached, if the change was rejected because of it."""
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""


def ordered(groups: Sequence[FollowGroup], first: Sequence[GroupId]) -> list[GroupId]:
    """The ids of `groups` with those in `first` before the others."""
    present = [group.id for group in groups]
    leading = [group for group in dict.fromkeys(first) if group in present]
    return leading + [group for group in present if group not in leading]
