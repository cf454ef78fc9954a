"""Whatever is done in whatever order, the service answers as a plain model says it may.

A longer run: `pytest --hypothesis-profile=long tests/property/test_service_against_model.py`.
"""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import permutations
from struct import unpack
from typing import Any, TypeVar, cast
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gateway.graphql.endpoint import HttpLimits
from graph.decision import Decision
from graph.edge import FOLLOWS, MAX_USER_ID, NO_EDGE, Edge, Flags, Kind, Millis, UserId, Version
from graph.lane import Lane, lane_of
from graph.outcome import CHANGES, REJECTIONS, Outcome
from graph.receipt import UndoRecord
from graph.visibility import Access, Audience, Privacy
from resolvers import actions
from resolvers.actions import Action
from resolvers.request_limits import Limits
from storage.announced import edges as announced_edges
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.support import relationships
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.lagging_model import (
    LISTS,
    SERVICE,
    Arrow,
    Entry,
    Model,
    Onlooker,
    State,
    Viewer,
    check_list,
    check_total,
    date_of,
)

T = TypeVar("T")

USERS = (1, 2, 3, 7, 64, MAX_USER_ID)
LIMITS = Limits(following_max=4, blocks_max=2)

WHISPER = {"visibility": "WHISPER"}
ACTIONS: Mapping[str, tuple[str, Mapping[str, Any], Action]] = {
    "follow": ("followUser", {}, actions.follow(LIMITS)),
    "close follow": (
        "followUser",
        {"closeFollow": True},
        actions.follow(LIMITS, close_follow=True),
    ),
    "follow with notifications": (
        "followUser",
        {"notify": "ALL"},
        actions.follow(LIMITS, notify=True),
    ),
    "notify": ("updateFollow", {"notify": "ALL"}, actions.update_follow(None, None, True)),
    "stop notifications": (
        "updateFollow",
        {"notify": "NONE"},
        actions.update_follow(None, None, False),
    ),
    "whisper": ("followUser", WHISPER, actions.follow(LIMITS, Kind.WHISPER)),
    "make public": (
        "updateFollow",
        {"visibility": "PUBLIC", "closeFollow": True},
        actions.update_follow(Kind.FOLLOW, True),
    ),
    "make whisper": (
        "updateFollow",
        {**WHISPER, "closeFollow": False},
        actions.update_follow(Kind.WHISPER, False),
    ),
    "unfollow": ("unfollowUser", {}, actions.unfollow(LIMITS)),
    "remove": ("removeFollower", {}, actions.remove_follower(LIMITS)),
    "accept": ("acceptFollowRequest", {}, actions.accept_request(LIMITS)),
    "decline": ("declineFollowRequest", {}, actions.decline_request()),
    "cancel": ("cancelFollowRequest", {}, actions.cancel_request()),
    "block": ("blockUser", {}, actions.block(LIMITS)),
    "unblock": ("unblockUser", {}, actions.unblock()),
    "mute": ("muteUser", {}, actions.mute(None)),
    "unmute": ("unmuteUser", {}, actions.unmute()),
    "dismiss": ("dismissSuggestion", {}, actions.dismiss()),
}
FOLLOWING = ("follow", "follow", "close follow", "whisper", "unfollow")
STATES_OF_ACCOUNTS = {
    True: ("reactivateAccount", "REACTIVATED", "ALREADY_ACTIVE"),
    False: ("deactivateAccount", "DEACTIVATED", "ALREADY_DEACTIVATED"),
}
OFTEN = ("block", "remove", "accept", "make whisper")
"""Actions that are chosen more often, because they need an existing edge to have an effect."""

TABLES = (
    "following",
    "follower",
    "following_count",
    "follower_count",
    "outbox",
    "receipt",
    "pinned_following",
    "follow_group",
    "follow_group_member",
)
GROUP = 7
"""Every user has a group with this number."""
GROUPS = f"""
INSERT INTO follow_group (user_id, group_id, name)
SELECT user_id, {GROUP}, 'Some' FROM unnest($1::bigint[]) AS u (user_id)
"""
ALL_HERE = """
UPDATE account SET
    protected = false, following_audience = 0, followers_audience = 0, state = 0,
    changed_at = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint
"""

