"""After random actions in random order, every answer is one that a simple model allows.

A longer run: `pytest --hypothesis-profile=long tests/property/test_service_against_model.py`.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import permutations
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

from gateway.graphql.settings import HttpLimits
from graph.decision_types import Decision
from graph.edge import MAX_USER_ID, NO_EDGE, Edge, Flags, Kind, Millis, UserId, Version
from graph.lane import Lane, lane_of
from graph.outcome import Outcome
from graph.privacy import Audience, Privacy
from graph.receipt import UndoRecord
from graph.steps import unchanged
from resolvers import actions
from resolvers.actions import Action
from resolvers.policy import Policy
from storage.erasure import BatchResult, Erasure
from storage.redis.connection import unlink_all
from storage.redis.wire import UNLINK
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from storage.write_through import edges as write_through_edges
from tests.support import relationships
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.group_model import Followed, Group, Groups
from tests.support.lagging_model import (
    BEGINNING,
    LISTS,
    SERVICE,
    Entry,
    Model,
    Onlooker,
    UserPair,
    Viewer,
    day_of,
)
from tests.support.model_comparison import (
    check_outcome,
    check_payload,
    check_rejected,
    compare_known,
    compare_list,
    compare_new_followers,
    compare_own_lists,
    compare_relation,
    compare_unavailable,
    entries_of,
    followed_at,
    mask_of,
    masks_of,
    moment,
    text,
)
from tests.support.model_documents import (
    CHANGE_GROUP,
    EVERYTHING,
    GROUP_RESULTS,
    GROUPS_OF,
    MARK_SEEN,
    MEMBERS,
    PAGE,
    PIN,
    SET_NOTE,
    SETTINGS,
    VERSION,
)

T = TypeVar("T")

USERS = (1, 2, 3, 7, 64, MAX_USER_ID)
LIMITS = Policy(following_max=4, blocks_max=2)

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
"""The actions of concurrent writers. They change the writer's own edge only."""
STATES_OF_ACCOUNTS = {
    True: ("reactivateAccount", "REACTIVATED", "ALREADY_ACTIVE"),
    False: ("deactivateAccount", "DEACTIVATED", "ALREADY_DEACTIVATED"),
}
"""By whether it makes an account active: the mutation, its outcome, and that of a repeat."""
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
    "private_note",
    "follow_group",
    "follow_group_member",
)
GROUP = 7
"""The number of the group that every user has at the beginning."""
INSERT_GROUPS = f"""
INSERT INTO follow_group (user_id, group_id, name)
SELECT user_id, {GROUP}, 'Some' FROM unnest($1::bigint[]) AS u (user_id)
"""
RESET_ACCOUNTS = """
UPDATE account SET
    protected = false, following_audience = 0, followers_audience = 0, state = 0,
    deleted_at = NULL, erased_at = NULL,
    changed_at = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint
"""

users = st.sampled_from((1, 1, 1, 2, 2, *USERS))  # some users are drawn more often
viewers = st.none() | st.just(SERVICE) | users
audiences = st.sampled_from((*[Audience.EVERYONE] * 3, *Audience))
some_users = st.lists(users, min_size=1, max_size=len(USERS), unique=True)
pairs = st.builds(UserPair, users, users).filter(lambda pair: pair.source != pair.target)


@dataclass(frozen=True)
class Endpoint:
    """A gateway, and whether it reaches the caches."""

    gateway: Gateway
    cached: bool


@dataclass(frozen=True)
class Deployment:
    """One graph, its stores and gateways, and the event loop in which they run."""

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

    gateway_index: int
    viewer: Viewer
    ids: Sequence[int] = USERS
    others: Sequence[int] = USERS


@dataclass(frozen=True)
class Undo:
    """An undo token, the pair that it is for, and the state that it restores."""

    token: str
    pair: UserPair
    taken: UndoRecord


@dataclass(frozen=True)
class SeenVersion:
    """A version of the source's relation to the target, and the states that it can belong to."""

    pair: UserPair
    version: str
    states: frozenset[tuple[int, ...]]


