"""A model of a social graph in plain Python, and what each viewer may see while workers lag.

Independent of storage, GraphQL and hypothesis. It uses the rules of `graph` for the effects of an
action and the visibility of a list, because those have their own tests: this model predicts their
results in tables, caches, pages and totals.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import permutations, product
from typing import NamedTuple

from graph.decision_types import Decision, PairState, Rule
from graph.edge import FOLLOWS, NO_EDGE, Edge, Flags, Kind, Millis
from graph.lists import ListKind
from graph.outcome import Outcome
from graph.privacy import OPEN, Privacy
from graph.relation import kinds_of
from graph.rules import among_active
from graph.visibility import Access, ListAccess, ViewerRole, access, list_access, viewer_role_of
from tests.support.group_model import Followed, Groups

State = datetime | None
"""Since when an edge is in a list or a table; None if it is not."""

Entry = tuple[datetime, int]
"""An entry of a list: its date and its user."""

NOW = 2**60
"""A placeholder of the model for a date that the database chooses."""

BEGINNING = datetime.fromtimestamp(0, UTC)

LISTS = {
    "following": ListKind.FOLLOWING,
    "followers": ListKind.FOLLOWERS,
    "friends": ListKind.FRIENDS,
}

_OPEN = {Access.VISIBLE}

SERVICE = 0
"""Stands for a service as the viewer, which sees everything."""

Viewer = int | None


class UserPair(NamedTuple):
    """The edge from `source` to `target`."""

    source: int
    target: int

    @property
    def reversed(self) -> "UserPair":
        return UserPair(self.target, self.source)


def date_of(edge: Edge) -> datetime:
    return day_of(edge.since)


def day_of(since: Millis) -> datetime:
    return BEGINNING + timedelta(milliseconds=since)


def since(edge: Edge, kinds: Collection[Kind]) -> State:
    return date_of(edge) if edge.kind in kinds else None


@dataclass
class Model:
    """The state that readers may see.

    Each edge has all its states since its lane was drained. The privacy of each user has all its
    states since the last update of the caches. The last state is the current one.
    """

    users: Collection[int]
    edges: dict[UserPair, list[Edge]] = field(init=False)
    privacy: dict[int, list[Privacy]] = field(default_factory=lambda: defaultdict(lambda: [OPEN]))
    pending: set[UserPair] = field(default_factory=set)
    """Edges that a gateway changed without reaching the caches, and that are not drained since."""
    pins: dict[int, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    """The users whom each has pinned, with the dates of the follows."""
    seen: dict[int, datetime] = field(default_factory=lambda: defaultdict(lambda: BEGINNING))
    """The time up to which each user has marked their followers as seen."""
    groups: dict[int, Groups] = field(default_factory=lambda: defaultdict(Groups))
    notes: dict[UserPair, str] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    """The users whose accounts are deleted, erased or not."""
    erased: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.edges = {UserPair(*pair): [NO_EDGE] for pair in permutations(self.users, 2)}

    def now(self, pair: UserPair) -> Edge:
        return self.edges[pair][-1]

    def others(self, user: int) -> list[int]:
        return [other for other in self.users if other != user]

    def is_here(self, user: int) -> bool:
        return self.privacy[user][-1].present

    def before(self, pair: UserPair) -> PairState:
        """The state of a pair for a rule, with `NOW` as the current time."""
        own, theirs = (
            [self.now(UserPair(user, other)).kind for other in self.others(user)] for user in pair
        )
        return PairState(
            self.now(pair),
            self.now(pair.reversed),
            following=sum(kind in FOLLOWS | {Kind.REQUEST} for kind in own),
            other_following=sum(kind in FOLLOWS | {Kind.REQUEST} for kind in theirs),
            now=NOW * 1000,
            blocks=own.count(Kind.BLOCK),
            protected=self.privacy[pair.target][-1].protected,
            both_active=all(map(self.is_here, pair)),
            actor_active=self.is_here(pair.source),
            deleted=not self.deleted.isdisjoint(pair),
        )

    def decided(self, pair: UserPair, rule: Rule) -> Decision:
        return among_active(rule)(self.before(pair))

    def pinned(self, user: int, others: Iterable[int]) -> list[Entry] | None:
        """The pins of a user who pins these users; None if one of them cannot be pinned."""
        edges = {other: self.edges.get(UserPair(user, other), [NO_EDGE])[-1] for other in others}
        if not all(edge.kind in FOLLOWS and self.is_here(to) for to, edge in edges.items()):
            return None
        return [(date_of(edge), other) for other, edge in edges.items()]

    def shown_pins(self, user: int) -> list[int]:
        """The users whom a user has pinned and still follows by the same follow."""
        return [
            other
            for since, other in self.pins[user]
            if (since, other) in (self.pinned(user, [other]) or [])
        ]

    def followed(self, owner: int, user: int) -> Millis | None:
        """Since when the owner follows a user; None if not, or if the user is absent."""
        edge = self.edges.get(UserPair(owner, user), [NO_EDGE])[-1]
        return edge.since if edge.kind in FOLLOWS and self.is_here(user) else None

    def change_group(self, owner: int, change: Callable[[Groups, Followed], Outcome]) -> Outcome:
        if not self.is_here(owner):
            return Outcome.ACCOUNT_NOT_ACTIVE
        return change(self.groups[owner], partial(self.followed, owner))

    def members(self, owner: int) -> dict[str, list[Entry]]:
        """The members of each group whose follow has not ended, newest first. They have no lag."""
        followed = partial(self.followed, owner)
        return {
            name: sorted(
                ((day_of(at), to) for to, at in group.shown(followed).items()), reverse=True
            )
            for name, group in self.groups[owner].groups.items()
        }

    def set_note(self, pair: UserPair, text: str) -> Outcome:
        """Set a private note, or delete it if the text is empty."""
        if not self.is_here(pair.source):
            return Outcome.ACCOUNT_NOT_ACTIVE
        if text and pair.target in self.deleted:
            return Outcome.NOT_ALLOWED
        before = self.notes.pop(pair, "")
        if text:
            self.notes[pair] = text
        return Outcome.UNCHANGED if before == text else Outcome.UPDATED

    def note(self, pair: UserPair) -> str | None:
        """A note as its author reads it."""
        return self.notes.get(pair)

    def erase(self, user: int) -> None:
        """Delete all data of a deleted account except its edges."""
        self.erased.add(user)
        for pair in [pair for pair in self.notes if user in pair]:
            del self.notes[pair]
        self.pins.pop(user, None)
        self.groups.pop(user, None)
        self.seen.pop(user, None)
        for pins in self.pins.values():
            pins[:] = [pin for pin in pins if pin[1] != user]
        for groups in self.groups.values():
            groups.forget(user)
        self.privacy[user] = [replace(OPEN, present=False)]

    def seen_state(self, pair: UserPair, edge: Edge, reverse: Edge) -> tuple[int, ...]:
        """The values that determine the version of a relation whose source sees these edges."""
        if not self.is_here(pair.target) and pair.target not in self.erased:
            own = _own_block_and_marks(edge)  # without the version of the edge
            return 0, own.kind, own.flags, 0, own.since if own.kind else 0, 0
        seen = _as_seen_by_target(reverse)
        dates = (each.since if each.kind else 0 for each in (edge, seen))
        return self.now(pair).version, edge.kind, edge.flags, seen.kind, *dates

    def is_conflict(self, pair: UserPair, versions: Collection[tuple[int, ...]]) -> bool | None:
        """Whether a change that expects a version of these states fails. None: uncertain."""
        now = self.seen_state(pair, self.now(pair), self.now(pair.reversed))
        if now not in versions:
            return True
        return False if len(versions) == 1 else None

    def become(self, pair: UserPair, expected: Edge, stored: Edge, *, reached_caches: bool) -> None:
        """Add a stored edge to the model, and assert that it is the one that the rule expects.

        `reached_caches`: whether the gateway that wrote it could update the caches.
        """
        previous = self.now(pair)
        if expected == previous:
            assert stored == previous
            return
        assert stored.version > previous.version
        dated = expected.since if expected.since != NOW else stored.since
        assert stored == replace(expected, since=dated, version=stored.version)
        self.edges[pair].append(stored)
        if not reached_caches:
            self.pending.add(pair)

    def set_privacy(self, user: int, privacy: Privacy, *, reached_caches: bool) -> None:
        """Set the privacy of a user, and whether the account is present. Caches that were not
        reached may still have each earlier state."""
        states = [] if reached_caches else self.privacy[user]
        self.privacy[user] = [*states, privacy]

    def drain(self, targets: Collection[int]) -> None:
        """Apply all changes towards `targets` to reverse rows and caches."""
        for pair in self.edges:
            if pair.target in targets:
                self.edges[pair] = [self.now(pair)]
                self.pending.discard(pair)


@dataclass(frozen=True)
class Onlooker:
    """A viewer, who reads with caches or, unless `cached`, from the tables only. The methods return
    the states that a response may show to this viewer."""

    model: Model
    viewer: Viewer
    cached: bool

    def source_states(self, pair: UserPair) -> list[Edge]:
        """The states of an edge that reads of its source may show: the current one, or with caches
        all since the last drain if a gateway changed the edge without reaching them."""
        states = self.model.edges[pair]
        return states if self.cached and pair in self.model.pending else states[-1:]

    def target_states(self, pair: UserPair) -> list[Edge]:
        """The states of an edge that reads of its target may show: all since the last drain."""
        return self.model.edges[pair]

    def list_states(self, pair: UserPair) -> list[Edge]:
        """The states of an edge in lists and counts of its target. The viewer's own has no lag."""
        return self.source_states(pair) if pair.source == self.viewer else self.target_states(pair)

    def possible_privacies(self, user: int) -> list[Privacy]:
        states = self.model.privacy[user]
        return states if self.cached else states[-1:]

    def viewer_roles(self, user: int) -> set[ViewerRole]:
        """The possible roles of this viewer towards `user`."""
        if self.viewer == SERVICE:
            return {ViewerRole.SERVICE}
        if self.viewer is None:
            return {ViewerRole.STRANGER}
        if self.viewer == user:
            return {ViewerRole.OWNER}
        own = UserPair(self.viewer, user)
        return {
            viewer_role_of(kinds_of(edge.kind, reverse.kind))
            for edge, reverse in product(self.source_states(own), self.target_states(own.reversed))
        }

    def accesses(self, kind: str, owner: int) -> set[Access]:
        return {
            access(LISTS[kind], privacy, viewer)
            for privacy, viewer in product(self.possible_privacies(owner), self.viewer_roles(owner))
        }

    def list_access(self, user: int) -> set[ListAccess | None]:
        return {
            list_access(privacy, viewer)
            for privacy, viewer in product(self.possible_privacies(user), self.viewer_roles(user))
        }

    def possible_blocks(self, user: int) -> set[bool]:
        """Whether there is a block, in either direction, with `user`: the possible values."""
        return {
            each in (ViewerRole.BLOCKER, ViewerRole.BLOCKED) for each in self.viewer_roles(user)
        }

    def is_absent(self, user: int) -> bool:
        """Whether lists hide `user` from this viewer because the account is absent."""
        return self.viewer != SERVICE and not self.model.is_here(user)

    def entries(self, kind: str, owner: int) -> dict[int, set[State]]:
        """The possible dates of each other user in a list that this viewer may open. None among
        them: the user may be missing.
        """
        return {
            other: {None}
            if self.is_absent(other)
            else {
                None if is_blocked else state
                for state in self._entry(kind, owner, other)
                for is_blocked in self.possible_blocks(other)
            }
            for other in self.model.others(owner)
        }

    def absent_entries(self, kind: str, owner: int) -> dict[int, set[State]]:
        """The possible dates that absent users would have in a list of the viewer."""
        return {
            other: self._entry(kind, owner, other) if self.is_absent(other) else {None}
            for other in self.model.others(owner)
        }

    def new_followers(self, owner: int) -> dict[int, set[State]]:
        """The possible dates of each other user among the new followers of the viewer."""
        seen = self.model.seen[owner]
        return {
            other: {state if state and state > seen else None for state in states}
            for other, states in self.entries("followers", owner).items()
        }

    def entries_despite_blocks(self, kind: str, owner: int) -> dict[int, set[State]]:
        """The same as `entries`, without the effect of blocks of the viewer."""
        return {
            other: {None} if self.is_absent(other) else self._entry(kind, owner, other)
            for other in self.model.others(owner)
        }

    def possibly_blocked_users(self, owner: int) -> set[int]:
        """The users besides the owner with whom the viewer may have a block."""
        return {other for other in self.model.others(owner) if True in self.possible_blocks(other)}

    def own_edges_to_all(self, matches: Callable[[Edge], bool]) -> dict[int, set[State]]:
        """A list of the viewer's own edges that match, with those to absent users."""
        assert self.viewer
        pairs = {other: UserPair(self.viewer, other) for other in self.model.others(self.viewer)}
        return {
            other: {date_of(edge) if matches(edge) else None for edge in self.source_states(pair)}
            for other, pair in pairs.items()
        }

    def own_edges_to_present(self, matches: Callable[[Edge], bool]) -> dict[int, set[State]]:
        """A list of the viewer's own edges that match, without those to absent users."""
        own_edges = self.own_edges_to_all(matches)
        return {other: {None} if self.is_absent(other) else own_edges[other] for other in own_edges}

    def incoming_requests(self) -> dict[int, set[State]]:
        """The users with a request to follow the viewer."""
        assert self.viewer
        pairs = {other: UserPair(other, self.viewer) for other in self.model.others(self.viewer)}
        return {
            other: {None}
            if self.is_absent(other)
            else {since(edge, {Kind.REQUEST}) for edge in self.target_states(pair)}
            for other, pair in pairs.items()
        }

    def known_followers(self, user: int) -> dict[int, set[State]]:
        """The followers of `user` whom the viewer follows."""
        assert self.viewer
        followers = self.entries("followers", user)
        followers.pop(self.viewer, None)
        followed = {
            other: {
                since(edge, FOLLOWS) is not None
                for edge in self.source_states(UserPair(self.viewer, other))
            }
            for other in followers
        }
        return {
            other: {state if known else None for state in states for known in followed[other]}
            for other, states in followers.items()
        }

    def certain(self, kind: str, owner: int) -> dict[int, datetime]:
        """The users who are certainly in a list. Empty if this viewer might not open it."""
        if self.accesses(kind, owner) != {Access.VISIBLE}:
            return {}
        edges = self.model.edges
        return {
            other: state
            for other, states in self.entries(kind, owner).items()
            if len(edges[UserPair(owner, other)]) == len(edges[UserPair(other, owner)]) == 1
            for state in states
            if len(states) == 1 and state is not None
        }

    def total_error_max(self, kind: str, owner: int) -> int:
        """By how much a total may be wrong. It is a stored count, which may lag, minus the blocked
        and absent users, who are read without a lag.
        """
        return self.uncertain_count() + sum(
            (True in self.possible_blocks(other) or self.is_absent(other))
            and len(self._entry(kind, owner, other)) > 1
            for other in self.model.others(owner)
        )

    def uncertain_count(self) -> int:
        """The number of users whom totals may still count as present, or as absent."""
        return sum(
            len({privacy.present for privacy in self.possible_privacies(user)}) > 1
            for user in self.model.users
        )

    def has_no_pending_changes(self, user: int) -> bool:
        """Whether this viewer sees the lists of `user` without pending changes."""
        return all(
            len(self.source_states(UserPair(user, other)))
            == len(self.list_states(UserPair(other, user)))
            == 1
            for other in self.model.others(user)
        )

    def seen_states(self, other: int) -> set[tuple[int, ...]]:
        """The states that the version of the viewer's relation to `other` may have."""
        assert self.viewer
        pair = UserPair(self.viewer, other)
        pairs = product(self.source_states(pair), self.target_states(pair.reversed))
        return {self.model.seen_state(pair, edge, reverse) for edge, reverse in pairs}

    def note(self, user: int, other: int) -> str | None:
        return self.model.note(UserPair(user, other)) if self.viewer == user else None

    def relation(
        self, user: int, other: int, *, is_other_shown: bool = False
    ) -> Iterator[tuple[Edge, Edge]]:
        """The possible edges in both directions for the viewer. A hidden edge is no edge.

        `is_other_shown`: whether the response shows the lists of `other`. If the viewer may not
        open those of `user`, the relation agrees with the lists of `other`, which lag.
        """
        forward, reverse = UserPair(user, other), UserPair(other, user)
        if self.viewer in (user, other) and self.is_absent(other if self.viewer == user else user):
            return self._relation_to_absent(user, other)
        if self.viewer == other:
            pairs = product(self.target_states(forward), self.source_states(reverse))
            return ((_as_seen_by_target(edge), _as_reverse(mine)) for edge, mine in pairs)
        follows_other_lists = is_other_shown and self.accesses("following", user) != _OPEN
        own = self.target_states(forward) if follows_other_lists else self.source_states(forward)
        pairs = product(own, self.target_states(reverse))
        if self.viewer == user:
            return ((edge, _as_seen_by_target(theirs)) for edge, theirs in pairs)
        if self.viewer == SERVICE:
            return pairs
        return (
            seen
            for edge, theirs in pairs
            for first, second in product(self.list_access(user), self.list_access(other))
            for seen in [_visible_edges(edge, theirs, first, second)]
        )

    def _relation_to_absent(self, user: int, other: int) -> Iterator[tuple[Edge, Edge]]:
        """The viewer's own block or mute, without the rest of the relation."""
        if self.viewer == user:
            return (
                (_own_block_and_marks(edge), NO_EDGE)
                for edge in self.source_states(UserPair(user, other))
            )
        edges = map(_own_block_and_marks, self.source_states(UserPair(other, user)))
        return ((NO_EDGE, _as_reverse(edge)) for edge in edges)

    def _entry(self, kind: str, owner: int, other: int) -> set[State]:
        """The possible dates of a user in a list, without blocks. Only the owner sees whispers."""
        shown = FOLLOWS if self.viewer in (owner, SERVICE) else {Kind.FOLLOW}
        forward_states, reverse_states = (
            self.source_states(UserPair(owner, other)),
            self.list_states(UserPair(other, owner)),
        )
        if kind == "following":
            return {since(edge, shown) for edge in forward_states}
        if kind == "followers":
            return {since(edge, shown) for edge in reverse_states}
        return {
            _later(since(edge, {Kind.FOLLOW}), since(reverse, {Kind.FOLLOW}))
            for edge, reverse in product(forward_states, reverse_states)
        }


