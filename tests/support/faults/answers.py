"""The operations of the traffic, and what is wrong with the responses to them.

The functions are generators of descriptions: nothing is checked before they are iterated.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.faults.histories import PossibleStates, UserPair
from tests.support.faults.world import Read

LISTS = """
query Lists($id: ID!) {
  user(id: $id) {
    followingCount followerCount friendCount
    following(first: 100) { totalCount nodes { id } pageInfo { hasNextPage } }
    followers(first: 100) { totalCount nodes { id } pageInfo { hasNextPage } }
    friends(first: 100) { totalCount nodes { id } pageInfo { hasNextPage } }
    viewerRelation { following followedBy }
  }
}
"""
PROFILES = """
query Profiles($ids: [ID!]!) {
  users(ids: $ids) {
    id followingCount followerCount friendCount viewerRelation { state following followedBy }
  }
}
"""
RELATIONS = """
query Relations($ids: [ID!]!) {
  users(ids: $ids) { id viewerRelation { following followedBy } }
}
"""
CHANGE = """
mutation Change($%(name)s: %(kind)sInput!) {
  change: %(name)s(input: $%(name)s) {
    outcome consistency consistencyToken relation { following } userErrors { code }
  }
}
"""
FOLLOW = CHANGE % {"name": "followUser", "kind": "FollowUser"}
UNFOLLOW = CHANGE % {"name": "unfollowUser", "kind": "UnfollowUser"}
COUNTS = {"following": "followingCount", "followers": "followerCount", "friends": "friendCount"}


def wrong_lists(read: Read, owner: int, data: Any) -> Iterator[str]:
    """What is wrong with a response to `LISTS`. Records the follows that the response shows."""
    user = data["user"]
    possible = read.lists(owner)
    shown = {}
    for name, others in possible.items():
        page = user[name]
        found = [int(node["id"]) for node in page["nodes"]]
        shown[name] = set(found)
        if len(shown[name]) != len(found):
            yield f"{name} of {owner} repeats a user: {found}"
        if page["pageInfo"]["hasNextPage"]:
            yield f"{name} of {owner} has a next page"
        yield from _wrong_list(f"{name} of {owner}", others, shown[name])
    yield from _wrong_counts(read, owner, possible, user)
    yield from _wrong_relation(read, owner, user["viewerRelation"])
    yield from _contradictions(read.viewer, owner, user, shown)
    for other in possible["following"]:
        read.record_shown(UserPair(owner, other), present=other in shown["following"])


def _contradictions(
    viewer: int | None, owner: int, user: Any, shown: Mapping[str, set[int]]
) -> Iterator[str]:
    """The contradictions in a response about one user."""
    for name, field in COUNTS.items():
        totals = (len(shown[name]), user[name]["totalCount"], user[field])
        if len(set(totals)) > 1:
            listed, total, count = totals
            yield f"{name} of {owner}: {listed} users, totalCount {total}, {field} {count}"
    both = shown["following"] & shown["followers"]
    if shown["friends"] != both:
        yield f"friends of {owner} are {shown['friends']}, and in both other lists are {both}"
    if viewer is not None and viewer != owner:
        relation = user["viewerRelation"]
        for field, name in (("following", "followers"), ("followedBy", "following")):
            if relation[field] != (viewer in shown[name]):
                yield f"viewerRelation.{field} of {owner} is {relation[field]}, unlike {name}"


def wrong_relations(read: Read, users: list[int], data: Any) -> Iterator[str]:
    """What is wrong with a response to `RELATIONS`, asked by a viewer about other users."""
    for owner, user in zip(users, data["users"], strict=True):
        if user["id"] != str(owner) or user["viewerRelation"] is None:
            yield f"user {owner} is answered with {user}"
        yield from _wrong_relation(read, owner, user["viewerRelation"])


def wrong_profiles(read: Read, users: list[int], data: Any) -> Iterator[str]:
    """What is wrong with a response to `PROFILES`."""
    for owner, user in zip(users, data["users"], strict=True):
        if user["id"] != str(owner):
            yield f"user {owner} is answered with {user['id']}"
        possible = read.lists(owner)
        yield from _wrong_counts(read, owner, possible, user)
        yield from _wrong_relation(read, owner, user["viewerRelation"])


def _wrong_list(what: str, possible: Mapping[int, int], shown: set[int]) -> Iterator[str]:
    missing = {
        other for other, states in possible.items() if states == PossibleStates.PRESENT
    } - shown
    wrong = shown - {other for other, states in possible.items() if states & PossibleStates.PRESENT}
    if missing:
        yield f"{what} misses {sorted(missing)}"
    if wrong:
        yield f"{what} shows {sorted(wrong)}"


def _wrong_counts(
    read: Read, owner: int, possible: Mapping[str, Mapping[int, int]], user: Any
) -> Iterator[str]:
    for name, field in COUNTS.items():
        count = user[field]
        count_min = sum(states == PossibleStates.PRESENT for states in possible[name].values())
        count_max = sum(bool(states & PossibleStates.PRESENT) for states in possible[name].values())
        if name == "friends" and PossibleStates.BOTH in [
            *possible["following"].values(),
            *possible["followers"].values(),
        ]:
            # The sum of two counters. While one lags, it is wrong by the pending changes.
            count_min, count_max = 0, len(possible["following"])
        if not count_min <= count <= count_max:
            yield f"{field} of {owner} is {count}, not {count_min} to {count_max}"


def _wrong_relation(read: Read, owner: int, relation: Any) -> Iterator[str]:
    if relation is None or read.viewer is None or read.viewer == owner:
        return
    for field, pair in (
        ("following", UserPair(read.viewer, owner)),
        ("followedBy", UserPair(owner, read.viewer)),
    ):
        present = relation[field]
        if not read.possible_states(pair) & (
            PossibleStates.PRESENT if present else PossibleStates.ABSENT
        ):
            yield f"viewerRelation.{field} of {owner} is {present}"
        read.record_shown(pair, present=present)
