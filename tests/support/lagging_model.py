"""A social graph in plain Python, and what each onlooker may see of it while workers lag.

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
from graph.list_kind import ListKind
from graph.outcome import Outcome
from graph.privacy import OPEN, Privacy
from graph.relation import kinds_of
from graph.rules import among_active
from graph.visibility import Access, ListAccess, ViewerRole, access, list_access, viewer_role_of
from tests.support.group_model import Followed, Groups

State = datetime | None
"""Since when an edge stands somewhere; None where it does not."""

Entry = tuple[datetime, int]
"""An entry of a list: since when, and who."""

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
"""The viewer who is none, and sees everything."""

Viewer = int | None


class Arrow(NamedTuple):
    """The edge from `source` to `target`."""

    source: int
    target: int

    @property
    def reversed(self) -> "Arrow":
        return Arrow(self.target, self.source)


def date_of(edge: Edge) -> datetime:
    return day_of(edge.since)


def day_of(since: Millis) -> datetime:
    return BEGINNING + timedelta(milliseconds=since)


def since(edge: Edge, kinds: Collection[Kind]) -> State:
    return date_of(edge) if edge.kind in kinds else None


@dataclass
class Model:
    """Every edge with all that it has been since its lane was last drained; and who says what of
    their lists, with all their changes since the last update of the caches.
    """

    users: Collection[int]
    edges: dict[Arrow, list[Edge]] = field(init=False)
    privacy: dict[int, list[Privacy]] = field(default_factory=lambda: defaultdict(lambda: [OPEN]))
    pending: set[Arrow] = field(default_factory=set)
    """Changed by a gateway that could not reach the caches, and not drained since."""
    pins: dict[int, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    """The users whom each has pinned, with the dates of the follows."""
    seen: dict[int, datetime] = field(default_factory=lambda: defaultdict(lambda: BEGINNING))
    """Up to when each has seen their followers."""
    groups: dict[int, Groups] = field(default_factory=lambda: defaultdict(Groups))
    notes: dict[Arrow, str] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    """The users whose accounts are deleted, erased or not."""
    erased: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.edges = {Arrow(*pair): [NO_EDGE] for pair in permutations(self.users, 2)}

    def now(self, arrow: Arrow) -> Edge:
        return self.edges[arrow][-1]

    def others(self, user: int) -> list[int]:
        return [other for other in self.users if other != user]

    def is_here(self, user: int) -> bool:
        return self.privacy[user][-1].present

    def before(self, arrow: Arrow) -> PairState:
        """The state of a pair for a rule, at the placeholder date."""
        own, theirs = (
            [self.now(Arrow(user, other)).kind for other in self.others(user)] for user in arrow
        )
        return PairState(
            self.now(arrow),
            self.now(arrow.reversed),
            following=sum(kind in FOLLOWS | {Kind.REQUEST} for kind in own),
            other_following=sum(kind in FOLLOWS | {Kind.REQUEST} for kind in theirs),
            now=NOW * 1000,
            blocks=own.count(Kind.BLOCK),
            protected=self.privacy[arrow.target][-1].protected,
            both_active=all(map(self.is_here, arrow)),
            actor_active=self.is_here(arrow.source),
            deleted=not self.deleted.isdisjoint(arrow),
        )

    def decided(self, arrow: Arrow, rule: Rule) -> Decision:
        return among_active(rule)(self.before(arrow))

    def pinned(self, user: int, others: Iterable[int]) -> list[Entry] | None:
        """The pins of a user if these are set; None if one of them is not possible."""
        edges = {other: self.edges.get(Arrow(user, other), [NO_EDGE])[-1] for other in others}
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
        """Since when the owner follows a user who is here; None: not now."""
        edge = self.edges.get(Arrow(owner, user), [NO_EDGE])[-1]
        return edge.since if edge.kind in FOLLOWS and self.is_here(user) else None

    def change_group(self, owner: int, change: Callable[[Groups, Followed], Outcome]) -> Outcome:
        if not self.is_here(owner):
            return Outcome.ACCOUNT_NOT_ACTIVE
        return change(self.groups[owner], partial(self.followed, owner))

    def members(self, owner: int) -> dict[str, list[Entry]]:
        """The members whom the owner has followed ever since, newest first. They never lag."""
        followed = partial(self.followed, owner)
        return {
            name: sorted(
                ((day_of(at), to) for to, at in group.shown(followed).items()), reverse=True
            )
            for name, group in self.groups[owner].groups.items()
        }

    def set_note(self, arrow: Arrow, text: str) -> Outcome:
        """Without a text, it is deleted."""
        if not self.is_here(arrow.source):
            return Outcome.ACCOUNT_NOT_ACTIVE
        if text and arrow.target in self.deleted:
            return Outcome.NOT_ALLOWED
        before = self.notes.pop(arrow, "")
        if text:
            self.notes[arrow] = text
        return Outcome.UNCHANGED if before == text else Outcome.UPDATED

    def note(self, arrow: Arrow) -> str | None:
        """A note as its author reads it."""
        return self.notes.get(arrow)

    def erase(self, user: int) -> None:
        """Forget all of a deleted account except its edges."""
        self.erased.add(user)
        for arrow in [arrow for arrow in self.notes if user in arrow]:
            del self.notes[arrow]
        self.pins.pop(user, None)
        self.groups.pop(user, None)
        self.seen.pop(user, None)
        for pins in self.pins.values():
            pins[:] = [pin for pin in pins if pin[1] != user]
        for groups in self.groups.values():
            groups.forget(user)
        self.privacy[user] = [replace(OPEN, present=False)]

    def seen_state(self, arrow: Arrow, edge: Edge, back: Edge) -> tuple[int, ...]:
        """The values that determine the version of a relation, if its source sees these edges."""
        if not self.is_here(arrow.target) and arrow.target not in self.erased:
            note = _note(edge)  # without the edge's version: as nothing, if it is nothing
            return 0, note.kind, note.flags, 0, note.since if note.kind else 0, 0
        seen = _unblocking(back)
        dates = (each.since if each.kind else 0 for each in (edge, seen))
        return self.now(arrow).version, edge.kind, edge.flags, seen.kind, *dates

    def is_conflict(self, arrow: Arrow, versions: Collection[tuple[int, ...]]) -> bool | None:
        """Whether a change of a relation that had one of these states fails; None: perhaps."""
        now = self.seen_state(arrow, self.now(arrow), self.now(arrow.reversed))
        if now not in versions:
            return True
        return False if len(versions) == 1 else None

    def become(self, arrow: Arrow, expected: Edge, stored: Edge, *, result: bool) -> None:
        """The edge is what the database says; and that is what the rule has said."""
        previous = self.now(arrow)
        if expected == previous:
            assert stored == previous
            return
        assert stored.version > previous.version
        dated = expected.since if expected.since != NOW else stored.since
        assert stored == replace(expected, since=dated, version=stored.version)
        self.edges[arrow].append(stored)
        if not result:
            self.pending.add(arrow)

    def say(self, user: int, privacy: Privacy, *, result: bool) -> None:
        """Of their lists; or, of the account, whether it is here."""
        self.privacy[user] = [privacy] if result else [*self.privacy[user], privacy]

    def drain(self, targets: Collection[int]) -> None:
        """All changes towards `targets` have reached the reverse side and the caches."""
        for arrow in self.edges:
            if arrow.target in targets:
                self.edges[arrow] = [self.now(arrow)]
                self.pending.discard(arrow)


@dataclass(frozen=True)
class Onlooker:
    """`viewer`, who reads through the caches or around them: which answers are right for them?"""

    model: Model
    viewer: Viewer
    cached: bool

    def ahead(self, arrow: Arrow) -> list[Edge]:
        """How an edge may look from its source's side: as it is."""
        were = self.model.edges[arrow]
        return were if self.cached and arrow in self.model.pending else were[-1:]

    def behind(self, arrow: Arrow) -> list[Edge]:
        """How it may look from its target's side: as it is, once drained."""
        return self.model.edges[arrow]

    def overlaid(self, arrow: Arrow) -> list[Edge]:
        """How it may look in lists and counts of its target: the viewer's own are as they are."""
        return self.ahead(arrow) if arrow.source == self.viewer else self.behind(arrow)

    def privacies(self, user: int) -> list[Privacy]:
        said = self.model.privacy[user]
        return said if self.cached else said[-1:]

    def viewer_roles(self, user: int) -> set[ViewerRole]:
        """The possible viewer roles of this onlooker towards `user`."""
        if self.viewer == SERVICE:
            return {ViewerRole.SERVICE}
        if self.viewer is None:
            return {ViewerRole.STRANGER}
        if self.viewer == user:
            return {ViewerRole.OWNER}
        own = Arrow(self.viewer, user)
        return {
            viewer_role_of(kinds_of(edge.kind, back.kind))
            for edge, back in product(self.ahead(own), self.behind(own.reversed))
        }

    def accesses(self, kind: str, owner: int) -> set[Access]:
        return {
            access(LISTS[kind], said, viewer)
            for said, viewer in product(self.privacies(owner), self.viewer_roles(owner))
        }

    def list_access(self, user: int) -> set[ListAccess | None]:
        return {
            list_access(said, viewer)
            for said, viewer in product(self.privacies(user), self.viewer_roles(user))
        }

    def walls(self, user: int) -> set[bool]:
        """Whether, for all this onlooker may know, there is a block between them and `user`."""
        return {
            each in (ViewerRole.BLOCKER, ViewerRole.BLOCKED) for each in self.viewer_roles(user)
        }

    def misses(self, user: int) -> bool:
        """Whether `user` is not here for this onlooker, and in nobody's lists."""
        return self.viewer != SERVICE and not self.model.is_here(user)

    def entries(self, kind: str, owner: int) -> dict[int, set[State]]:
        """Since when each other user may stand in a list that this onlooker may open; None where
        they may be missing.
        """
        return {
            other: {None}
            if self.misses(other)
            else {
                None if walled else state
                for state in self._entry(kind, owner, other)
                for walled in self.walls(other)
            }
            for other in self.model.others(owner)
        }

    def unavailable(self, kind: str, owner: int) -> dict[int, set[State]]:
        """Since when those who are not here would stand in a list of the viewer's own."""
        return {
            other: self._entry(kind, owner, other) if self.misses(other) else {None}
            for other in self.model.others(owner)
        }

    def new_followers(self, owner: int) -> dict[int, set[State]]:
        """Since when each other user may be a new follower of the viewer."""
        seen = self.model.seen[owner]
        return {
            other: {state if state and state > seen else None for state in states}
            for other, states in self.entries("followers", owner).items()
        }

    def everybody(self, kind: str, owner: int) -> dict[int, set[State]]:
        """The same for everybody who may open the list: blocks of the viewer hide nobody."""
        return {
            other: {None} if self.misses(other) else self._entry(kind, owner, other)
            for other in self.model.others(owner)
        }

    def possible_walls(self, owner: int) -> set[int]:
        """The users, besides the owner, with whom the viewer may have a block."""
        return {other for other in self.model.others(owner) if True in self.walls(other)}

    def noted(self, wanted: Callable[[Edge], bool]) -> dict[int, set[State]]:
        """A list of what the viewer has noted of others, whether these are here or not."""
        assert self.viewer
        arrows = {other: Arrow(self.viewer, other) for other in self.model.others(self.viewer)}
        return {
            other: {date_of(edge) if wanted(edge) else None for edge in self.ahead(arrow)}
            for other, arrow in arrows.items()
        }

    def own(self, wanted: Callable[[Edge], bool]) -> dict[int, set[State]]:
        """A list of the viewer's own edges, whatever they are wanted for."""
        noted = self.noted(wanted)
        return {other: {None} if self.misses(other) else noted[other] for other in noted}

    def asked(self) -> dict[int, set[State]]:
        """The users with a request to follow the viewer."""
        assert self.viewer
        arrows = {other: Arrow(other, self.viewer) for other in self.model.others(self.viewer)}
        return {
            other: {None}
            if self.misses(other)
            else {since(edge, {Kind.REQUEST}) for edge in self.behind(arrow)}
            for other, arrow in arrows.items()
        }

    def known_followers(self, user: int) -> dict[int, set[State]]:
        """The followers of `user` whom the viewer follows."""
        assert self.viewer
        followers = self.entries("followers", user)
        followers.pop(self.viewer, None)
        followed = {
            other: {
                since(edge, FOLLOWS) is not None for edge in self.ahead(Arrow(self.viewer, other))
            }
            for other in followers
        }
        return {
            other: {state if known else None for state in states for known in followed[other]}
            for other, states in followers.items()
        }

    def certain(self, kind: str, owner: int) -> dict[int, datetime]:
        """The users who are certainly in a list. Empty if this onlooker might not open it."""
        if self.accesses(kind, owner) != {Access.VISIBLE}:
            return {}
        edges = self.model.edges
        return {
            other: state
            for other, states in self.entries(kind, owner).items()
            if len(edges[Arrow(owner, other)]) == len(edges[Arrow(other, owner)]) == 1
            for state in states
            if len(states) == 1 and state is not None
        }

    def astray(self, kind: str, owner: int) -> int:
        """By how much a total may be off: it is reduced by who stands behind a block or is not
        here, as that is stored, while what it is reduced from may not know yet that they came, or
        went.
        """
        return self.unsure_of() + sum(
            (True in self.walls(other) or self.misses(other))
            and len(self._entry(kind, owner, other)) > 1
            for other in self.model.others(owner)
        )

    def unsure_of(self) -> int:
        """Of how many users the totals of others may not know whether they are here."""
        return sum(
            len({said.present for said in self.privacies(user)}) > 1 for user in self.model.users
        )

    def knows_all_of(self, user: int) -> bool:
        """Whether nothing that touches `user`'s lists is on its way to this onlooker."""
        return all(
            len(self.ahead(Arrow(user, other))) == len(self.overlaid(Arrow(other, user))) == 1
            for other in self.model.others(user)
        )

    def seen_states(self, other: int) -> set[tuple[int, ...]]:
        """The states that the version of the viewer's relation to `other` may stand for."""
        assert self.viewer
        arrow = Arrow(self.viewer, other)
        pairs = product(self.ahead(arrow), self.behind(arrow.reversed))
        return {self.model.seen_state(arrow, edge, back) for edge, back in pairs}

    def note(self, user: int, other: int) -> str | None:
        return self.model.note(Arrow(user, other)) if self.viewer == user else None

    def relation(
        self, user: int, other: int, *, is_other_shown: bool = False
    ) -> Iterator[tuple[Edge, Edge]]:
        """The possible edges in both directions for the viewer. A hidden edge is no edge.

        `is_other_shown`: whether the response shows the lists of `other`. Where those of `user` are
        closed to the viewer, the relation agrees with these, which lag.
        """
        there, back = Arrow(user, other), Arrow(other, user)
        if self.viewer in (user, other) and self.misses(other if self.viewer == user else user):
            return self._relation_to_absent(user, other)
        if self.viewer == other:
            pairs = product(self.behind(there), self.ahead(back))
            return ((_unblocking(edge), _to_its_owner(mine)) for edge, mine in pairs)
        follows_other_lists = is_other_shown and self.accesses("following", user) != _OPEN
        own = self.behind(there) if follows_other_lists else self.ahead(there)
        pairs = product(own, self.behind(back))
        if self.viewer == user:
            return ((edge, _unblocking(theirs)) for edge, theirs in pairs)
        if self.viewer == SERVICE:
            return pairs
        return (
            seen
            for edge, theirs in pairs
            for first, second in product(self.list_access(user), self.list_access(other))
            for seen in [_through(edge, theirs, first, second)]
        )

    def _relation_to_absent(self, user: int, other: int) -> Iterator[tuple[Edge, Edge]]:
        """The viewer's own block or mute, without any other part of the relation."""
        if self.viewer == user:
            return ((_note(edge), NO_EDGE) for edge in self.ahead(Arrow(user, other)))
        notes = map(_note, self.ahead(Arrow(other, user)))
        return ((NO_EDGE, _to_its_owner(note)) for note in notes)

    def _entry(self, kind: str, owner: int, other: int) -> set[State]:
        """Since when one user may be in a list without a block; whispers for its owner only."""
        shown = FOLLOWS if self.viewer in (owner, SERVICE) else {Kind.FOLLOW}
        ahead, behind = self.ahead(Arrow(owner, other)), self.overlaid(Arrow(other, owner))
        if kind == "following":
            return {since(edge, shown) for edge in ahead}
        if kind == "followers":
            return {since(edge, shown) for edge in behind}
        return {
            _later(since(edge, {Kind.FOLLOW}), since(back, {Kind.FOLLOW}))
            for edge, back in product(ahead, behind)
        }


