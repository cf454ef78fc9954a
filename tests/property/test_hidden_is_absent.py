"""No viewer can tell a hidden edge from an absent one: in two graphs that differ in such an edge.

The rules of visibility are written here a second time, without the code under test.
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
from storage.postgres.sampled_users import PostgresSampledUsers
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import KindAndFlags, edges
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all

USERS = range(5)
PAIRS = [(one, other) for one in USERS for other in USERS if one != other]
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
        *(f"common{person}: commonFollowing(with: $with{person})" for person in USERS),
    )
)
WITH = "".join(f", $with{person}: ID!" for person in USERS)

ALL_FIELDS = f"""
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

kinds_and_flags = st.tuples(st.sampled_from(Kind), st.sampled_from([Flags.PLAIN, *Flags]))


def without_blocked_edges(drawn: Mapping[Ends, KindAndFlags]) -> dict[Ends, KindAndFlags]:
    """The same edges, without those towards a user who blocks their owner, except blocks."""
    return {
        ends: edge
        for ends, edge in drawn.items()
        if edge[0] is Kind.BLOCK or drawn.get(ends[::-1], edge)[0] is not Kind.BLOCK
    }


edge_maps = st.dictionaries(st.sampled_from(PAIRS), kinds_and_flags, max_size=len(PAIRS)).map(
    without_blocked_edges
)
audiences = st.none() | st.sampled_from(Audience)
privacies = st.dictionaries(
    st.sampled_from(USERS),
    st.builds(PrivacyChange, st.sampled_from([None, True]), audiences, audiences),
    max_size=3,
)


@dataclass(frozen=True)
class Graph:
    """The edges and privacy settings of the users, who are numbers in `USERS`."""

    edges: Mapping[Ends, KindAndFlags]
    privacy: Mapping[int, PrivacyChange]

    def kind(self, source: int, target: int) -> Kind:
        return self.edges.get((source, target), (Kind.NONE, Flags.PLAIN))[0]

    def has_block(self, viewer: int | None, other: int) -> bool:
        if viewer is None:
            return False
        return Kind.BLOCK in (self.kind(viewer, other), self.kind(other, viewer))

    def opens(self, owner: int, audience: Audience | None, viewer: int | None) -> bool:
        """Whether `viewer`, who is not the owner, may open a list with that audience."""
        viewer_kind = Kind.NONE if viewer is None else self.kind(viewer, owner)
        follower = viewer_kind in (Kind.FOLLOW, Kind.WHISPER)
        friend = (
            viewer is not None
            and viewer_kind is Kind.FOLLOW
            and self.kind(owner, viewer) is Kind.FOLLOW
        )
        may_see_lists = follower or not self.privacy.get(owner, PrivacyChange()).protected
        return (
            may_see_lists
            and {
                None: True,
                Audience.EVERYONE: True,
                Audience.FOLLOWERS: follower,
                Audience.FRIENDS: friend,
                Audience.ONLY_ME: False,
            }[audience]
        )

    def hides(self, ends: Ends, viewer: int | None, *, whispers_hidden: bool) -> bool:
        """Whether the edge must be hidden from the viewer."""
        source, target = ends
        kind = self.kind(*ends)
        if viewer == source:
            return False
        if viewer == target:
            return kind is Kind.NONE or (kind is Kind.WHISPER and whispers_hidden)
        if kind is not Kind.FOLLOW:
            return True
        nothing = PrivacyChange()
        following_audience = self.privacy.get(source, nothing).following
        followers_audience = self.privacy.get(target, nothing).followers
        is_open = self.opens(source, following_audience, viewer) or self.opens(
            target, followers_audience, viewer
        )
        return not is_open or self.has_block(viewer, source) or self.has_block(viewer, target)


@dataclass(frozen=True)
class Kith:
    """One database, in which every graph has users of its own."""

    stores: Stores
    gateways: Mapping[bool, Gateway]
    """By whether whispers are hidden."""
    numbers: "itertools.count[int]"

    async def write(self, *graphs: Graph) -> list[Sequence[int]]:
        """Write the graphs. Return the ids of the users of each."""
        firsts = [next(self.numbers) * len(USERS) + 1 for _ in graphs]
        await asyncio.gather(
            *(
                edges(self.stores, _with_ids(graph.edges, first))
                for graph, first in zip(graphs, firsts, strict=True)
            ),
            *(
                self.stores.writes.accounts.set_privacy(UserId(first + person), change)
                for graph, first in zip(graphs, firsts, strict=True)
                for person, change in graph.privacy.items()
            ),
        )
        await drain_all(self.stores)
        return [range(first, first + len(USERS)) for first in firsts]

    async def answers(
        self, users: Sequence[int], viewer: int | None, *, whispers_hidden: bool
    ) -> list[dict[str, Any]]:
        """All fields of each user as the viewer reads them, with dates as true or false."""
        viewer_id, gateway = (
            None if viewer is None else users[viewer],
            self.gateways[whispers_hidden],
        )
        data = await gateway.data(
            ALL_FIELDS,
            viewer_id,
            ids=list(map(str, users)),
            requests=[f"request:{users[one]}:{users[other]}" for one, other in PAIRS],
            signedIn=viewer is not None,
            **{f"with{person}": str(user) for person, user in enumerate(users)},
        )
        result = [_by_place(user, users) for user in data["users"]]
        for (one, _), request in zip(PAIRS, data["requests"], strict=True):
            result[one].setdefault("requests", []).append(request)
        if viewer is not None:
            suggestions = (await gateway.data(SUGGESTIONS, viewer_id))["viewer"]["suggestions"][
                "nodes"
            ]
            result[viewer]["suggestions"] = _unordered(suggestions, users)
        return result


