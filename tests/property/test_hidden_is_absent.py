"""No viewer can tell a hidden edge from an absent one: two worlds that differ in one such edge.

What may be seen is stated here once more, without the code that decides it.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from graph.privacy import Audience
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import Said, edges
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all

PEOPLE = range(5)
ENDS = [(one, other) for one in PEOPLE for other in PEOPLE if one != other]
Ends = tuple[int, int]

LISTS = "\n".join(
    f"{name} {{ access totalCount nodes {{ id }} pageInfo {{ hasNextPage hasPreviousPage }} }}"
    for name in (
        "following",
        "followers",
        "friends",
        "followersYouKnow @include(if: $signedIn)",
        "known: followers(filter: { viewerFollows: true }) @include(if: $signedIn)",
        "unknown: followers(filter: { viewerFollows: false }) @include(if: $signedIn)",
        'recent: followers(filter: { since: "2020-01-01T00:00:00Z" })',
        *(f"common{person}: commonFollowing(with: $with{person})" for person in PEOPLE),
    )
)
WITH = "".join(f", $with{person}: ID!" for person in PEOPLE)

EVERYTHING = f"""
query ($ids: [ID!]!, $requests: [ID!]!, $signedIn: Boolean!{WITH}) {{
  users(ids: $ids) {{
    relationWith(ids: $ids) {{ ...all }}
    relationMask(ids: $ids)
    viewerRelation {{ ...all }}
    viewerIsFollowing isFollowingViewer viewerCanFollow viewerFollowEligibility {{ code message }}
    followingCount followerCount friendCount
    {LISTS}
  }}
  requests: nodes(ids: $requests) {{ __typename ... on FollowRequest {{ message }} }}
}}
fragment all on Relation {{
  state following followedBy whispering requested requestedBy blocking muted closeFollow
  notify followedAt followedByAt requestedAt requestedByAt blockedAt mutedUntil friendsSince
}}
"""

SUGGESTIONS = """
{ viewer { suggestions(first: 100) {
  nodes { user { id } reason knownFollowers(first: 50) { id } knownFollowerCount }
  totalCount
} } }
"""

said = st.tuples(st.sampled_from(Kind), st.sampled_from([Flags.PLAIN, *Flags]))


def possible(drawn: Mapping[Ends, Said]) -> dict[Ends, Said]:
    """The same, but a block has ended what the other was to its owner."""
    return {
        ends: edge
        for ends, edge in drawn.items()
        if edge[0] is Kind.BLOCK or drawn.get(ends[::-1], edge)[0] is not Kind.BLOCK
    }


graphs = st.dictionaries(st.sampled_from(ENDS), said, max_size=len(ENDS)).map(possible)
audiences = st.none() | st.sampled_from(Audience)
privacies = st.dictionaries(
    st.sampled_from(PEOPLE),
    st.builds(PrivacyChange, st.sampled_from([None, True]), audiences, audiences),
    max_size=3,
)


@dataclass(frozen=True)
class World:
    """The relationships and privacy settings of the users, by their places."""

    edges: Mapping[Ends, Said]
    privacy: Mapping[int, PrivacyChange]

    def kind(self, source: int, target: int) -> Kind:
        return self.edges.get((source, target), (Kind.NONE, Flags.PLAIN))[0]

    def has_block(self, viewer: int | None, other: int) -> bool:
        if viewer is None:
            return False
        return Kind.BLOCK in (self.kind(viewer, other), self.kind(other, viewer))

    def opens(self, owner: int, audience: Audience | None, viewer: int | None) -> bool:
        """Whether a list with that audience is open to somebody else."""
        towards = Kind.NONE if viewer is None else self.kind(viewer, owner)
        follower = towards in (Kind.FOLLOW, Kind.WHISPER)
        friend = (
            viewer is not None
            and towards is Kind.FOLLOW
            and self.kind(owner, viewer) is Kind.FOLLOW
        )
        let_in = follower or not self.privacy.get(owner, PrivacyChange()).protected
        return (
            let_in
            and {
                None: True,
                Audience.EVERYONE: True,
                Audience.FOLLOWERS: follower,
                Audience.FRIENDS: friend,
                Audience.ONLY_ME: False,
            }[audience]
        )

    def hides(self, ends: Ends, viewer: int | None, *, whispers_hidden: bool) -> bool:
        """Whether the viewer may not know that edge, whatever it is."""
        source, target = ends
        kind = self.kind(*ends)
        if viewer == source:
            return False
        if viewer == target:
            return kind is Kind.NONE or (kind is Kind.WHISPER and whispers_hidden)
        if kind is not Kind.FOLLOW:
            return True
        nothing = PrivacyChange()
        ahead = self.privacy.get(source, nothing).following
        behind = self.privacy.get(target, nothing).followers
        is_open = self.opens(source, ahead, viewer) or self.opens(target, behind, viewer)
        return not is_open or self.has_block(viewer, source) or self.has_block(viewer, target)


@dataclass(frozen=True)
class Kith:
    """One graph, in which every world has users of its own."""

    stores: Stores
    gateways: Mapping[bool, Gateway]
    """By whether whispers are hidden."""
    numbers: "itertools.count[int]"

    async def made(self, *worlds: World) -> list[Sequence[int]]:
        """The users of each of these worlds."""
        firsts = [next(self.numbers) * len(PEOPLE) + 1 for _ in worlds]
        await asyncio.gather(
            *(
                edges(self.stores, _moved(world.edges, first))
                for world, first in zip(worlds, firsts, strict=True)
            ),
            *(
                self.stores.writes.accounts.set_privacy(UserId(first + person), change)
                for world, first in zip(worlds, firsts, strict=True)
                for person, change in world.privacy.items()
            ),
        )
        await drain_all(self.stores)
        return [range(first, first + len(PEOPLE)) for first in firsts]

    async def result(
        self, users: Sequence[int], viewer: int | None, *, whispers_hidden: bool
    ) -> list[dict[str, Any]]:
        """Everything that the viewer sees of everybody, except the dates themselves."""
        asker, gateway = None if viewer is None else users[viewer], self.gateways[whispers_hidden]
        data = await gateway.data(
            EVERYTHING,
            asker,
            ids=list(map(str, users)),
            requests=[f"request:{users[one]}:{users[other]}" for one, other in ENDS],
            signedIn=viewer is not None,
            **{f"with{person}": str(user) for person, user in enumerate(users)},
        )
        result = [_placed(user, users) for user in data["users"]]
        for (one, _), request in zip(ENDS, data["requests"], strict=True):
            result[one].setdefault("requests", []).append(request)
        if viewer is not None:
            whom = (await gateway.data(SUGGESTIONS, asker))["viewer"]["suggestions"]["nodes"]
            result[viewer]["suggestions"] = _unordered(whom, users)
        return result


def _moved(world: Mapping[Ends, Said], first: int) -> dict[Ends, Said]:
    return {(first + one, first + other): edge for (one, other), edge in world.items()}


def _placed(result: Any, users: Sequence[int]) -> Any:
    """The same, without dates, and lists by place: their order is one of dates."""
    if isinstance(result, list):
        return [_placed(one, users) for one in result]
    if not isinstance(result, dict):
        return result
    dates = {"followedAt", "followedByAt", "friendsSince", "requestedAt", "requestedByAt"}
    dates |= {"blockedAt", "mutedUntil"}
    return {
        name: sorted(users.index(int(user["id"])) for user in value)
        if name == "nodes"
        else value is not None
        if name in dates
        else _placed(value, users)
        for name, value in result.items()
    }


def _unordered(suggestions: Any, users: Sequence[int]) -> list[tuple[object, ...]]:
    """Suggestions by place: those of equal worth stand in the order of dates, as the reasons do."""

    def place(user: Any) -> int:
        return users.index(int(user["id"]))

    return sorted(
        (
            place(suggestion["user"]),
            suggestion["reason"],
            sorted(map(place, suggestion["knownFollowers"])),
            suggestion["knownFollowerCount"],
        )
        for suggestion in suggestions
    )


@pytest.fixture
async def kith(stores: Stores, storage_settings: StorageSettings) -> AsyncIterator[Kith]:
    async with AsyncExitStack() as stack:
        gateways = {
            hidden: await stack.enter_async_context(
                running_gateway(
                    storage_settings,
                    Policy(following_max=3, whispers_hidden=hidden),
                    costs=ANY_COST,
                )
            )
            for hidden in (True, False)
        }
        yield Kith(stores, gateways, itertools.count())


@dataclass(frozen=True)
class Twins:
    """Two worlds that differ in the edge between `ends`, and a viewer who may know of neither."""

    worlds: tuple[World, World]
    viewer: int | None
    ends: Ends
    whispers_hidden: bool


@st.composite
def twins(draw: st.DrawFn) -> Twins:
    viewer, ends = draw(st.none() | st.sampled_from(PEOPLE)), draw(st.sampled_from(ENDS))
    whispers_hidden = draw(st.booleans())
    base = World(draw(graphs), draw(privacies))
    if draw(st.booleans()):  # else follows, which most people show, are hardly ever hidden
        closed = st.sampled_from([Audience.FOLLOWERS, Audience.FRIENDS, Audience.ONLY_ME])
        hiding = {end: PrivacyChange(None, draw(closed), draw(closed)) for end in ends}
        base = replace(base, privacy={**base.privacy, **hiding})

    def with_edge(kind: Kind) -> World:
        flags = draw(st.sampled_from([Flags.PLAIN, *Flags]))
        return replace(base, edges={**base.edges, ends: (kind, flags)})

    hidden = [
        world
        for world in map(with_edge, Kind)
        if world.hides(ends, viewer, whispers_hidden=whispers_hidden)
        if possible(world.edges) == world.edges
    ]
    assume(len(hidden) > 1)
    first, second = draw(st.permutations(hidden))[:2]
    return Twins((first, second), viewer, ends, whispers_hidden)


@settings(max_examples=60)
@given(case=twins())
async def test_a_hidden_edge_is_as_good_as_none(kith: Kith, case: Twins) -> None:
    kinds = sorted(world.kind(*case.ends).name for world in case.worlds)
    event(f"{kinds}, {'to the viewer' if case.viewer == case.ends[1] else 'to another'}")
    first, second = [
        await kith.result(users, case.viewer, whispers_hidden=case.whispers_hidden)
        for users in await kith.made(*case.worlds)
    ]
    for result in (first, second):
        for place, count in counts_of_a_blocked_follow(case):
            result[place].pop(count)
    assert first == second


def counts_of_a_blocked_follow(case: Twins) -> set[tuple[int, str]]:
    """The counts that say, to everybody alike, that there is a follow: they are not corrected for
    the blocks of a viewer, who could learn the same by signing out."""
    source, target = case.ends
    world = case.worlds[0]
    has_block = world.has_block(case.viewer, source) or world.has_block(case.viewer, target)
    if not has_block or all(one.kind(*case.ends) is not Kind.FOLLOW for one in case.worlds):
        return set()
    counts = {(source, "followingCount"), (target, "followerCount")}
    if world.kind(target, source) is Kind.FOLLOW:
        counts |= {(source, "friendCount"), (target, "friendCount")}
    return counts


@settings(max_examples=30)
@given(
    base=st.builds(World, graphs, privacies),
    ends=st.sampled_from(ENDS),
    whispers_hidden=st.booleans(),
)
async def test_no_relation_reveals_a_block(
    kith: Kith, base: World, ends: Ends, whispers_hidden: bool
) -> None:
    """The follow button has the code `NOT_ALLOWED`, and the blocker's lists are closed."""
    blocker, viewer = ends
    kept = {pair: edge for pair, edge in base.edges.items() if pair != (viewer, blocker)}
    base = replace(base, edges=kept)
    free, blocked = (
        replace(base, edges={**base.edges, ends: (kind, Flags.PLAIN)})
        for kind in (Kind.NONE, Kind.BLOCK)
    )
    result = [
        await kith.result(users, viewer, whispers_hidden=whispers_hidden)
        for users in await kith.made(free, blocked)
    ]
    for name in ("relationWith", "relationMask"):
        assert result[0][viewer][name] == result[1][viewer][name]
    assert result[0][blocker]["relationWith"][viewer] == result[1][blocker]["relationWith"][viewer]
    for name in ("viewerRelation", "viewerIsFollowing", "isFollowingViewer"):
        assert [user[name] for user in result[0]] == [user[name] for user in result[1]]
    nothing = result[1][blocker]["relationWith"]
    others = [person for person in PEOPLE if person not in ends]
    assert all(nothing[other]["state"] == "NONE" for other in others)