def check_list(shown: list[Entry], possible: Mapping[int, set[State]]) -> None:
    """Assert that a list is in order, without duplicates, and has only possible entries."""
    assert shown == sorted(shown, reverse=True)
    since = {user: state for state, user in shown}
    assert len(since) == len(shown), "a user is in a list twice"
    assert since.keys() <= possible.keys()
    for user, states in possible.items():
        assert since.get(user) in states, (user, since.get(user), states)


def check_total(total: int, possible: Iterable[set[State]], error_max: int = 0) -> None:
    """Assert that a total is between the numbers of certain and of possible entries."""
    entries = list(possible)
    certain = sum(None not in states for states in entries)
    possible_entries = sum(states != {None} for states in entries)
    assert certain - error_max <= total <= possible_entries + error_max, (
        certain,
        total,
        possible_entries,
        error_max,
    )


def _later(one: State, two: State) -> State:
    return max(one, two) if one and two else None


def _as_reverse(edge: Edge) -> Edge:
    """The viewer's own edge as the reverse edge of a relation, which shows no flags."""
    return replace(edge, flags=Flags.PLAIN)


def _own_block_and_marks(edge: Edge) -> Edge:
    """The visible part of an edge to an absent user: a block, a mute and a dismissal."""
    kind = edge.kind if edge.kind is Kind.BLOCK else Kind.NONE
    return replace(edge, kind=kind, flags=edge.flags & (Flags.MUTED | Flags.DISMISSED))


def _as_seen_by_target(edge: Edge) -> Edge:
    """Another user's edge to the viewer, without its flags. A block looks like no edge."""
    return NO_EDGE if edge.kind is Kind.BLOCK else replace(edge, flags=Flags.PLAIN)


def _visible_edges(
    edge: Edge, reverse: Edge, first: ListAccess | None, second: ListAccess | None
) -> tuple[Edge, Edge]:
    """Edges between two other users: the follows in lists that the viewer may open."""
    if first is None or second is None:
        return NO_EDGE, NO_EDGE
    is_visible = edge.kind is Kind.FOLLOW and (first.following or second.followers)
    is_reverse_visible = reverse.kind is Kind.FOLLOW and (second.following or first.followers)
    plain = [replace(each, flags=Flags.PLAIN) for each in (edge, reverse)]
    return plain[0] if is_visible else NO_EDGE, plain[1] if is_reverse_visible else NO_EDGE
