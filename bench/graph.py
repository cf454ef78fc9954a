"""Generates a social graph of any size, with dates.

The same seed gives the same graph. Its shape is that of a mature community: 40 % of all users
follow somebody, 7.9 users on average over all, none more than 1,000; a quarter of all follows are
mutual; few users have most followers, and the greatest stars are followed by 37.5 %, 20 %, 10 %,
5 % and 2.5 % of the active users, at every size.

So whales grow with the graph. The five greatest of a million users (7.9 million follows) have
163,000, 85,000, 45,000, 24,000 and 13,000 followers, more than a cached list holds. A graph has one
user with 150,000 followers or more from about a million users on, two from 2 million users (16
million follows), three from 4 million, four from 7.5 million.

    python -m bench.graph --users 1000000 > edges.csv
"""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TextIO

FOLLOWINGS_PER_USER = 7.9
FOLLOWING_MAX = 1_000
SMALL = 127_000
"""Users of a small graph: about a million follows, filled in seconds."""

_ACTIVE = 0.4
_CIRCLE = 500
"""The size of a circle. Friendships are inside a circle."""
_FRIENDS = 0.25
_SPREAD = 1.2
"""Sigma of the log-normal number of followings: half of the active follow fewer than ten."""
_SKEW = 2.5
"""A user's popularity falls with the rank to the power of 1 / skew - 1."""
_STARS = (0.375, 0.2, 0.1, 0.05, 0.025)
"""The share of the active users who follow each of the greatest stars."""
_SCATTER = 2_147_483_647
"""A prime, so that neighbours in rank have distant ids."""
_NEWEST_MS = 1_767_225_600_000
_OLDEST_MS = _NEWEST_MS - 3 * 365 * 86_400_000


@dataclass(frozen=True, slots=True)
class Community:
    """The size of a graph."""

    users: int
    edges: int

    def __post_init__(self) -> None:
        if not 1_000 <= self.users < _SCATTER:
            raise ValueError(f"{self.users} users: use 1,000 to {_SCATTER - 1:,}.")
        if not self.users <= self.edges <= 100 * self.users:
            raise ValueError(f"{self.edges} edges: use 1 to 100 a user.")

    def user_id(self, rank: int) -> int:
        """The id of the user with this rank in popularity, from 0."""
        return rank * _SCATTER % self.users + 1

    def lines(self, seed: int = 1) -> Iterator[str]:
        """`from_user_id,to_user_id,created_at_ms`, circle after circle, no pair twice."""
        for first in range(0, self.users, _CIRCLE):
            chance = Random(f"{seed}:{first}")
            members = range(first, min(first + _CIRCLE, self.users))
            yield from self._circle(members, chance)

    def _circle(self, members: range, chance: Random) -> Iterator[str]:
        user_id, draw = self.user_id, chance.random
        active = [member for member in members if draw() < _ACTIVE]
        wanted = {member: self._wanted(chance) for member in active}
        friends = _friendships(wanted, chance)
        for member in active:
            source = user_id(member)
            for target in self._targets(member, wanted[member], friends[member], chance):
                since = _OLDEST_MS + int(draw() * (_NEWEST_MS - _OLDEST_MS))
                yield f"{source},{user_id(target)},{since}\n"

    def _wanted(self, chance: Random) -> int:
        mean = self.edges / self.users / _ACTIVE - 0.5  # int() rounds down below
        drawn = chance.lognormvariate(math.log(max(mean, 1.0)) - _SPREAD**2 / 2, _SPREAD)
        return min(FOLLOWING_MAX, 1 + int(drawn))

    def _targets(self, member: int, wanted: int, friends: set[int], chance: Random) -> set[int]:
        """The users whom one user follows: friends, then stars, then popular users."""
        draw = chance.random
        targets = friends | {star for star, part in enumerate(_STARS) if draw() < part}
        for _ in range(3 * wanted):  # popular users are drawn repeatedly
            if len(targets) >= wanted:
                break
            targets.add(int(self.users * draw() ** _SKEW))
        targets.discard(member)
        return set(sorted(targets)[-FOLLOWING_MAX:]) if len(targets) > FOLLOWING_MAX else targets


def community(users: int | None, edges: int | None) -> Community:
    """A community with this number of users, of edges, or both."""
    if users is None:
        edges = edges or 1_000_000
        return Community(math.ceil(edges / FOLLOWINGS_PER_USER), edges)
    return Community(users, edges or int(users * FOLLOWINGS_PER_USER))


def _friendships(wanted: dict[int, int], chance: Random) -> dict[int, set[int]]:
    """Random pairs; each user occurs about as often as the given number of friends."""
    friends: dict[int, set[int]] = {member: set() for member in wanted}
    stubs = [member for member, limit in wanted.items() for _ in range(round(_FRIENDS * limit))]
    chance.shuffle(stubs)
    for one, other in zip(stubs[::2], stubs[1::2], strict=False):
        if one != other:
            friends[one].add(other)
            friends[other].add(one)
    return friends


def write(graph: Community, out: TextIO) -> None:
    """The whole graph as a CSV file with a header."""
    out.write("from_user_id,to_user_id,created_at_ms\n")
    out.writelines(graph.lines())


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a community's edges as CSV.")
    parser.add_argument("--users", type=int)
    parser.add_argument("--edges", type=int)
    options = parser.parse_args()
    write(community(options.users, options.edges), sys.stdout)


if __name__ == "__main__":
    main()