EVERYTHING = """
query ($ids: [ID!]!, $others: [ID!]!, $signedIn: Boolean!) {
  users(ids: $ids) {
    id followingCount followerCount friendCount
    following(first: 100) {
      access totalCount unavailableCount edges { since: followedAt node { id } }
    }
    followers(first: 100) {
      access totalCount unavailableCount edges { since: followedAt isNew node { id } }
    }
    friends(first: 100) {
      access totalCount unavailableCount edges { since: friendsSince node { id } }
    }
    newFollowersCount
    relationWith(ids: $others) { ...relation }
    relationMask(ids: $others)
    viewerRelation { ...relation }
    followersYouKnow(first: 100) @include(if: $signedIn) {
      access totalCount edges { since: followedAt node { id } }
    }
  }
  viewer @include(if: $signedIn) {
    newFollowersCount
    pinnedFollowing { id }
    closeFollows(first: 100) { totalCount edges { since: followedAt node { id } } }
    blockedUsers(first: 100) { totalCount edges { since: blockedAt node { id } } }
    mutedUsers(first: 100) { totalCount edges { node { id } } }
    oldestCloseFollows: closeFollows(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    oldestBlocked: blockedUsers(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    oldestMuted: mutedUsers(first: 100, orderBy: {direction: ASC}) { nodes { id } }
    outgoingFollowRequests(first: 100) {
      totalCount edges { since: requestedAt node { to { id } } }
    }
    incomingFollowRequests(first: 100) {
      totalCount edges { since: requestedAt node { from { id } } }
    }
  }
}
fragment relation on Relation {
  from { id } to { id } state following followedBy followedAt followedByAt friendsSince
  requestedAt requestedByAt blockedAt mutedUntil whispering requested requestedBy blocking muted
  closeFollow notify
}
"""

MEMBERS = """
query ($id: ID!, $group: ID!, $others: [ID!]!) {
  user(id: $id) {
    following(first: 100, filter: {groupId: $group}) {
      totalCount edges { since: followedAt node { id } }
    }
    relationWith(ids: $others) { groupIds }
  }
  viewer { followGroups { id memberCount } }
}
"""

CHANGE_MEMBER = """
mutation ($group: ID!, $users: [ID!]!) {
  payload: %s(input: {groupId: $group, userIds: $users}) {
    outcome changed userErrors { code } group { memberCount }
  }
}
"""

OLDEST_FIRST = {
    "closeFollows": "oldestCloseFollows",
    "blockedUsers": "oldestBlocked",
    "mutedUsers": "oldestMuted",
}

SETTINGS = """
mutation ($protected: Boolean!, $following: ListAudience!, $followers: ListAudience!) {
  updateRelationshipSettings(input: {
    protected: $protected, followingAudience: $following, followersAudience: $followers
  }) { settings { protected followingAudience followersAudience } }
}
"""

PIN = """
mutation ($ids: [ID!]!) { payload: setPinnedFollowing(input: { userIds: $ids }) {
  outcome userErrors { code } viewer { pinnedFollowing { id } }
} }
"""

MARK_SEEN = """
mutation { payload: markFollowersSeen(input: {}) {
  outcome userErrors { code }
  viewer {
    newFollowersCount
    user { followers(first: 100) { edges { since: followedAt isNew node { id } } } }
  }
} }
"""

PAGE = """
query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
  user(id: $id) { page: %s(first: $first, after: $after, last: $last, before: $before) {
    access edges { since: %s node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""

MARKS = {
    "following": 1 << 0,
    "followedBy": 1 << 1,
    "whispering": 1 << 3,
    "requested": 1 << 4,
    "requestedBy": 1 << 5,
    "blocking": 1 << 6,
    "muted": 1 << 7,
    "closeFollow": 1 << 8,
    "notify": 1 << 10,
}
STATES = {"FRIENDS": 1 << 2, "SELF": 1 << 9}
"""The bits of a mask, written down a second time."""

users = st.sampled_from((1, 1, 1, 2, 2, *USERS))  # some meet often
viewers = st.none() | st.just(SERVICE) | users
audiences = st.sampled_from((*[Audience.EVERYONE] * 3, *Audience))
some_users = st.lists(users, min_size=1, max_size=len(USERS), unique=True)
arrows = st.builds(Arrow, users, users).filter(lambda arrow: arrow.source != arrow.target)


@dataclass(frozen=True)
class Endpoint:
    """A gateway, and whether it reaches the caches."""

    gateway: Gateway
    cached: bool


@dataclass(frozen=True)
class World:
    """One graph, and every way to it: only the loop is this machine's own."""

    runner: asyncio.Runner
    stores: Stores
    gateways: tuple[Endpoint, ...]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)


gateways = st.sampled_from(["usual", "small caches", "no Redis"]).map(
    ["usual", "small caches", "no Redis"].index
)


@dataclass(frozen=True)
class Question:
    """A read: the viewer, the gateway, and the users that it is about."""

    entry: int
    viewer: Viewer
    ids: Sequence[int] = USERS
    others: Sequence[int] = USERS


