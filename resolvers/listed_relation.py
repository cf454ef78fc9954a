"""Corrects a relation so that it agrees with the lists in the same response."""

from collections.abc import Sequence
from typing import NamedTuple

from graph.edge import FOLLOWS, Kind, Millis, Pair, UserId
from graph.relation import Relation, is_friends, kinds_of
from resolvers.shown_pages import Listed


class Direction(NamedTuple):
    """One direction of a relation."""

    kind: Kind
    since: Millis


_NO_EDGE = Direction(Kind.NONE, Millis(0))


class OwnerLists(NamedTuple):
    """The lists of one user, as far as a response shows them; None for a list that it does not
    show."""

    owner: UserId
    following: Listed | None
    followers: Listed | None
    friends: Listed | None

    def may_change(self, relation: Relation, other: UserId) -> bool:
        """Whether these lists may contradict the owner's relation to this user. Nearly always
        false, and ten times as fast as `Evidence.agreed`."""
        kinds, since, reverse_since = relation
        _, following, followers, friends = self
        if following is not None and _may_differ(kinds & 15, since, following, other):
            return True
        if followers is not None and _may_differ(kinds >> 4 & 15, reverse_since, followers, other):
            return True
        if friends is None:
            return False
        date = friends.dates.get(other)
        if date is None:
            return friends.is_whole and is_friends(kinds)
        return not is_friends(kinds) or date != max(since, reverse_since)


class Evidence(NamedTuple):
    """What a response shows about a pair."""

    pair: Pair
    lists: Sequence[OwnerLists]
    """Those of both users. If they disagree, the last ones take precedence."""
    viewer: UserId | None
    shows_details: bool
    """Whether the viewer is one of the two users or sees everything. Does not consider
    `whispers_hidden`: a follow that may still be public is shown like a whisper."""

    def agreed(self, loaded: Relation) -> Relation:
        """The relation of the pair, changed as far as the lists show another one."""
        source, target = self.pair
        forward = Direction(loaded.kind, loaded.since)
        reverse = Direction(loaded.reverse_kind, loaded.reverse_since)
        for lists in self.lists:
            if lists.owner == source:
                forward, reverse = self._as_listed(lists, target, loaded, forward, reverse)
            else:
                backwards = loaded.reversed
                reverse, forward = self._as_listed(lists, source, backwards, reverse, forward)
        kinds = kinds_of(forward.kind, reverse.kind, loaded.flags)
        return Relation(kinds, forward.since, reverse.since)

    def possible_whispers(self, loaded: Relation, agreed: Relation) -> list[Pair]:
        """The pairs with a public follow in `loaded` that the lists rule out, but would not if it
        was a whisper. `agreed`: the relation that the lists show for `loaded`."""
        pairs = self.pair, self.pair.reversed
        kinds = [(loaded.kind, agreed.kind), (loaded.reverse_kind, agreed.reverse_kind)]
        return [
            pair
            for pair, (kind, agreed_kind) in zip(pairs, kinds, strict=True)
            if kind is Kind.FOLLOW
            and agreed_kind is Kind.NONE
            and self.with_whisper(loaded, pair) != agreed
        ]

    def with_whisper(self, loaded: Relation, pair: Pair) -> Relation:
        """The relation that the lists show if the follow of this pair in `loaded` is a whisper."""
        is_forward = pair == self.pair
        kind = Kind.WHISPER if is_forward else loaded.kind
        reverse_kind = loaded.reverse_kind if is_forward else Kind.WHISPER
        kinds = kinds_of(kind, reverse_kind, loaded.flags)
        return self.agreed(Relation(kinds, loaded.since, loaded.reverse_since))

    def _as_listed(
        self,
        lists: OwnerLists,
        other: UserId,
        loaded: Relation,
        own: Direction,
        theirs: Direction,
    ) -> tuple[Direction, Direction]:
        """The owner's edge to the other user and that user's edge, as the owner's lists show them.

        `own` and `theirs` are those edges of the relation `loaded` as other lists show them.
        """
        own = _follow_as_listed(own, loaded.kind, lists.following, other)
        theirs = _follow_as_listed(theirs, loaded.reverse_kind, lists.followers, other)
        if lists.friends is None or Kind.BLOCK in (own.kind, theirs.kind):
            return own, theirs
        date = lists.friends.dates.get(other)
        if date is not None:
            return _friends_since(date, own, theirs)
        if lists.friends.is_whole and own.kind is theirs.kind is Kind.FOLLOW:
            # The viewer's own follow is exact, and the other direction may lag: change that one.
            if other == self.viewer:
                return self._not_public(own), theirs
            return own, self._not_public(theirs)
        return own, theirs

    def _not_public(self, follow: Direction) -> Direction:
        """The follow as a whisper, or no edge if the viewer sees no details."""
        return Direction(Kind.WHISPER, follow.since) if self.shows_details else _NO_EDGE


def _may_differ(kind: int, since: Millis, listed: Listed, user: UserId) -> bool:
    """Whether `_follow_as_listed` may return another edge than this one."""
    date = listed.dates.get(user)
    if date is None:
        return listed.is_whole and kind in FOLLOWS
    return date != since or kind != Kind.FOLLOW


def _follow_as_listed(
    edge: Direction, loaded_kind: Kind, listed: Listed | None, user: UserId
) -> Direction:
    """The edge as the list shows it. If the list has the user: a follow since the list's date, or a
    whisper if the loaded edge is one and the list shows whispers. If the whole list lacks the user:
    no edge, or the whisper if the list shows no whispers. Otherwise, and for a block, the edge
    itself."""
    if listed is None or edge.kind is Kind.BLOCK:
        return edge
    date = listed.dates.get(user)
    if date is not None:
        is_whisper = loaded_kind is Kind.WHISPER and listed.shows_whispers
        return Direction(Kind.WHISPER if is_whisper else Kind.FOLLOW, date)
    if not listed.is_whole or edge.kind not in FOLLOWS:
        return edge
    if loaded_kind is Kind.WHISPER and not listed.shows_whispers:
        return Direction(Kind.WHISPER, edge.since)  # another list may show it as the former follow
    is_shown = edge.kind is Kind.FOLLOW or listed.shows_whispers
    return _NO_EDGE if is_shown else edge


def _friends_since(date: Millis, own: Direction, theirs: Direction) -> tuple[Direction, Direction]:
    """Two public follows, the later of which began at that date."""
    own_since, their_since = (
        min(edge.since, date) if edge.kind in FOLLOWS else date for edge in (own, theirs)
    )
    if max(own_since, their_since) < date:
        their_since = date
    return Direction(Kind.FOLLOW, own_since), Direction(Kind.FOLLOW, their_since)
