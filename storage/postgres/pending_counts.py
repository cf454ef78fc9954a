"""A viewer's pending changes, to be added to totals that lack them.

On Citus, the outbox row of a change and the counts that it will change are on different shards, so
no snapshot has both. So three reads follow each other: of the pending changes, of the counts, and
of the reverse rows of the changed edges, which are on the shards of the counts. If each reverse row
is older than its change, the counts lack all of the changes. Otherwise a change was applied between
the reads, and all is read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from graph.counts import Counts
from graph.edge import Kind, UserId, Version


class PendingChange(NamedTuple):
    """A change in the outbox that is not applied to the reverse side."""

    other: UserId
    """The user at the other end than the viewer."""
    version: Version
    kind: Kind
    friends: int
    """The change of the target's number of friends."""


@dataclass(slots=True)
class PendingChanges:
    """A viewer's pending changes, as far as the totals that are read need them."""

    viewer: UserId
    own: Sequence[PendingChange] = ()
    """The viewer's changes."""
    reverse: Sequence[PendingChange] = ()
    """The changes to the viewer from the targets of the viewer's changes."""
    reverse_kinds: dict[UserId, Kind] = field(default_factory=dict)
    """The kinds of the reverse rows from the viewer, as the totals count them, by target."""

    def __bool__(self) -> bool:
        return bool(self.own or self.reverse)

    def add_to(self, user: UserId, counts: Counts) -> Counts:
        """`counts` of `user`, plus what the pending changes will add to those that the viewer sees:
        to the viewer's own number of friends, or to another user's followers and friends."""
        if user == self.viewer:
            return counts._replace(friends=counts.friends + sum(c.friends for c in self.reverse))
        to_user = [change for change in self.own if change.other == user]
        if not to_user:
            return counts
        newest = max(to_user, key=lambda change: change.version)
        stored_kind = self.reverse_kinds.get(user, Kind.NONE)
        followers_added = (newest.kind == Kind.FOLLOW) - (stored_kind == Kind.FOLLOW)
        friends = counts.friends + sum(change.friends for change in to_user)
        return counts._replace(followers=counts.followers + followers_added, friends=friends)


NO_CHANGES = PendingChanges(UserId(0))