@dataclass(frozen=True)
class Undo:
    """A token, who may use it, and what it must give back."""

    token: str
    arrow: Arrow
    taken: UndoRecord


@dataclass
class Walk:
    """Somebody pages through a list, and may pause for as long as they like."""

    kind: str
    owner: int
    viewer: Viewer
    backward: bool
    must: dict[int, datetime]
    """The users who were in the list when the walk began, and have not moved since."""
    cursor: str | None = None
    seen: list[Entry] = field(default_factory=list)
    ended: bool = False


class Service(RuleBasedStateMachine):
    """Rules act, compare what is answered at once, and the teardown compares everything."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.model = Model(USERS)
        self.walk: Walk | None = None
        self.undos: list[Undo] = []

    @initialize()
    def begin(self) -> None:
        self.world.run(empty(self.world.stores))

    @rule(
        changes=st.lists(
            st.tuples(gateways, arrows, st.sampled_from(FOLLOWING)),
            min_size=1,
            max_size=4,
            unique_by=lambda change: change[1].source,
        ),
        readers=st.lists(st.tuples(gateways, viewers), max_size=2),
    )
    def follow(
        self, changes: list[tuple[int, Arrow, str]], readers: list[tuple[int, Viewer]]
    ) -> None:
        """Several viewers write at once, while others read: those only fill caches as they race."""
        decided = [self.model.decided(arrow, ACTIONS[name][2].rule) for _, arrow, name in changes]
        payloads = self.world.run(
            together(
                *(self._write(*change) for change in changes),
                *(self._read(Question(*reader)) for reader in readers),
            )
        )
        for (entry, arrow, _), decision, payload in zip(changes, decided, payloads, strict=False):
            check_outcome(payload, decision)
            self._became(entry, arrow, decision.edge)

    @rule(
        entry=gateways,
        arrow=arrows,
        name=st.sampled_from([*ACTIONS, *OFTEN]),
        readers=st.lists(st.tuples(gateways, viewers), max_size=2),
    )
    def act(self, entry: int, arrow: Arrow, name: str, readers: list[tuple[int, Viewer]]) -> None:
        """Change one edge of a pair, or both, while others read."""
        action = ACTIONS[name][2]
        before, decision = self.model.before(arrow), self.model.decided(arrow, action.rule)
        payload, *_ = self.world.run(
            together(
                self._write(entry, arrow, name),
                *(self._read(Question(*reader)) for reader in readers),
            )
        )
        self._reported(entry, arrow, payload, decision)
        assert bool(payload["undoToken"]) == bool(action.can_undo and decision.steps)
        if payload["undoToken"]:
            edge, back = self.model.now(arrow), self.model.now(arrow.reversed)
            versions = edge.version, back.version
            taken = UndoRecord(*versions, before.edge, before.reverse, before.protected)
            self.undos = [*self.undos[-2:], Undo(payload["undoToken"], arrow, taken)]

    @precondition(lambda self: bool(self.undos))
    @rule(entry=gateways, which=st.integers(0, 2), viewer=st.none() | users)
    def undo(self, entry: int, which: int, viewer: int | None) -> None:
        """By the user who did it, or by somebody else, who cannot."""
        undo = self.undos[which % len(self.undos)]
        gateway = self.world.gateways[entry].gateway
        asker = viewer or undo.arrow.source
        answer = relationships.change(
            gateway, asker, "undoRelationshipChange", undoToken=undo.token
        )
        if asker != undo.arrow.source:
            rejected = self.world.run(answer)
            assert (rejected["outcome"], rejected["relation"]) == ("REJECTED", None)
            return
        action = actions.undo(LIMITS, uuid4(), undo.taken)
        decision = self.model.decided(undo.arrow, action.rule)
        self._reported(entry, undo.arrow, self.world.run(answer), decision)
        if decision.outcome is Outcome.RESTORED:  # that token gives nothing back any more
            spent = replace(undo, taken=replace(undo.taken, version=Version(-1)))
            self.undos = [spent if one is undo else one for one in self.undos]

    @rule(
        entry=gateways,
        user=users,
        privacy=st.builds(Privacy, st.booleans(), audiences, audiences),
    )
    def say_who_may_look(self, entry: int, user: int, privacy: Privacy) -> None:
        said = {
            "protected": privacy.protected,
            "followingAudience": privacy.following.name,
            "followersAudience": privacy.followers.name,
        }
        data = self.world.run(
            self.world.gateways[entry].gateway.data(
                SETTINGS,
                user,
                protected=privacy.protected,
                following=privacy.following.name,
                followers=privacy.followers.name,
            )
        )
        assert data["updateRelationshipSettings"]["settings"] == said
        self._said(entry, user, replace(privacy, present=self.model.is_here(user)))

    @rule(entry=gateways, user=users, here=st.sampled_from([True, True, False]))
    def come_or_go(self, entry: int, user: int, here: bool) -> None:
        """A service switches an account off, or on again."""
        was = self.model.is_here(user)
        name, done, already = STATES_OF_ACCOUNTS[here]
        query = f'mutation {{ payload: {name}(input: {{ userId: "{user}" }}) {{ outcome }} }}'
        gateway = self.world.gateways[entry].gateway.as_service
        outcome = self.world.run(gateway.data(query))["payload"]["outcome"]
        assert outcome == (already if was == here else done)
        if was != here:
            self._said(entry, user, replace(self.model.privacy[user][-1], present=here))
            if self.walk:
                self.walk.must.pop(user, None)

    @rule(entry=gateways, user=users, others=st.lists(users, max_size=2, unique=True))
    def pin(self, entry: int, user: int, others: list[int]) -> None:
        """Also users whom they do not follow, themselves, or nobody."""
        gateway, pins = self.world.gateways[entry].gateway, self.model.pinned(user, others)
        ids = list(map(str, others))
        payload = self.world.run(gateway.data(PIN, user, ids=ids))["payload"]
        if not self.model.is_here(user):
            check_rejected(payload, "ACCOUNT_NOT_ACTIVE")
        elif pins is None:
            check_rejected(payload, "INVALID_INPUT")
        else:
            is_other = pins != self.model.pins[user]
            assert payload["outcome"] == ("UPDATED" if is_other else "UNCHANGED")
            assert payload["viewer"]["pinnedFollowing"] == [{"id": other} for other in ids]
            self.model.pins[user] = pins

    @rule(entry=gateways, user=users)
    def see_followers(self, entry: int, user: int) -> None:
        """All whom the list shows there, which may lag."""
        payload = self.world.run(self.world.gateways[entry].gateway.data(MARK_SEEN, user))[
            "payload"
        ]
        if not self.model.is_here(user):
            check_rejected(payload, "ACCOUNT_NOT_ACTIVE")
            return
        viewer = payload["viewer"]
        assert viewer["newFollowersCount"] == 0
        edges = viewer["user"]["followers"]["edges"]
        assert not any(edge["isNew"] for edge in edges)
        dates = [since for since, _ in entries_of(viewer["user"]["followers"])]
        seen = max([self.model.seen[user], *dates])
        is_later = seen > self.model.seen[user]
        assert payload["outcome"] == ("UPDATED" if is_later else "UNCHANGED")
        self.model.seen[user] = seen

    @rule(entry=gateways, arrow=arrows, adds=st.sampled_from([True, True, False]))
    def group(self, entry: int, arrow: Arrow, adds: bool) -> None:
        """Somebody adds another user to their group, or removes them from it."""
        query = CHANGE_MEMBER % ("addToFollowGroup" if adds else "removeFromFollowGroup")
        gateway = self.world.gateways[entry].gateway
        asked = gateway.data(
            query, arrow.source, group=group_of(arrow.source), users=[str(arrow.target)]
        )
        payload = self.world.run(asked)["payload"]
        change = self.model.add_member if adds else self.model.remove_member
        check_made(payload, change(arrow))
        assert payload["group"]["memberCount"] == len(self.model.group(arrow.source))

    @rule(question=st.builds(Question, gateways, viewers, some_users, some_users))
    def look(self, question: Question) -> None:
        self._compare(question)

    @rule()
    def drain_everything(self) -> None:
        self.world.run(drain_all(self.world.stores))
        self.model.drain(USERS)

    @rule(whose=some_users)
    def drain_some_lanes(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await self.world.stores.jobs.drain.lane(lane)

        self.world.run(work())
        lanes = lanes_of(whose)
        self.model.drain([user for user in USERS if lane_of(UserId(user)) in lanes])

    @rule(whose=some_users)
    def a_worker_dies_before_it_can_publish(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await self.world.stores.jobs.outbox.apply(lane, 1000)

        self.world.run(work())

    @rule(choice=st.data(), what=st.sampled_from(["everything", "leases", "some keys"]))
    def the_caches_lose(self, choice: st.DataObject, what: str) -> None:
        async def work() -> None:
            redis = self.world.stores.servers.redis
            if what == "everything":
                await redis.pipe([("FLUSHDB",)])
                return
            (keys,) = await redis.pipe([("KEYS", "kith:*")])
            leases = [key for key in keys if key.endswith(b":lease")]
            lost = leases if what == "leases" else sorted(set(keys) - set(leases))
            if what == "some keys":
                # A bit mask, so that the choice does not depend on what happens to be there.
                mask = choice.draw(st.integers(0, 2**24 - 1))
                lost = [key for bit, key in enumerate(lost) if mask >> bit % 24 & 1]
            if lost:
                await redis.pipe([("DEL", *lost)])

        self.world.run(work())

    @precondition(lambda self: self.walk is None)
    @rule(kind=st.sampled_from(list(LISTS)), owner=users, viewer=viewers, backward=st.booleans())
    def begin_a_walk(self, kind: str, owner: int, viewer: Viewer, backward: bool) -> None:
        must = Onlooker(self.model, viewer, cached=True).certain(kind, owner)
        self.walk = Walk(kind, owner, viewer, backward, must)

    @precondition(lambda self: self.walk is not None)
    @rule(entry=gateways, size=st.integers(1, 3))
    def walk_on(self, entry: int, size: int) -> None:
        """One page more, through whichever gateway."""
        walk = self.walk
        assert walk is not None
        self.world.run(self._turn_page(walk, entry, size))
        if walk.ended:
            self.walk = None
            stayed = [(since, user) for since, user in walk.seen if user in walk.must]
            assert stayed == sorted(stayed, reverse=not walk.backward)
            assert {user: since for since, user in stayed} == walk.must, "a gap, or a repeat"
            assert len(stayed) == len(walk.must)

    def teardown(self) -> None:
        self.drain_everything()
        for entry in range(len(self.world.gateways)):
            for viewer in (None, SERVICE, *USERS[:2]):
                self._compare(Question(entry, viewer))

    def _compare(self, question: Question) -> None:
        viewer = question.viewer
        onlooker = Onlooker(self.model, viewer, self.world.gateways[question.entry].cached)
        answer = self.world.run(self._read(question))
        for user, shown in zip(question.ids, answer["users"], strict=True):
            assert shown["id"] == str(user)
            for kind, total in zip(LISTS, ("following", "follower", "friend"), strict=True):
                compare_list(onlooker, kind, user, shown[kind], shown[f"{total}Count"])
                compare_unavailable(onlooker, kind, user, shown[kind]["unavailableCount"])
            compare_new_followers(onlooker, user, shown)
            for other, relation in zip(question.others, shown["relationWith"], strict=True):
                compare_relation(
                    onlooker, user, other, relation, is_other_shown=other in question.ids
                )
            assert masks_of(shown["relationMask"]) == list(map(mask_of, shown["relationWith"]))
            if viewer:
                compare_relation(onlooker, viewer, user, shown["viewerRelation"])
                compare_known(onlooker, user, shown["followersYouKnow"])
            else:
                assert shown["viewerRelation"] is None
        if viewer:
            compare_own_lists(onlooker, answer["viewer"])
            self._compare_group(question.entry, viewer)

    def _compare_group(self, entry: int, viewer: int) -> None:
        """The viewer's group is at once what it is, through every gateway."""
        gateway, group = self.world.gateways[entry].gateway, group_of(viewer)
        others = self.model.others(viewer)
        ids = [str(other) for other in others]
        answer = self.world.run(
            gateway.data(MEMBERS, viewer, id=str(viewer), group=group, others=ids)
        )
        page, members = answer["user"]["following"], self.model.group(viewer)
        assert entries_of(page) == members
        assert page["totalCount"] == len(members)
        assert answer["viewer"]["followGroups"] == [{"id": group, "memberCount": len(members)}]
        inside = {user for _, user in members}
        assert [relation["groupIds"] for relation in answer["user"]["relationWith"]] == [
            [group] if other in inside else [] for other in others
        ]

    def _said(self, entry: int, user: int, privacy: Privacy) -> None:
        self.model.say(user, privacy, result=self.world.gateways[entry].cached)
        if self.walk and user in (self.walk.owner, self.walk.viewer):
            self.walk.must.clear()

    def _reported(self, entry: int, arrow: Arrow, payload: Any, decision: Decision) -> None:
        """The answer is right; what the other's edge has become has arrived, and so has a block."""
        check_outcome(payload, decision)
        self._became(entry, arrow, decision.edge)
        self._became(entry, arrow.reversed, decision.reverse)
        edge, back = self.model.now(arrow), self.model.now(arrow.reversed)
        result = (payload["relation"]["followedAt"], payload["relation"]["followedByAt"])
        is_here = self.model.is_here(arrow.target)
        dates = (followed_at(edge), followed_at(back)) if is_here else (None, None)
        assert tuple(map(moment, result)) == dates
        if self.world.gateways[entry].cached:
            arrived = lanes_of(
                [
                    arrow.source if step.is_reverse else arrow.target
                    for step in decision.steps
                    if step.is_reverse or step.edge.kind is Kind.BLOCK
                ]
            )
            self.model.drain([user for user in USERS if lane_of(UserId(user)) in arrived])

    def _became(self, entry: int, arrow: Arrow, edge: Edge) -> None:
        """An edge is what a rule has said, in the database and in the model."""
        previous = self.model.now(arrow)
        stored = self.world.run(stored_edge(self.world.stores, arrow))
        self.model.become(arrow, edge, stored, result=self.world.gateways[entry].cached)
        if stored != previous:
            self._moved(arrow, Kind.BLOCK in (stored.kind, previous.kind))

    async def _read(self, question: Question) -> Any:
        gateway, viewer = self._asked(question.entry, question.viewer)
        return await gateway.data(
            EVERYTHING,
            viewer,
            ids=[str(user) for user in question.ids],
            others=[str(user) for user in question.others],
            signedIn=viewer is not None,
        )

    async def _write(self, entry: int, arrow: Arrow, name: str) -> Any:
        mutation, given, _ = ACTIONS[name]
        gateway = self.world.gateways[entry].gateway
        return await relationships.change(gateway, arrow.source, mutation, arrow.target, **given)

    def _asked(self, entry: int, viewer: Viewer) -> tuple[Gateway, int | None]:
        gateway = self.world.gateways[entry].gateway
        return (gateway.as_service, None) if viewer == SERVICE else (gateway, viewer)

    async def _turn_page(self, walk: Walk, entry: int, size: int) -> None:
        date = "friendsSince" if walk.kind == "friends" else "followedAt"
        ends = ("last", "before") if walk.backward else ("first", "after")
        gateway, viewer = self._asked(entry, walk.viewer)
        page = (
            await gateway.data(
                PAGE % (walk.kind, date),
                viewer,
                id=str(walk.owner),
                **dict(zip(ends, (size, walk.cursor), strict=True)),
            )
        )["user"]["page"]
        entries = entries_of(page)
        info = page["pageInfo"]
        assert len(entries) <= size
        assert entries == sorted(entries, reverse=True)
        walk.seen += reversed(entries) if walk.backward else entries
        walk.cursor = info["startCursor" if walk.backward else "endCursor"]
        walk.ended = not info["hasPreviousPage" if walk.backward else "hasNextPage"]
        assert walk.ended or len(entries) == size, "a short page says that more comes"

    def _moved(self, arrow: Arrow, blocks: bool) -> None:
        """Remove the users whom the walk need not find after this edge has changed."""
        walk = self.walk
        if walk is None:
            return
        if arrow.source == walk.owner and walk.kind != "followers":
            walk.must.pop(arrow.target, None)
        if arrow.target == walk.owner and walk.kind != "following":
            walk.must.pop(arrow.source, None)
        for viewer, other in permutations(arrow):
            if viewer == walk.viewer and other == walk.owner:
                walk.must.clear()
            elif viewer == walk.viewer and blocks:
                walk.must.pop(other, None)