@dataclass
class Pagination:
    """A reader who pages through a list, with other actions between the pages."""

    kind: str
    owner: int
    viewer: Viewer
    backward: bool
    expected: dict[int, datetime]
    """The users who were in the list at the beginning, and whose entries have not changed."""
    cursor: str | None = None
    seen: list[Entry] = field(default_factory=list)
    ended: bool = False


class Service(RuleBasedStateMachine):
    """Each rule acts and compares its answer with the model. The teardown drains all changes and
    then compares reads of every gateway."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__()
        self.deployment = deployment
        self.model = Model(USERS)
        self.pagination: Pagination | None = None
        self.undos: list[Undo] = []
        self.versions: list[SeenVersion] = []

    @initialize()
    def begin(self) -> None:
        self.deployment.run(empty(self.deployment.stores))
        for user in USERS:
            self.model.groups[user].groups[group_of(user)] = Group("Some")

    @rule(
        changes=st.lists(
            st.tuples(gateways, pairs, st.sampled_from(FOLLOWING)),
            min_size=1,
            max_size=4,
            unique_by=lambda change: change[1].source,
        ),
        readers=st.lists(st.tuples(gateways, viewers), max_size=2),
    )
    def follow(
        self, changes: list[tuple[int, UserPair, str]], readers: list[tuple[int, Viewer]]
    ) -> None:
        """Several viewers write concurrently. Others read meanwhile, which only fills caches."""
        decided = [self.model.decided(pair, ACTIONS[name][2].rule) for _, pair, name in changes]
        payloads = self.deployment.run(
            together(
                *(self._write(*change) for change in changes),
                *(self._read(Question(*reader)) for reader in readers),
            )
        )
        for (gateway_index, pair, _), decision, payload in zip(
            changes, decided, payloads, strict=False
        ):
            check_outcome(payload, decision)
            self._check_edge(gateway_index, pair, decision.edge)

    @rule(
        gateway_index=gateways,
        pair=pairs,
        name=st.sampled_from([*ACTIONS, *OFTEN]),
        readers=st.lists(st.tuples(gateways, viewers), max_size=2),
    )
    def act(
        self, gateway_index: int, pair: UserPair, name: str, readers: list[tuple[int, Viewer]]
    ) -> None:
        """Change one edge of a pair, or both, while others read."""
        payload, *_ = self.deployment.run(
            together(
                self._write(gateway_index, pair, name),
                *(self._read(Question(*reader)) for reader in readers),
            )
        )
        self._check_action(gateway_index, pair, ACTIONS[name][2], payload)

    def _check_action(
        self, gateway_index: int, pair: UserPair, action: Action, payload: Any
    ) -> None:
        """Compare the payload with the model, and keep the undo token."""
        before, decision = self.model.before(pair), self.model.decided(pair, action.rule)
        self._check_payload(gateway_index, pair, payload, decision)
        assert bool(payload["undoToken"]) == bool(action.can_undo and decision.steps)
        if payload["undoToken"]:
            edge, reverse = self.model.now(pair), self.model.now(pair.reversed)
            versions = edge.version, reverse.version
            taken = UndoRecord(*versions, before.edge, before.reverse, before.protected)
            self.undos = [*self.undos[-2:], Undo(payload["undoToken"], pair, taken)]

    @rule(gateway_index=gateways, pair=pairs)
    def remember(self, gateway_index: int, pair: UserPair) -> None:
        """Read the version of a relation, for a conditional change later."""
        endpoint = self.deployment.gateways[gateway_index]
        ends = {"from": str(pair.source), "to": str(pair.target)}
        answer = self.deployment.run(endpoint.gateway.data(VERSION, pair.source, **ends))
        (relation,) = answer["user"]["relationWith"]
        onlooker = Onlooker(self.model, pair.source, endpoint.cached)
        states = frozenset(onlooker.seen_states(pair.target))
        found = SeenVersion(pair, relation["version"], states)
        self.versions = [*self.versions[-2:], found]

    @precondition(lambda self: bool(self.versions))
    @rule(
        gateway_index=gateways,
        which=st.integers(0, 2),
        name=st.sampled_from([*ACTIONS, "follow", *OFTEN]),
    )
    def act_if_unchanged(self, gateway_index: int, which: int, name: str) -> None:
        """Change an edge, on the condition that the relation still has a version read earlier."""
        seen = self.versions[which % len(self.versions)]
        payload = self.deployment.run(
            self._write(gateway_index, seen.pair, name, ifVersion=seen.version)
        )
        is_conflict = self.model.is_conflict(seen.pair, seen.states)
        if is_conflict is None:
            is_conflict = [error["code"] for error in payload["userErrors"]] == ["CONFLICT"]
        action = ACTIONS[name][2]
        if is_conflict:
            action = replace(action, rule=partial(unchanged, Outcome.CONFLICT))
        self._check_action(gateway_index, seen.pair, action, payload)

    @precondition(lambda self: bool(self.undos))
    @rule(gateway_index=gateways, which=st.integers(0, 2), viewer=st.none() | users)
    def undo(self, gateway_index: int, which: int, viewer: int | None) -> None:
        """Use an undo token, as its user, or as another user, who is rejected."""
        undo = self.undos[which % len(self.undos)]
        gateway = self.deployment.gateways[gateway_index].gateway
        asker = viewer or undo.pair.source
        answer = relationships.change(
            gateway, asker, "undoRelationshipChange", undoToken=undo.token
        )
        if asker != undo.pair.source:
            rejected = self.deployment.run(answer)
            assert (rejected["outcome"], rejected["relation"]) == ("REJECTED", None)
            return
        action = actions.undo(LIMITS, uuid4(), undo.taken)
        decision = self.model.decided(undo.pair, action.rule)
        self._check_payload(gateway_index, undo.pair, self.deployment.run(answer), decision)
        if decision.outcome is Outcome.RESTORED:  # the token is used up
            consumed = replace(undo, taken=replace(undo.taken, version=Version(-1)))
            self.undos = [consumed if one is undo else one for one in self.undos]

    @rule(
        gateway_index=gateways,
        user=users,
        privacy=st.builds(Privacy, st.booleans(), audiences, audiences),
    )
    def change_privacy(self, gateway_index: int, user: int, privacy: Privacy) -> None:
        expected = {
            "protected": privacy.protected,
            "followingAudience": privacy.following.name,
            "followersAudience": privacy.followers.name,
        }
        data = self.deployment.run(
            self.deployment.gateways[gateway_index].gateway.data(
                SETTINGS,
                user,
                protected=privacy.protected,
                following=privacy.following.name,
                followers=privacy.followers.name,
            )
        )
        if user in self.model.deleted:
            check_rejected(data["updateRelationshipSettings"], "ACCOUNT_NOT_ACTIVE")
            return
        assert data["updateRelationshipSettings"]["settings"] == expected
        self._set_privacy(gateway_index, user, replace(privacy, present=self.model.is_here(user)))

    @rule(gateway_index=gateways, user=users, is_active=st.sampled_from([True, True, False]))
    def change_account_state(self, gateway_index: int, user: int, is_active: bool) -> None:
        """A service deactivates or reactivates an account."""
        was_active = self.model.is_here(user)
        name, done, already = STATES_OF_ACCOUNTS[is_active]
        payload = self._as_service(gateway_index, name, user)
        if user in self.model.deleted:
            check_rejected(payload, "ACCOUNT_DELETED")
            return
        assert payload["outcome"] == (already if was_active == is_active else done)
        if was_active != is_active:
            self._set_active(gateway_index, user, is_active)

    @rule(gateway_index=gateways, user=st.sampled_from(USERS[2:]))
    def delete_account(self, gateway_index: int, user: int) -> None:
        """A service deletes an account. Its edges stay until a worker erases the account."""
        is_first = user not in self.model.deleted
        payload = self._as_service(gateway_index, "deleteAccount", user)
        assert payload["outcome"] == ("DELETED" if is_first else "ALREADY_DELETED")
        if is_first:
            self.model.deleted.add(user)
            self._set_active(gateway_index, user, False)

    @precondition(lambda self: self.model.deleted - self.model.erased)
    @rule()
    def erase(self) -> None:
        """A worker erases a deleted account, and drains what that has changed."""
        (user, *_) = sorted(self.model.deleted - self.model.erased)
        self.deployment.run(erase_account(self.deployment.stores, UserId(user)))
        for pair in self.model.edges:
            if user in pair:
                edge = self.deployment.run(stored_edge(self.deployment.stores, pair))
                is_own = pair.source == user
                assert edge == (
                    NO_EDGE if is_own else replace(edge, kind=Kind.NONE, flags=Flags.PLAIN)
                )
                self.model.edges[pair] = [edge]
        self.model.erase(user)
        self.model.drain(USERS)
        self.undos = [undo for undo in self.undos if undo.pair.source != user]

    @rule(gateway_index=gateways, user=users, others=st.lists(users, max_size=2, unique=True))
    def pin(self, gateway_index: int, user: int, others: list[int]) -> None:
        """Pin any users: followed or not, the user themselves, or none."""
        gateway, pins = (
            self.deployment.gateways[gateway_index].gateway,
            self.model.pinned(user, others),
        )
        ids = list(map(str, others))
        payload = self.deployment.run(gateway.data(PIN, user, ids=ids))["payload"]
        if not self.model.is_here(user):
            check_rejected(payload, "ACCOUNT_NOT_ACTIVE")
        elif pins is None:
            check_rejected(payload, "INVALID_INPUT")
        else:
            is_other = pins != self.model.pins[user]
            assert payload["outcome"] == ("UPDATED" if is_other else "UNCHANGED")
            assert payload["viewer"]["pinnedFollowing"] == [{"id": other} for other in ids]
            self.model.pins[user] = pins

    @rule(gateway_index=gateways, user=users, last=st.none() | users, later=st.integers(0, 1))
    def see_followers(self, gateway_index: int, user: int, last: int | None, later: int) -> None:
        """Mark followers as seen: all in the list, which may lag, or those up to the date of one
        follow, or up to a millisecond later."""
        edge = self.model.edges.get(UserPair(last or 0, user), [NO_EDGE])[-1]
        until = None if last is None else day_of(Millis(edge.since + later))
        asked = self.deployment.gateways[gateway_index].gateway.data(
            MARK_SEEN, user, upTo=text(until)
        )
        payload = self.deployment.run(asked)["payload"]
        if not self.model.is_here(user):
            check_rejected(payload, "ACCOUNT_NOT_ACTIVE")
            return
        viewer = payload["viewer"]
        edges = viewer["user"]["followers"]["edges"]
        dates = [since for since, _ in entries_of(viewer["user"]["followers"])]
        newest = max(dates, default=BEGINNING)
        before = self.model.seen[user]
        seen = max(before, newest if until is None else min(until, newest))
        assert payload["outcome"] == ("UPDATED" if seen > before else "UNCHANGED")
        is_new = [since > seen for since in dates]
        assert [edge["isNew"] for edge in edges] == is_new
        assert viewer["newFollowersCount"] == sum(is_new)
        self.model.seen[user] = seen

    @rule(gateway_index=gateways, pair=pairs, note=st.sampled_from(["Tall", "Tall", "Loud", ""]))
    def set_note(self, gateway_index: int, pair: UserPair, note: str) -> None:
        """Write a private note about another user, or delete it."""
        gateway = self.deployment.gateways[gateway_index].gateway
        asked = gateway.data(SET_NOTE, pair.source, user=str(pair.target), note=note)
        payload = self.deployment.run(asked)["payload"]
        check_payload(payload, self.model.set_note(pair, note))
        assert payload["relation"] == {"note": self.model.note(pair)}

    @rule(
        gateway_index=gateways,
        pair=pairs,
        which=st.integers(0, 3),
        adds=st.sampled_from([True, True, False]),
    )
    def group(self, gateway_index: int, pair: UserPair, which: int, adds: bool) -> None:
        """Add another user to a group of the owner, or remove the user from it."""
        owner, user = pair
        group = self._group_of(owner, which)
        name = "addToFollowGroup" if adds else "removeFromFollowGroup"
        payload = self._change_groups(
            gateway_index, owner, name, groupId=group, userIds=[str(user)]
        )
        change = Groups.add if adds else Groups.remove
        outcome = self.model.change_group(
            owner, lambda groups, followed: change(groups, group, user, followed)
        )
        check_payload(payload, outcome)
        members = self.model.members(owner).get(group)
        expected = None if members is None else {"memberCount": len(members)}
        assert payload["group"] == expected

    @rule(
        gateway_index=gateways,
        owner=users,
        which=st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
        what=st.sampled_from(["create", "rename", "reorder", "reorder", "delete"]),
        name=st.sampled_from(["Family", "Work"]),
    )
    def change_groups(
        self, gateway_index: int, owner: int, which: list[int], what: str, name: str
    ) -> None:
        """Change any groups, including some that do not exist."""
        if what == "create":
            self._create_group(gateway_index, owner, name)
            return
        chosen = list(dict.fromkeys(self._group_of(owner, number) for number in which))
        changes: Mapping[str, tuple[Mapping[str, Any], Callable[[Groups, Followed], Outcome]]] = {
            "rename": (
                {"groupId": chosen[0], "name": name},
                lambda groups, _: groups.rename(chosen[0], name),
            ),
            "reorder": ({"groupIds": chosen}, lambda groups, _: groups.reorder(chosen)),
            "delete": ({"groupId": chosen[0]}, lambda groups, _: groups.delete(chosen[0])),
        }
        given, change = changes[what]
        mutation = "reorderFollowGroups" if what == "reorder" else f"{what}FollowGroup"
        payload = self._change_groups(gateway_index, owner, mutation, **given)
        check_payload(payload, self.model.change_group(owner, change))
        if what == "rename":
            found = self.model.groups[owner].groups.get(chosen[0])
            assert payload["group"] == (found and {"name": found.name})

    def _create_group(self, gateway_index: int, owner: int, name: str) -> None:
        """Create a group, which comes after the others."""
        payload = self._change_groups(gateway_index, owner, "createFollowGroup", name=name)
        if not self.model.is_here(owner):
            check_payload(payload, Outcome.ACCOUNT_NOT_ACTIVE)
            return
        check_payload(payload, Outcome.CREATED)
        groups, group = self.model.groups[owner].groups, payload["group"]["id"]
        assert payload["group"] == {
            "id": group,
            "name": name,
            "position": len(groups),
            "memberCount": 0,
        }
        assert group not in groups
        groups[group] = Group(name)

    def _group_of(self, owner: int, which: int) -> str:
        """One of the owner's groups, or one that does not exist."""
        groups = [*self.model.groups[owner].groups, f"group:{owner}:{GROUP - 1}"]
        return groups[which % len(groups)]

    def _change_groups(self, gateway_index: int, owner: int, mutation: str, **given: Any) -> Any:
        query = CHANGE_GROUP % (
            mutation[0].upper() + mutation[1:],
            mutation,
            GROUP_RESULTS[mutation],
        )
        gateway = self.deployment.gateways[gateway_index].gateway
        return self.deployment.run(gateway.data(query, owner, input=given))["payload"]

    @rule(question=st.builds(Question, gateways, viewers, some_users, some_users))
    def read_and_compare(self, question: Question) -> None:
        self._compare(question)

    @rule()
    def drain_everything(self) -> None:
        self.deployment.run(drain_all(self.deployment.stores))
        self.model.drain(USERS)

    @rule(whose=some_users)
    def drain_some_lanes(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await self.deployment.stores.jobs.lanes.drain.lane(lane)

        self.deployment.run(work())
        lanes = lanes_of(whose)
        self.model.drain([user for user in USERS if lane_of(UserId(user)) in lanes])

    @rule(whose=some_users)
    def apply_without_publishing(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await self.deployment.stores.jobs.lanes.outbox.apply(lane, 1000)

        self.deployment.run(work())

    @rule(choice=st.data(), what=st.sampled_from(["everything", "leases", "some keys"]))
    def lose_cached_keys(self, choice: st.DataObject, what: str) -> None:
        async def work() -> None:
            redis = self.deployment.stores.servers.redis
            if what == "everything":
                await unlink_all(redis, "*")
                return
            keys = [key async for found in redis.scan("kith:*", 1000) for key in found]
            leases = [key for key in keys if key.endswith(b":lease")]
            lost = leases if what == "leases" else sorted(set(keys) - set(leases))
            if what == "some keys":
                # A bit mask, so that the choice does not depend on what happens to be there.
                mask = choice.draw(st.integers(0, 2**24 - 1))
                lost = [key for bit, key in enumerate(lost) if mask >> bit % 24 & 1]
            if lost:
                await redis.pipe([(UNLINK, *lost)])

        self.deployment.run(work())

    @precondition(lambda self: self.pagination is None)
    @rule(kind=st.sampled_from(list(LISTS)), owner=users, viewer=viewers, backward=st.booleans())
    def begin_pagination(self, kind: str, owner: int, viewer: Viewer, backward: bool) -> None:
        expected = Onlooker(self.model, viewer, cached=True).certain(kind, owner)
        self.pagination = Pagination(kind, owner, viewer, backward, expected)

    @precondition(lambda self: self.pagination is not None)
    @rule(gateway_index=gateways, size=st.integers(1, 3))
    def read_next_page(self, gateway_index: int, size: int) -> None:
        """Read the next page, through any gateway."""
        pagination = self.pagination
        assert pagination is not None
        self.deployment.run(self._read_page(pagination, gateway_index, size))
        if pagination.ended:
            self.pagination = None
            unchanged_entries = [
                (since, user) for since, user in pagination.seen if user in pagination.expected
            ]
            assert unchanged_entries == sorted(unchanged_entries, reverse=not pagination.backward)
            assert {user: since for since, user in unchanged_entries} == pagination.expected, (
                "an entry is missing or repeated"
            )
            assert len(unchanged_entries) == len(pagination.expected)

    def teardown(self) -> None:
        self.drain_everything()
        for gateway_index in range(len(self.deployment.gateways)):
            for viewer in (None, SERVICE, *USERS[:2]):
                self._compare(Question(gateway_index, viewer))

    def _compare(self, question: Question) -> None:
        viewer = question.viewer
        onlooker = Onlooker(
            self.model, viewer, self.deployment.gateways[question.gateway_index].cached
        )
        answer = self.deployment.run(self._read(question))
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
            self._compare_groups(question.gateway_index, viewer)

    def _compare_groups(self, gateway_index: int, viewer: int) -> None:
        """Compare the viewer's groups with the model: they are current through every gateway."""
        members = self.model.members(viewer)
        lists = [f"g{place}: {MEMBERS % group}" for place, group in enumerate(members)]
        others = self.model.others(viewer)
        ids = [str(other) for other in others]
        gateway = self.deployment.gateways[gateway_index].gateway
        answer = self.deployment.run(
            gateway.data(GROUPS_OF % "".join(lists), viewer, id=str(viewer), others=ids)
        )
        groups = self.model.groups[viewer]
        assert answer["viewer"]["followGroups"] == [
            {
                "id": group,
                "name": groups.groups[group].name,
                "position": place,
                "memberCount": len(members[group]),
            }
            for place, group in enumerate(members)
        ]
        for place, entries in enumerate(members.values()):
            page = answer["user"][f"g{place}"]
            assert entries_of(page) == entries
            assert page["totalCount"] == len(entries)
        followed = partial(self.model.followed, viewer)
        assert [relation["groupIds"] for relation in answer["user"]["relationWith"]] == [
            groups.of(other, followed) for other in others
        ]

    def _as_service(self, gateway_index: int, mutation: str, user: int) -> Any:
        query = f"""mutation {{ payload: {mutation}(input: {{ userId: "{user}" }}) {{
            outcome userErrors {{ code }} }} }}"""
        return self.deployment.run(
            self.deployment.gateways[gateway_index].gateway.as_service.data(query)
        )["payload"]

    def _set_active(self, gateway_index: int, user: int, is_active: bool) -> None:
        """Update the model after an account became active or inactive."""
        self._set_privacy(
            gateway_index, user, replace(self.model.privacy[user][-1], present=is_active)
        )
        if self.pagination:
            self.pagination.expected.pop(user, None)

    def _set_privacy(self, gateway_index: int, user: int, privacy: Privacy) -> None:
        self.model.set_privacy(
            user, privacy, reached_caches=self.deployment.gateways[gateway_index].cached
        )
        if self.pagination and user in (self.pagination.owner, self.pagination.viewer):
            self.pagination.expected.clear()

    def _check_payload(
        self, gateway_index: int, pair: UserPair, payload: Any, decision: Decision
    ) -> None:
        """Compare a payload with the model. With caches, changes of the reverse edge and blocks are
        drained before the answer, so the model drains their lanes too."""
        check_outcome(payload, decision)
        self._check_edge(gateway_index, pair, decision.edge)
        self._check_edge(gateway_index, pair.reversed, decision.reverse)
        edge, reverse = self.model.now(pair), self.model.now(pair.reversed)
        result = (payload["relation"]["followedAt"], payload["relation"]["followedByAt"])
        is_here = self.model.is_here(pair.target)
        dates = (followed_at(edge), followed_at(reverse)) if is_here else (None, None)
        assert tuple(map(moment, result)) == dates
        if self.deployment.gateways[gateway_index].cached:
            drained_lanes = lanes_of(
                [
                    pair.source if step.is_reverse else pair.target
                    for step in decision.steps
                    if step.is_reverse or step.edge.kind is Kind.BLOCK
                ]
            )
            self.model.drain([user for user in USERS if lane_of(UserId(user)) in drained_lanes])

    def _check_edge(self, gateway_index: int, pair: UserPair, edge: Edge) -> None:
        """Compare the stored edge with the decision, and update the model."""
        previous = self.model.now(pair)
        stored = self.deployment.run(stored_edge(self.deployment.stores, pair))
        self.model.become(
            pair,
            edge,
            stored,
            reached_caches=self.deployment.gateways[gateway_index].cached,
        )
        if stored != previous:
            self._remove_changed(pair, Kind.BLOCK in (stored.kind, previous.kind))

    async def _read(self, question: Question) -> Any:
        gateway, viewer = self._caller(question.gateway_index, question.viewer)
        return await gateway.data(
            EVERYTHING,
            viewer,
            ids=[str(user) for user in question.ids],
            others=[str(user) for user in question.others],
            signedIn=viewer is not None,
        )

    async def _write(self, gateway_index: int, pair: UserPair, name: str, **more: str) -> Any:
        mutation, given, _ = ACTIONS[name]
        gateway, (source, target) = self.deployment.gateways[gateway_index].gateway, pair
        return await relationships.change(gateway, source, mutation, target, **given, **more)

    def _caller(self, gateway_index: int, viewer: Viewer) -> tuple[Gateway, int | None]:
        gateway = self.deployment.gateways[gateway_index].gateway
        return (gateway.as_service, None) if viewer == SERVICE else (gateway, viewer)

    async def _read_page(self, pagination: Pagination, gateway_index: int, size: int) -> None:
        date = "friendsSince" if pagination.kind == "friends" else "followedAt"
        ends = ("last", "before") if pagination.backward else ("first", "after")
        gateway, viewer = self._caller(gateway_index, pagination.viewer)
        page = (
            await gateway.data(
                PAGE % (pagination.kind, date),
                viewer,
                id=str(pagination.owner),
                **dict(zip(ends, (size, pagination.cursor), strict=True)),
            )
        )["user"]["page"]
        entries = entries_of(page)
        info = page["pageInfo"]
        assert len(entries) <= size
        assert entries == sorted(entries, reverse=True)
        pagination.seen += reversed(entries) if pagination.backward else entries
        pagination.cursor = info["startCursor" if pagination.backward else "endCursor"]
        pagination.ended = not info["hasPreviousPage" if pagination.backward else "hasNextPage"]
        assert pagination.ended or len(entries) == size, (
            "a page with too few entries has a next page"
        )

    def _remove_changed(self, pair: UserPair, blocks: bool) -> None:
        """Remove the users whom the pages need not contain after this change of an edge."""
        pagination = self.pagination
        if pagination is None:
            return
        if pair.source == pagination.owner and pagination.kind != "followers":
            pagination.expected.pop(pair.target, None)
        if pair.target == pagination.owner and pagination.kind != "following":
            pagination.expected.pop(pair.source, None)
        for viewer, other in permutations(pair):
            if viewer == pagination.viewer and other == pagination.owner:
                pagination.expected.clear()
            elif viewer == pagination.viewer and blocks:
                pagination.expected.pop(other, None)


def group_of(user: int) -> str:
    """The id of the group that the user has in the beginning."""
    return f"group:{user}:{GROUP}"


async def stored_edge(stores: Stores, pair: UserPair) -> Edge:
    rows = await stores.servers.postgres.fetch(
        "SELECT kind, flags, since, version FROM following "
        f"WHERE from_user_id = {pair.source} AND to_user_id = {pair.target}"
    )
    if not rows:
        return NO_EDGE
    ((kind, flags, since, version),) = rows
    return Edge(Kind(kind), Flags(flags), Millis(since), Version(version))


def lanes_of(targets: list[int]) -> set[Lane]:
    return {lane_of(UserId(user)) for user in targets}


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    return await asyncio.gather(*work)


async def erase_account(stores: Stores, user: UserId) -> None:
    """All batches of an erasure, and the drains that it waits for."""
    erasure = Erasure(
        stores.writes.edges,
        stores.jobs.accounts.erasures,
        stores.jobs.lanes.drain,
        stores.caches.updates,
        stores.jobs.periodic.affinity,
        in_flight_s=0,
    )
    for _ in range(20):
        if await erasure.erase_batch(user) is BatchResult.DONE:
            break
        await drain_all(stores)
    else:
        raise AssertionError("the erasure does not end")
    await drain_all(stores)


async def empty(stores: Stores) -> None:
    """Restore the state of the first example, which is cheaper than a new database for each: no
    edges, default settings and one group of each user, empty caches."""
    for table in TABLES:
        await stores.servers.postgres.fetch(f"DELETE FROM {table}")
    await stores.servers.postgres.fetch(INSERT_GROUPS, USERS)
    # The accounts are not deleted, because every process has read which ones are absent.
    await stores.servers.postgres.fetch(RESET_ACCOUNTS)
    await stores.servers.broker.pipe([("FLUSHDB",)])
    if stores.servers.redis is not stores.servers.broker:
        await stores.caches.updates.delete_all()


@contextmanager
def opened_deployment(storage: StorageSettings) -> Iterator[Deployment]:
    """Three gateways on one graph: with usual caches, with very small ones, and without Redis."""
    patient = replace(storage.connections, statement_timeout_s=60, acquire_timeout_s=60)
    storage = replace(
        storage, local=replace(storage.local, absent_age_ms=0), connections=patient
    )  # also on a busy machine
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
            yield Deployment(runner, stores, tuple(map(Endpoint, gateways, cached)))
        finally:
            runner.run(stack.aclose())


@pytest.fixture(params=["one server", pytest.param("a cluster", marks=pytest.mark.long)])
def deployment_settings(
    request: pytest.FixtureRequest, storage_settings: StorageSettings
) -> StorageSettings:
    """Settings with the caches in one Redis server, or in a cluster."""
    if request.param == "one server":
        return storage_settings
    return replace(
        storage_settings,
        cache=replace(storage_settings.cache, url=request.getfixturevalue("cluster").url),
    )


def test_the_service_answers_as_the_model_says(
    deployment_settings: StorageSettings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.ERROR, "storage")  # each write without Redis is a warning
    monkeypatch.setattr(write_through_edges, "DRAIN_S_MAX", 30)  # also on a busy machine
    profile = settings()
    chosen = settings(
        profile, max_examples=max(1, profile.max_examples // 4), stateful_step_count=30
    )
    with opened_deployment(deployment_settings) as deployment:
        machine = cast("type[Service]", partial(Service, deployment))  # it is only called
        run_state_machine_as_test(machine, settings=chosen)