def check_list(shown: list[Entry], possible: Mapping[int, set[State]]) -> None:
    """A whole list is in order, without repeats, and holds what it must and nothing else."""
    assert shown == sorted(shown, reverse=True)
    since = {user: state for state, user in shown}
    assert len(since) == len(shown), "a user stands in a list twice"
    assert since.keys() <= possible.keys()
    for user, states in possible.items():
        assert since.get(user) in states, (user, since.get(user), states)


def check_total(total: int, possible: Iterable[set[State]], astray: int = 0) -> None:
    """A total is what the list holds, or what it may still be on its way to."""
    entries = list(possible)
    certain = sum(None not in states for states in entries)
    thinkable = sum(states != {None} for states in entries)
    assert certain - astray <= total <= thinkable + astray, (certain, total, thinkable, astray)


def _later(one: State, two: State) -> State:
    return max(one, two) if one and two else None


def _to_its_owner(edge: Edge) -> Edge:
    """The viewer's own edge from the other's side: its flags are shown from their own only."""
    return replace(edge, flags=Flags.PLAIN)


def _note(edge: Edge) -> Edge:
    """The visible part of an edge to an absent user: a block or a mute."""
    kind = edge.kind if edge.kind is Kind.BLOCK else Kind.NONE
    return replace(edge, kind=kind, flags=edge.flags & Flags.MUTED)


def _unblocking(edge: Edge) -> Edge:
    """Another's edge towards the viewer: a block looks like no edge, and flags are its owner's."""
    return NO_EDGE if edge.kind is Kind.BLOCK else replace(edge, flags=Flags.PLAIN)


def _through(
    edge: Edge, back: Edge, first: ListAccess | None, second: ListAccess | None
) -> tuple[Edge, Edge]:
    """Other people's edges: open follows, in a list that the viewer may open."""
    if first is None or second is None:
        return NO_EDGE, NO_EDGE
    there = edge.kind is Kind.FOLLOW and (first.following or second.followers)
    here = back.kind is Kind.FOLLOW and (second.following or first.followers)
    plain = [replace(each, flags=Flags.PLAIN) for each in (edge, back)]
    return plain[0] if there else NO_EDGE, plain[1] if here else NO_EDGE