def group_of(user: int) -> str:
    """The id of the user's group."""
    return f"group:{user}:{GROUP}"


def check_outcome(payload: Any, decision: Decision) -> None:
    """The outcome is what the rule says, or the reason why not."""
    check_made(payload, decision.outcome)


def check_made(payload: Any, outcome: Outcome) -> None:
    """The payload has this outcome, or it as the reason why not."""
    rejected = outcome in REJECTIONS
    assert payload["outcome"] == ("REJECTED" if rejected else outcome.name)
    assert payload["changed"] == (outcome in CHANGES)
    codes = [error["code"] for error in payload["userErrors"]]
    assert codes == ([outcome.name] if rejected else [])


def check_rejected(payload: Any, code: str) -> None:
    assert payload["outcome"] == "REJECTED"
    assert [error["code"] for error in payload["userErrors"]] == [code]


def compare_list(onlooker: Onlooker, kind: str, user: int, page: Any, total: int | None) -> None:
    assert Access[page["access"]] in onlooker.accesses(kind, user)
    if page["access"] != "VISIBLE":
        assert (page["edges"], page["totalCount"], total) == ([], 0, None)
        return
    assert total is not None
    possible = onlooker.entries(kind, user)
    check_list(entries_of(page), possible)
    if len(onlooker.possible_walls(user)) == 0:
        assert page["totalCount"] == total
    elif onlooker.knows_all_of(user):
        check_total(total, onlooker.everybody(kind, user).values(), onlooker.unsure_of())
    total = page["totalCount"]
    if kind != "friends" or onlooker.knows_all_of(user):
        check_total(total, possible.values(), onlooker.astray(kind, user))
    else:
        # The sum of what both sides added: while one lags, it may be off by what is on its way.
        assert total >= 0