def _with_ids(graph: Mapping[Ends, KindAndFlags], first: int) -> dict[Ends, KindAndFlags]:
    return {(first + one, first + other): edge for (one, other), edge in graph.items()}


def _by_place(result: Any, users: Sequence[int]) -> Any:
    """The same, with places for ids, in sorted lists, because lists are ordered by date."""
    if isinstance(result, list):
        return [_by_place(one, users) for one in result]
    if not isinstance(result, dict):
        return result
    dates = {"followedAt", "followedByAt", "friendsSince", "requestedAt", "requestedByAt"}
    dates |= {"blockedAt", "mutedUntil"}
    return {
        name: sorted(users.index(int(user["id"])) for user in value)
        if name == "nodes"
        else value is not None
        if name in dates
        else _by_place(value, users)
        for name, value in result.items()
    }


def _unordered(suggestions: Any, users: Sequence[int]) -> list[tuple[object, ...]]:
    """Suggestions with places for ids, sorted, because equal scores are ordered by date."""

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
async def kith(
    stores: Stores, storage_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Kith]:
    """Gateways that suggest no popular users, who could be users of other graphs."""

    async def no_users(_: PostgresSampledUsers) -> Sequence[UserId]:
        return ()

    monkeypatch.setattr(PostgresSampledUsers, "now", no_users)
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
class Case:
    """Two graphs that differ in one edge, and a viewer from whom it is hidden in both."""

    graphs: tuple[Graph, Graph]
    viewer: int | None
    ends: Ends
    whispers_hidden: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    viewer, ends = draw(st.none() | st.sampled_from(USERS)), draw(st.sampled_from(PAIRS))
    whispers_hidden = draw(st.booleans())
    base = Graph(draw(edge_maps), draw(privacies))
    if draw(st.booleans()):  # otherwise, follows are rarely hidden, because most lists are open
        closed = st.sampled_from([Audience.FOLLOWERS, Audience.FRIENDS, Audience.ONLY_ME])
        hiding = {end: PrivacyChange(None, draw(closed), draw(closed)) for end in ends}
        base = replace(base, privacy={**base.privacy, **hiding})

    def with_edge(kind: Kind) -> Graph:
        flags = draw(st.sampled_from([Flags.PLAIN, *Flags]))
        return replace(base, edges={**base.edges, ends: (kind, flags)})

    hidden = [
        graph
        for graph in map(with_edge, Kind)
        if graph.hides(ends, viewer, whispers_hidden=whispers_hidden)
        if without_blocked_edges(graph.edges) == graph.edges
    ]
    assume(len(hidden) > 1)
    first, second = draw(st.permutations(hidden))[:2]
    return Case((first, second), viewer, ends, whispers_hidden)


@settings(max_examples=60)
@given(case=cases())
async def test_a_hidden_edge_changes_no_answer(kith: Kith, case: Case) -> None:
    kinds = sorted(graph.kind(*case.ends).name for graph in case.graphs)
    event(f"{kinds}, {'to the viewer' if case.viewer == case.ends[1] else 'to another'}")
    first, second = [
        await kith.answers(users, case.viewer, whispers_hidden=case.whispers_hidden)
        for users in await kith.write(*case.graphs)
    ]
    for result in (first, second):
        for user, count in counts_of_a_blocked_follow(case):
            result[user].pop(count)
    assert first == second


def counts_of_a_blocked_follow(case: Case) -> set[tuple[int, str]]:
    """The counts that reveal the follow to everybody. They ignore the blocks of a viewer, who could
    read the same counts without signing in."""
    source, target = case.ends
    graph = case.graphs[0]
    has_block = graph.has_block(case.viewer, source) or graph.has_block(case.viewer, target)
    if not has_block or all(one.kind(*case.ends) is not Kind.FOLLOW for one in case.graphs):
        return set()
    counts = {(source, "followingCount"), (target, "followerCount")}
    if graph.kind(target, source) is Kind.FOLLOW:
        counts |= {(source, "friendCount"), (target, "friendCount")}
    return counts


@settings(max_examples=30)
@given(
    base=st.builds(Graph, edge_maps, privacies),
    ends=st.sampled_from(PAIRS),
    whispers_hidden=st.booleans(),
)
async def test_no_relation_reveals_a_block(
    kith: Kith, base: Graph, ends: Ends, whispers_hidden: bool
) -> None:
    """Only the eligibility code `NOT_ALLOWED` and the blocker's closed lists may reveal it."""
    blocker, viewer = ends
    kept = {pair: edge for pair, edge in base.edges.items() if pair != (viewer, blocker)}
    base = replace(base, edges=kept)
    unblocked, blocked = (
        replace(base, edges={**base.edges, ends: (kind, Flags.PLAIN)})
        for kind in (Kind.NONE, Kind.BLOCK)
    )
    result = [
        await kith.answers(users, viewer, whispers_hidden=whispers_hidden)
        for users in await kith.write(unblocked, blocked)
    ]
    for name in ("relationWith", "relationMask"):
        assert result[0][viewer][name] == result[1][viewer][name]
    assert result[0][blocker]["relationWith"][viewer] == result[1][blocker]["relationWith"][viewer]
    for name in ("viewerRelation", "viewerIsFollowing", "isFollowingViewer"):
        assert [user[name] for user in result[0]] == [user[name] for user in result[1]]
    nothing = result[1][blocker]["relationWith"]
    others = [person for person in USERS if person not in ends]
    assert all(nothing[other]["state"] == "NONE" for other in others)
