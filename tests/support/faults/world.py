"""A model of the follows among some users, and the states that a read may show."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import inf

from tests.support.faults.histories import History, PossibleStates, UserPair


@dataclass
class World:
    """Which users follow each other, as far as this process can know.

    `lag_s`: how long after its acknowledgement other users may miss a write. By default until all
    changes are applied.
    """

    pairs: Iterable[UserPair]
    lag_s: float = inf
    requires_repeatable_reads: bool = True
    """Whether a writer who has seen a write without a response must see it from then on. A gateway
    that cannot reach the caches cannot mark the writer, so other gateways may read old values."""
    histories: dict[UserPair, History] = field(init=False)
    targets: Mapping[int, list[int]] = field(init=False)
    """The users whom each user may follow at any time."""
    sources: Mapping[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.histories = {pair: History() for pair in self.pairs}
        self.targets, self.sources = defaultdict(list), defaultdict(list)
        for source, target in self.histories:
            self.targets[source].append(target)
            self.sources[target].append(source)

    @classmethod
    def of(cls, users: int) -> "World":
        """Users who may all follow each other."""
        return cls([UserPair(*pair) for pair in permutations(range(1, users + 1), 2)])

    @classmethod
    def ring(cls, users: int, reach: int, lag_s: float) -> "World":
        """Users in a circle, who may follow this many neighbours on each side."""
        steps = [step for step in range(-reach, reach + 1) if step]
        return cls(
            [
                UserPair(user + 1, (user + step) % users + 1)
                for user in range(users)
                for step in steps
            ],
            lag_s,
        )

    @cached_property
    def users(self) -> list[int]:
        return sorted(self.targets.keys() | self.sources.keys())


@dataclass(frozen=True, slots=True)
class Read:
    """One read: its viewer, if any, and when it began and ended.

    `token_change`: the pair of whose last change it had the consistency token, if any.
    """

    world: World
    viewer: int | None
    began: float
    ended: float
    token_change: UserPair | None = None

    def possible_states(self, pair: UserPair) -> int:
        """The states (bits of `PossibleStates`) in which this read may show a follow."""
        history = self.world.histories.get(pair)
        if history is None:
            return PossibleStates.ABSENT
        if pair == self.token_change:
            return history.last.state
        if pair.source == self.viewer:
            return history.fresh(self.began, self.ended)
        return history.lagging(self.began, self.ended, self.world.lag_s)

    def record_shown(self, pair: UserPair, *, present: bool) -> None:
        """Record the state that this read has shown, if the viewer is the writer."""
        history = self.world.histories.get(pair)
        if history is None or len(history.versions) == 1 or pair.source != self.viewer:
            return
        if self.world.requires_repeatable_reads:
            history.record_shown(self.began, self.ended, present=present)

    def following(self, user: int) -> dict[int, int]:
        return {
            other: self.possible_states(UserPair(user, other)) for other in self.world.targets[user]
        }

    def followers(self, user: int) -> dict[int, int]:
        return {
            other: self.possible_states(UserPair(other, user)) for other in self.world.sources[user]
        }

    def lists(self, user: int) -> dict[str, dict[int, int]]:
        """All three lists of a user, by name. A soak spends a third of its CPU time here."""
        following, followers = self.following(user), self.followers(user)
        friends = {
            other: _both(states, followers.get(other, PossibleStates.ABSENT))
            for other, states in following.items()
        }
        return {"following": following, "followers": followers, "friends": friends}


def _both(one: int, two: int) -> int:
    """The states that a friendship may have, from those of its two follows."""
    found = 0
    if one & two & PossibleStates.PRESENT:
        found |= PossibleStates.PRESENT
    if (one | two) & PossibleStates.ABSENT:
        found |= PossibleStates.ABSENT
    return found