def compare_unavailable(onlooker: Onlooker, kind: str, user: int, unavailable: int | None) -> None:
    if user != onlooker.viewer:
        assert unavailable is None
        return
    assert unavailable is not None
    if kind != "friends" or onlooker.knows_all_of(user):
        possible = onlooker.unavailable(kind, user)
        check_total(unavailable, possible.values(), onlooker.astray(kind, user))


def compare_new_followers(onlooker: Onlooker, user: int, shown: Any) -> None:
    edges = shown["followers"]["edges"]
    if user != onlooker.viewer:
        assert shown["newFollowersCount"] is None
        assert all(edge["isNew"] is None for edge in edges)
        return
    seen = onlooker.model.seen[user]
    for edge, (since, _) in zip(edges, entries_of(shown["followers"]), strict=True):
        assert edge["isNew"] == (since > seen)
    check_total(shown["newFollowersCount"], onlooker.new_followers(user).values())


def compare_known(onlooker: Onlooker, user: int, page: Any) -> None:
    assert Access[page["access"]] in onlooker.accesses("followers", user)
    entries = entries_of(page)
    assert page["totalCount"] == len(entries)
    if page["access"] == "VISIBLE":
        check_list(entries, onlooker.known_followers(user))
    else:
        assert not entries


def compare_own_lists(onlooker: Onlooker, shown: Any) -> None:
    viewer = onlooker.viewer
    assert viewer
    check_total(shown["newFollowersCount"], onlooker.new_followers(viewer).values())
    pinned = [int(user["id"]) for user in shown["pinnedFollowing"]]
    assert pinned == onlooker.model.shown_pins(viewer)
    lists = {
        "closeFollows": onlooker.own(
            lambda edge: edge.kind in FOLLOWS and Flags.CLOSE_FOLLOW in edge.flags
        ),
        "blockedUsers": onlooker.noted(lambda edge: edge.kind is Kind.BLOCK),
        "mutedUsers": onlooker.noted(lambda edge: Flags.MUTED in edge.flags),
        "outgoingFollowRequests": onlooker.own(lambda edge: edge.kind is Kind.REQUEST),
        "incomingFollowRequests": onlooker.asked(),
    }
    for name, possible in lists.items():
        page = shown[name]
        check_total(page["totalCount"], possible.values(), onlooker.unsure_of())
        if name == "mutedUsers":  # which says no dates, but keeps to their order
            muted = [int(edge["node"]["id"]) for edge in page["edges"]]
            dates = {user: date for user, states in possible.items() for date in states if date}
            check_list([(dates[user], user) for user in muted], possible)
        else:
            check_list(entries_of(page), possible)
    for name, reversed_name in OLDEST_FIRST.items():
        newest = [edge["node"] for edge in shown[name]["edges"]]
        assert shown[reversed_name]["nodes"] == newest[::-1]


