"""A viewer's pending changes, to be added to totals that lack them.

On Citus the outbox row of a change and the counts that it will change are on different shards, so
that no snapshot holds both. So the changes are read before the counts, and after them the reverse
rows of their edges, which are on the shards of the counts: if these have not reached the changes'
versions, the counts lack all of them. Else some were applied meanwhile, and all is read again.
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
    viewer: UserId
    own: Sequence[PendingChange] = ()
    """The viewer's changes."""
    reverse: Sequence[PendingChange] = ()
    """The changes to the viewer of the users to whom the viewer has changes."""
    reverse_kinds: dict[UserId, Kind] = field(default_factory=dict)
    """The kinds of the reverse rows from the viewer, as the totals count them, by target."""

    def __bool__(self) -> bool:
        return bool(self.own or self.reverse)

    def added(self, user: UserId, counts: Counts) -> Counts:
        """`counts` of a user who is shown to the viewer, with the pending changes to the user."""
        if user == self.viewer:
            return counts._replace(friends=counts.friends + sum(c.friends for c in self.reverse))
        own = [change for change in self.own if change.other == user]
        if not own:
            return counts
        newest = max(own, key=lambda change: change.version)
        known = self.reverse_kinds.get(user, Kind.NONE)
        more = (newest.kind == Kind.FOLLOW) - (known == Kind.FOLLOW)
        friends = counts.friends + sum(change.friends for change in own)
        return counts._replace(followers=counts.followers + more, friends=friends)


NO_CHANGES = PendingChanges(UserId(0))
