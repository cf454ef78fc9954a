"""A social graph in plain Python, and what each onlooker may see of it while workers lag.

Knows nothing of storage, of GraphQL or of hypothesis.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import permutations
from typing import TypeVar

T = TypeVar("T")

State = datetime | None
"""Since when an edge is a follow; None where it is none."""

Entry = tuple[datetime, int]
"""An entry of a list: since when, and who."""


@dataclass(frozen=True, order=True)
class Arrow:
    """`source` follows, or does not follow, `target`."""

    source: int
    target: int

    @property
    def turned(self) -> "Arrow":
        return Arrow(self.target, self.source)


@dataclass(frozen=True)
class Taken:
    """What an undo must give back: both edges, while nothing between the two has changed since."""

    arrow: Arrow
    states: tuple[State, State]
    changes: int


@dataclass
class Model:
    """Every edge, and every block, with all that it has been since its lane was last drained."""

    users: Collection[int]
    following_max: int
    states: dict[Arrow, list[State]] = field(init=False)
    blocks: dict[Arrow, list[bool]] = field(default_factory=lambda: defaultdict(lambda: [False]))
    untold: set[Arrow] = field(default_factory=set)
    """Changed by a gateway that could not reach the caches, and not drained since."""
    mutes: set[Arrow] = field(default_factory=set)
    changes: Counter[frozenset[int]] = field(default_factory=Counter)
    """How often anything between two users has changed."""

    def __post_init__(self) -> None:
        self.states = {Arrow(*pair): [None] for pair in permutations(self.users, 2)}

    def now(self, arrow: Arrow) -> State:
        return self.states[arrow][-1]

    def blocks_now(self, arrow: Arrow) -> bool:
        return self.blocks[arrow][-1]

    def others(self, user: int) -> list[int]:
        return [other for other in self.users if other != user]

    def follows(self, user: int) -> int:
        return sum(self.now(Arrow(user, other)) is not None for other in self.others(user))

    def outcome(self, arrow: Arrow, *, wanted: bool) -> str:
        """What following (or unfollowing) must answer."""
        if wanted == (self.now(arrow) is not None):
            return "ALREADY_FOLLOWING" if wanted else "NOT_FOLLOWING"
        if not wanted:
            return "UNFOLLOWED"
        blocked = self.blocks_now(arrow) or self.blocks_now(arrow.turned)
        if blocked or self.follows(arrow.source) >= self.following_max:
            return "REFUSED"
        return "FOLLOWED"

    def change(self, arrow: Arrow, state: State, *, told: bool) -> None:
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        self.states[arrow].append(state)
        if not told:
            self.untold.add(arrow)

    def block(self, arrow: Arrow, *, up: bool, told: bool) -> None:
        """A block goes up, and ends what there was between the two, or it comes down."""
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        self.blocks[arrow].append(up)
        if not told:
            self.untold.add(arrow)
        for ended in (arrow, arrow.turned):
            if up and self.now(ended) is not None:
                self.change(ended, None, told=told)

    def act(self, action: str, arrow: Arrow, *, told: bool) -> str:
        """Does it, where it can be done, and says what it must answer."""
        if action == "removeFollower":
            if self.now(arrow.turned) is None:
                return "NOT_FOLLOWED"
            self.change(arrow.turned, None, told=told)
            return "FOLLOWER_REMOVED"
        if action in ("blockUser", "unblockUser"):
            up = action == "blockUser"
            if up == self.blocks_now(arrow):
                return "ALREADY_BLOCKED" if up else "NOT_BLOCKED"
            self.block(arrow, up=up, told=told)
            return "BLOCKED" if up else "UNBLOCKED"
        mutes = action == "muteUser"
        if mutes == (arrow in self.mutes):
            return "ALREADY_MUTED" if mutes else "NOT_MUTED"
        self.mutes.symmetric_difference_update({arrow})
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        return "MUTED" if mutes else "UNMUTED"

    def taken(self, arrow: Arrow, states: tuple[State, State]) -> Taken:
        """What the last change between two users took."""
        return Taken(arrow, states, self.changes[frozenset((arrow.source, arrow.target))])

    def undo(self, taken: Taken, *, told: bool) -> str:
        """Gives it back, where it can be, and says what it must answer."""
        arrow = taken.arrow
        if self.changes[frozenset((arrow.source, arrow.target))] != taken.changes:
            return "REFUSED"
        follows = taken.states[0] is not None and self.now(arrow) is None
        if follows and self.follows(arrow.source) >= self.following_max:
            return "REFUSED"
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        if self.blocks_now(arrow):
            self.block(arrow, up=False, told=told)
        for way, state in zip((arrow, arrow.turned), taken.states, strict=True):
            if self.now(way) != state:
                self.change(way, state, told=told)
        return "RESTORED"

    def settle(self, targets: Collection[int]) -> None:
        """All changes towards `targets` have reached the reverse side and the caches."""
        for arrow in self.states:
            if arrow.target in targets:
                self.states[arrow] = [self.now(arrow)]
                self.blocks[arrow] = [self.blocks_now(arrow)]
                self.untold.discard(arrow)


@dataclass(frozen=True)
class Onlooker:
    """`viewer`, who reads through the caches or around them: which answers are right for them?"""

    model: Model
    viewer: int | None
    cached: bool

    def ahead(self, arrow: Arrow) -> set[State]:
        """How an edge may look from its source's side: as it is."""
        return set(self._ahead(arrow, self.model.states[arrow]))

    def behind(self, arrow: Arrow) -> set[State]:
        """How it may look from its target's side: as it is, once drained."""
        return set(self.model.states[arrow])

    def overlaid(self, arrow: Arrow) -> set[State]:
        """How it may look in lists and counts of its target: the viewer's own are as they are."""
        return self.ahead(arrow) if arrow.source == self.viewer else self.behind(arrow)

    def walls(self, user: int) -> set[bool]:
        """Whether, for all this onlooker may know, there is a block between them and `user`.

        Their own block stands at once; another's, as the edge that it is, once drained.
        """
        if self.viewer in (None, user):
            return {False}
        own = Arrow(self.viewer, user)
        blocks = self.model.blocks
        return {one or two for one in self._ahead(own, blocks[own]) for two in blocks[own.turned]}

    def entries(self, kind: str, owner: int) -> dict[int, set[State]]:
        """Since when each other user may stand in a list; None where they may be missing."""
        return {
            other: self._behind_walls(self._entry(kind, owner, other), owner, other)
            for other in self.model.others(owner)
        }

    def astray(self, kind: str, owner: int) -> int:
        """By how much a total may be off: it is reduced by who stands behind a block, as they are
        stored, while what it is reduced from may not know yet that they came, or went.
        """
        return sum(
            True in self.walls(other) and len(self._entry(kind, owner, other)) > 1
            for other in self.model.others(owner)
        )

    def knows_all_of(self, user: int) -> bool:
        """Whether nothing that touches `user`'s lists is on its way to this onlooker."""
        return all(
            len(states) == 1
            for kind in ("following", "followers")
            for states in self.entries(kind, user).values()
        )

    def relation(self, user: int, other: int) -> tuple[set[State], set[State]]:
        """Both directions as seen from `user`; the viewer's side is asked where it is one."""
        there, back = Arrow(user, other), Arrow(other, user)
        if other == self.viewer:
            return self.behind(there), self.ahead(back)
        if user == self.viewer:
            return self.ahead(there), self.behind(back)
        return (
            self._behind_walls(self.ahead(there), user, other),
            self._behind_walls(self.behind(back), user, other),
        )

    def _entry(self, kind: str, owner: int, other: int) -> set[State]:
        ahead, behind = self.ahead(Arrow(owner, other)), self.overlaid(Arrow(other, owner))
        if kind == "following":
            return ahead
        if kind == "followers":
            return behind
        return {_later(one, two) for one in ahead for two in behind}

    def _behind_walls(self, states: set[State], *ends: int) -> set[State]:
        """The same edge, which looks absent if there is a block between the viewer and an end."""
        seen = {None if walled else state for state in states for walled in self.walls(ends[0])}
        return self._behind_walls(seen, *ends[1:]) if ends[1:] else seen

    def _ahead(self, arrow: Arrow, were: list[T]) -> list[T]:
        """Of all that an edge has been, what its own side may still show."""
        return were if self.cached and arrow in self.model.untold else were[-1:]


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