def compare_relation(
    onlooker: Onlooker, user: int, other: int, shown: Any, *, is_other_shown: bool = False
) -> None:
    assert (shown["from"]["id"], shown["to"]["id"]) == (str(user), str(other))
    result = {name: value for name, value in shown.items() if name not in ("from", "to")}
    if user == other:
        assert result.pop("state") == "SELF"
        assert result.pop("notify") == "NONE"
        assert not any(result.values())
        return
    possible = onlooker.relation(user, other, is_other_shown=is_other_shown)
    faces = [face(edge, back) for edge, back in possible]
    assert result in faces, (user, other, result, faces)


def face(edge: Edge, back: Edge) -> dict[str, Any]:
    """How a relation looks to somebody who may know both of its edges."""
    since, reverse_since = followed_at(edge), followed_at(back)
    friends = edge.kind is back.kind is Kind.FOLLOW
    asks, asked = edge.kind is Kind.REQUEST, back.kind is Kind.REQUEST
    return {
        "state": (
            "FRIENDS"
            if friends
            else "FOLLOWING"
            if since
            else "FOLLOWED_BY"
            if reverse_since
            else "NONE"
        ),
        "following": since is not None,
        "followedBy": reverse_since is not None,
        "followedAt": text(since),
        "followedByAt": text(reverse_since),
        "friendsSince": text(max(since, reverse_since))
        if friends and since and reverse_since
        else None,
        "requestedAt": text(date_of(edge) if asks else None),
        "requestedByAt": text(date_of(back) if asked else None),
        "blockedAt": text(date_of(edge) if edge.kind is Kind.BLOCK else None),
        "mutedUntil": None,  # no mute here has an end
        "whispering": edge.kind is Kind.WHISPER,
        "requested": asks,
        "requestedBy": asked,
        "blocking": edge.kind is Kind.BLOCK,
        "muted": Flags.MUTED in edge.flags,
        "closeFollow": edge.kind in FOLLOWS and Flags.CLOSE_FOLLOW in edge.flags,
        "notify": "ALL" if edge.kind in FOLLOWS and Flags.NOTIFY in edge.flags else "NONE",
    }


