"""A social graph in plain Python, and what each onlooker may see of it while workers lag.

Knows nothing of storage, of GraphQL or of hypothesis.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import permutations

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
    """Every edge with all the states that it has had since its lane was last drained."""

    users: Collection[int]
    following_max: int
    states: dict[Arrow, list[State]] = field(init=False)
    untold: set[Arrow] = field(default_factory=set)
    """Changed by a gateway that could not reach the caches, and not drained since."""
    blocks: set[Arrow] = field(default_factory=set)
    mutes: set[Arrow] = field(default_factory=set)
    changes: Counter[frozenset[int]] = field(default_factory=Counter)
    """How often anything between two users has changed."""

    def __post_init__(self) -> None:
        self.states = {Arrow(*pair): [None] for pair in permutations(self.users, 2)}

    def now(self, arrow: Arrow) -> State:
        return self.states[arrow][-1]

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
        blocked = {arrow, arrow.turned} & self.blocks
        if blocked or self.follows(arrow.source) >= self.following_max:
            return "REFUSED"
        return "FOLLOWED"

    def change(self, arrow: Arrow, state: State, *, told: bool) -> None:
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        self.states[arrow].append(state)
        if not told:
            self.untold.add(arrow)

    def act(self, action: str, arrow: Arrow, *, told: bool) -> str:
        """Does it, where it can be done, and says what it must answer."""
        if action == "removeFollower":
            if self.now(arrow.turned) is None:
                return "NOT_FOLLOWED"
            self.change(arrow.turned, None, told=told)
            return "FOLLOWER_REMOVED"
        notes, adds, done, otherwise = {
            "blockUser": (self.blocks, True, "BLOCKED", "ALREADY_BLOCKED"),
            "unblockUser": (self.blocks, False, "UNBLOCKED", "NOT_BLOCKED"),
            "muteUser": (self.mutes, True, "MUTED", "ALREADY_MUTED"),
            "unmuteUser": (self.mutes, False, "UNMUTED", "NOT_MUTED"),
        }[action]
        if adds == (arrow in notes):
            return otherwise
        notes.symmetric_difference_update({arrow})
        self.changes[frozenset((arrow.source, arrow.target))] += 1
        if action == "blockUser":
            for ended in (arrow, arrow.turned):
                if self.now(ended) is not None:
                    self.change(ended, None, told=told)
        return done

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
        self.blocks.discard(arrow)
        for way, state in zip((arrow, arrow.turned), taken.states, strict=True):
            if self.now(way) != state:
                self.change(way, state, told=told)
        return "RESTORED"

    def settle(self, targets: Collection[int]) -> None:
        """All changes towards `targets` have reached the reverse side and the caches."""
        for arrow in self.states:
            if arrow.target in targets:
                self.states[arrow] = [self.now(arrow)]
                self.untold.discard(arrow)


@dataclass(frozen=True)
class Onlooker:
    """`viewer`, who reads through the caches or around them: which answers are right for them?"""

    model: Model
    viewer: int | None
    cached: bool

    def ahead(self, arrow: Arrow) -> set[State]:
        """How an edge may look from its source's side: as it is."""
        return self._seen(arrow, sure=not self._is_missed(arrow))

    def behind(self, arrow: Arrow) -> set[State]:
        """How it may look from its target's side: as it is, once drained."""
        return self._seen(arrow, sure=len(self.model.states[arrow]) == 1)

    def overlaid(self, arrow: Arrow) -> set[State]:
        """How it may look in lists and counts of its target: the viewer's own are as they are."""
        return self.ahead(arrow) if arrow.source == self.viewer else self.behind(arrow)

    def entries(self, kind: str, owner: int) -> dict[int, set[State]]:
        """Since when each other user may stand in a list; None where they may be missing."""
        ahead = {other: self.ahead(Arrow(owner, other)) for other in self.model.others(owner)}
        behind = {other: self.overlaid(Arrow(other, owner)) for other in self.model.others(owner)}
        if kind == "following":
            return ahead
        if kind == "followers":
            return behind
        return {
            other: {_later(one, two) for one in ahead[other] for two in behind[other]}
            for other in ahead
        }

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
        return self.ahead(there), self.behind(back)

    def _seen(self, arrow: Arrow, *, sure: bool) -> set[State]:
        states = self.model.states[arrow]
        return set(states[-1:] if sure else states)

    def _is_missed(self, arrow: Arrow) -> bool:
        return self.cached and arrow in self.model.untold


def check_list(shown: list[Entry], possible: Mapping[int, set[State]]) -> None:
    """A whole list is in order, without repeats, and holds what it must and nothing else."""
    assert shown == sorted(shown, reverse=True)
    since = {user: state for state, user in shown}
    assert len(since) == len(shown), "a user stands in a list twice"
    assert since.keys() <= possible.keys()
    for user, states in possible.items():
        assert since.get(user) in states, (user, since.get(user), states)


def check_total(total: int, possible: Iterable[set[State]]) -> None:
    """A total is what the list holds, or what it may still be on its way to."""
    entries = list(possible)
    certain = sum(None not in states for states in entries)
    thinkable = sum(states != {None} for states in entries)
    assert certain <= total <= thinkable, (certain, total, thinkable)


def _later(one: State, two: State) -> State:
    return max(one, two) if one and two else None