def mask_of(relation: Any) -> int:
    """The mask that says what a relation says."""
    said = sum(bit for name, bit in MARKS.items() if relation[name] not in (False, "NONE"))
    return said | STATES.get(relation["state"], 0)


def masks_of(mask: str) -> list[int]:
    numbers = b64decode(mask)
    return list(unpack(f"<{len(numbers) // 2}H", numbers))


def entries_of(page: Any) -> list[Entry]:
    return [(datetime.fromisoformat(e["since"]), user_in(e["node"])) for e in page["edges"]]


def user_in(node: Any) -> int:
    """The user of an entry, or at the other end of a request."""
    (end,) = node.values()
    return int(end) if isinstance(end, str) else user_in(end)


def followed_at(edge: Edge) -> State:
    return date_of(edge) if edge.kind in FOLLOWS else None


def moment(text: str | None) -> State:
    return None if text is None else datetime.fromisoformat(text)


def text(moment: State) -> str | None:
    return None if moment is None else moment.isoformat()


async def stored_edge(stores: Stores, arrow: Arrow) -> Edge:
    rows = await stores.servers.postgres.fetch(
        "SELECT kind, flags, since, version FROM following "
        f"WHERE from_user_id = {arrow.source} AND to_user_id = {arrow.target}"
    )
    if not rows:
        return NO_EDGE
    ((kind, flags, since, version),) = rows
    return Edge(Kind(kind), Flags(flags), Millis(since), Version(version))


def lanes_of(targets: list[int]) -> set[Lane]:
    return {lane_of(UserId(user)) for user in targets}


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    return await asyncio.gather(*work)


async def empty(stores: Stores) -> None:
    """A graph without edges: cheaper than a new database for every example."""
    for table in TABLES:
        await stores.servers.postgres.fetch(f"DELETE FROM {table}")
    await stores.servers.postgres.fetch(GROUPS, USERS)
    await stores.servers.postgres.fetch(ALL_HERE)  # not deleted: every process reads it
    await stores.servers.broker.pipe([("FLUSHDB",)])
    if stores.servers.redis is not stores.servers.broker:
        await stores.caches.updates.forget_everything()


@contextmanager
def opened_world(storage: StorageSettings) -> Iterator[World]:
    """Three gateways on one graph: a usual one, one to whom everybody is a whale, and one alone."""
    patient = replace(storage.connections, statement_timeout_s=60, acquire_timeout_s=60)
    storage = replace(
        storage, local=replace(storage.local, absent_age_ms=0), connections=patient
    )  # however busy the machine is
    kinds = (
        storage,
        replace(storage, cache=replace(storage.cache, relations_max=2, list_max=2, range_max=20)),
        replace(storage, redis_url="unix:///nowhere.sock", cache=replace(storage.cache, url=None)),
    )

    async def enter(stack: AsyncExitStack) -> tuple[Stores, list[Gateway]]:
        requests = HttpLimits(request_deadline_ms=300_000)
        opened = [
            await stack.enter_async_context(running_gateway(k, LIMITS, requests=requests))
            for k in kinds
        ]
        return await stack.enter_async_context(open_stores(storage)), opened

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            stores, gateways = runner.run(enter(stack))
            cached = (kind.redis_url == storage.redis_url for kind in kinds)
            yield World(runner, stores, tuple(map(Endpoint, gateways, cached)))
        finally:
            runner.run(stack.aclose())


@pytest.fixture(params=["one server", pytest.param("a cluster", marks=pytest.mark.long)])
def caches(request: pytest.FixtureRequest, storage_settings: StorageSettings) -> StorageSettings:
    """Where what is cached is kept."""
    if request.param == "one server":
        return storage_settings
    return replace(
        storage_settings,
        cache=replace(storage_settings.cache, url=request.getfixturevalue("cluster").url),
    )


def test_the_service_answers_as_the_model_says(
    caches: StorageSettings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.ERROR, "storage")  # each write without Redis is a warning
    monkeypatch.setattr(announced_edges, "DRAIN_S_MAX", 30)  # however busy the machine is
    profile = settings()
    chosen = settings(
        profile, max_examples=max(1, profile.max_examples // 4), stateful_step_count=30
    )
    with opened_world(caches) as world:
        machine = cast("type[Service]", partial(Service, world))  # called, and nothing else
        run_state_machine_as_test(machine, settings=chosen)
