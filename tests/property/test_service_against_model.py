"""Whatever is done in whatever order, the service answers as a plain model says it may.

A longer run: `pytest --hypothesis-profile=long tests/property/test_service_against_model.py`.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

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

from graph.edge import MAX_USER_ID, UserId
from graph.lane import Lane, lane_of
from resolvers.scope import Limits
from storage.settings import StorageSettings
from storage.stores import Stores, open_stores
from tests.gateway import Gateway, running_gateway
from tests.graphs import drain_all
from tests.property.lagging_model import (
    Arrow,
    Entry,
    Model,
    Onlooker,
    State,
    check_list,
    check_total,
)
from workers.drain import drain

T = TypeVar("T")

USERS = (1, 2, 3, 7, 64, MAX_USER_ID)
KINDS = ("following", "followers", "friends")
LIMITS = Limits(following_max=4)

EVERYTHING = """
query ($ids: [ID!]!, $others: [ID!]!, $own: Boolean!) { users(ids: $ids) {
  id followingCount followerCount friendCount
  following(first: 100) { totalCount edges { since: followedAt node { id } } }
  followers(first: 100) { totalCount edges { since: followedAt node { id } } }
  friends(first: 100) { totalCount edges { since: friendsSince node { id } } }
  relationWith(ids: $others) { ...relation }
  viewerRelation @include(if: $own) { ...relation }
} }
fragment relation on Relation {
  from { id } to { id } state following followedBy followedAt followedByAt friendsSince
}
"""

CHANGE = """
mutation ($id: ID!) { change: %s(input: { userId: $id }) {
  outcome relation { following followedAt } userErrors { code }
} }
"""

PAGE = """
query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
  user(id: $id) { page: %s(first: $first, after: $after, last: $last, before: $before) {
    edges { since: %s node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  } }
}
"""

users = st.sampled_from((1, 1, 1, 2, 2, *USERS))  # some meet often
viewers = st.none() | users
some_users = st.lists(users, min_size=1, max_size=len(USERS), unique=True)
arrows = st.builds(Arrow, users, users).filter(lambda arrow: arrow.source != arrow.target)


@dataclass(frozen=True)
class Door:
    """A gateway, and whether it reaches the caches."""

    gateway: Gateway
    cached: bool


@dataclass(frozen=True)
class World:
    """One graph, and every way to it: only the loop is this machine's own."""

    runner: asyncio.Runner
    stores: Stores
    doors: tuple[Door, ...]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)


doors = st.sampled_from(["usual", "small caches", "no Redis"]).map(
    ["usual", "small caches", "no Redis"].index
)


@dataclass(frozen=True)
class Question:
    """Who asks where about whom; `own`: also for how they stand to all of them."""

    door: int
    viewer: int | None
    ids: Sequence[int] = USERS
    others: Sequence[int] = USERS
    own: bool = True


@dataclass
class Walk:
    """Somebody pages through a list, and may pause for as long as they like."""

    kind: str
    owner: int
    viewer: int | None
    backward: bool
    must: dict[int, datetime]
    """Who stood in the list when the walk began, and has not moved since."""
    cursor: str | None = None
    seen: list[Entry] = field(default_factory=list)
    ended: bool = False


class Service(RuleBasedStateMachine):
    """Rules act, compare what is answered at once, and the teardown compares everything."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.model = Model(USERS, LIMITS.following_max)
        self.walk: Walk | None = None

    @initialize()
    def begin(self) -> None:
        self.world.run(empty(self.world.stores))

    @rule(
        changes=st.lists(
            st.tuples(doors, arrows, st.sampled_from([True, True, False])),
            min_size=1,
            max_size=4,
            unique_by=lambda change: change[1].source,
        ),
        readers=st.lists(st.tuples(doors, viewers), max_size=2),
    )
    def change(
        self, changes: list[tuple[int, Arrow, bool]], readers: list[tuple[int, int | None]]
    ) -> None:
        """Several viewers write at once, while others read: those only fill caches as they race."""
        told = [self.model.outcome(arrow, wanted=wanted) for _, arrow, wanted in changes]
        answers = self.world.run(
            together(
                *(self._write(*change) for change in changes),
                *(self._read(Question(door, viewer)) for door, viewer in readers),
            )
        )
        for (door, arrow, _), outcome, answer in zip(changes, told, answers, strict=False):
            payload = answer["change"]
            assert payload["outcome"] == outcome
            relation = payload["relation"]
            state = moment(relation["followedAt"])
            assert relation["following"] == (state is not None)
            if outcome not in ("FOLLOWED", "UNFOLLOWED"):
                assert state == self.model.now(arrow)
                continue
            assert (outcome == "FOLLOWED") == (state is not None)
            self.model.change(arrow, state, told=self.world.doors[door].cached)
            self._moved(arrow)

    @rule(question=st.builds(Question, doors, viewers, some_users, some_users, st.booleans()))
    def look(self, question: Question) -> None:
        self._compare(question)

    @rule()
    def drain_everything(self) -> None:
        self.world.run(drain_all(self.world.stores))
        self.model.settle(USERS)

    @rule(whose=some_users)
    def drain_some_lanes(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await drain(
                    self.world.stores.outbox,
                    self.world.stores.caches,
                    self.world.stores.events,
                    lane,
                )

        self.world.run(work())
        lanes = lanes_of(whose)
        self.model.settle([user for user in USERS if lane_of(UserId(user)) in lanes])

    @rule(whose=some_users)
    def a_worker_dies_before_it_can_publish(self, whose: list[int]) -> None:
        async def work() -> None:
            for lane in lanes_of(whose):
                await self.world.stores.outbox.apply(lane, 1000)

        self.world.run(work())

    @rule(choice=st.data(), what=st.sampled_from(["everything", "leases", "some keys"]))
    def the_caches_lose(self, choice: st.DataObject, what: str) -> None:
        async def work() -> None:
            redis = self.world.stores.redis
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
    @rule(kind=st.sampled_from(KINDS), owner=users, viewer=viewers, backward=st.booleans())
    def begin_a_walk(self, kind: str, owner: int, viewer: int | None, backward: bool) -> None:
        possible = Onlooker(self.model, None, cached=True).entries(kind, owner)
        must = {
            user: state
            for user, states in possible.items()
            for state in states
            if len(states) == 1 and state is not None
        }
        self.walk = Walk(kind, owner, viewer, backward, must)

    @precondition(lambda self: self.walk is not None)
    @rule(door=doors, size=st.integers(1, 3))
    def walk_on(self, door: int, size: int) -> None:
        """One page more, through whichever gateway."""
        walk = self.walk
        assert walk is not None
        self.world.run(self._turn_page(walk, door, size))
        if walk.ended:
            self.walk = None
            stayed = [(since, user) for since, user in walk.seen if user in walk.must]
            assert stayed == sorted(stayed, reverse=not walk.backward)
            assert {user: since for since, user in stayed} == walk.must, "a gap, or a repeat"
            assert len(stayed) == len(walk.must)

    def teardown(self) -> None:
        self.drain_everything()
        for door in range(len(self.world.doors)):
            for viewer in (None, *USERS[:2]):
                self._compare(Question(door, viewer))

    def _compare(self, question: Question) -> None:
        viewer = question.viewer
        onlooker = Onlooker(self.model, viewer, self.world.doors[question.door].cached)
        answer = self.world.run(self._read(question))
        for user, shown in zip(question.ids, answer["users"], strict=True):
            assert shown["id"] == str(user)
            for kind, total in zip(KINDS, ("following", "follower", "friend"), strict=True):
                compare_list(onlooker, kind, user, shown[kind], shown[f"{total}Count"])
            for other, relation in zip(question.others, shown["relationWith"], strict=True):
                compare_relation(onlooker, user, other, relation)
            if question.own and viewer is not None:
                compare_relation(onlooker, viewer, user, shown["viewerRelation"])
            elif question.own:
                assert shown["viewerRelation"] is None

    async def _read(self, question: Question) -> Any:
        return await self.world.doors[question.door].gateway.data(
            EVERYTHING,
            question.viewer,
            ids=[str(user) for user in question.ids],
            others=[str(user) for user in question.others],
            own=question.own,
        )

    async def _write(self, door: int, arrow: Arrow, wanted: bool) -> Any:
        query = CHANGE % ("followUser" if wanted else "unfollowUser")
        gateway = self.world.doors[door].gateway
        return await gateway.data(query, arrow.source, id=str(arrow.target))

    async def _turn_page(self, walk: Walk, door: int, size: int) -> None:
        date = "friendsSince" if walk.kind == "friends" else "followedAt"
        ends = ("last", "before") if walk.backward else ("first", "after")
        page = (
            await self.world.doors[door].gateway.data(
                PAGE % (walk.kind, date),
                walk.viewer,
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

    def _moved(self, arrow: Arrow) -> None:
        walk = self.walk
        if walk is None:
            return
        if arrow.source == walk.owner and walk.kind != "followers":
            walk.must.pop(arrow.target, None)
        if arrow.target == walk.owner and walk.kind != "following":
            walk.must.pop(arrow.source, None)


def compare_list(onlooker: Onlooker, kind: str, user: int, page: Any, total: int) -> None:
    possible = onlooker.entries(kind, user)
    check_list(entries_of(page), possible)
    assert page["totalCount"] == total
    if kind != "friends" or onlooker.knows_all_of(user):
        check_total(total, possible.values())
    else:
        # The sum of what both sides added: while one lags, it may be off by what is on its way.
        assert total >= 0


def compare_relation(onlooker: Onlooker, user: int, other: int, shown: Any) -> None:
    assert (shown["from"]["id"], shown["to"]["id"]) == (str(user), str(other))
    since, back_since = moment(shown["followedAt"]), moment(shown["followedByAt"])
    both = [since, back_since] if since and back_since else []
    assert shown["following"] == (since is not None)
    assert shown["followedBy"] == (back_since is not None)
    assert moment(shown["friendsSince"]) == max(both, default=None)
    if user == other:
        assert (shown["state"], since, back_since) == ("SELF", None, None)
        return
    names = {(True, True): "FRIENDS", (True, False): "FOLLOWING", (False, True): "FOLLOWED_BY"}
    assert shown["state"] == names.get((bool(since), bool(back_since)), "NONE")
    ahead, behind = onlooker.relation(user, other)
    assert since in ahead, (user, other, since, ahead)
    assert back_since in behind, (user, other, back_since, behind)


def entries_of(page: Any) -> list[Entry]:
    return [(datetime.fromisoformat(e["since"]), int(e["node"]["id"])) for e in page["edges"]]


def moment(text: str | None) -> State:
    return None if text is None else datetime.fromisoformat(text)


def lanes_of(targets: list[int]) -> set[Lane]:
    return {lane_of(UserId(user)) for user in targets}


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    return await asyncio.gather(*work)


async def empty(stores: Stores) -> None:
    """A graph without edges: cheaper than a new database for every example."""
    for table in ("following", "follower", "following_count", "follower_count", "outbox"):
        await stores.postgres.fetch(f"DELETE FROM {table}")
    await stores.redis.pipe([("FLUSHDB",)])


@contextmanager
def opened_world(storage: StorageSettings) -> Iterator[World]:
    """Three gateways on one graph: a usual one, one to whom everybody is a whale, and one alone."""
    kinds = (
        storage,
        replace(storage, relation_cache_max=2, list_cache_max=2),
        replace(storage, redis_url="unix:///nowhere.sock"),
    )

    async def enter(stack: AsyncExitStack) -> tuple[Stores, list[Gateway]]:
        opened = [await stack.enter_async_context(running_gateway(k, LIMITS)) for k in kinds]
        return await stack.enter_async_context(open_stores(storage)), opened

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            stores, gateways = runner.run(enter(stack))
            cached = (kind.redis_url == storage.redis_url for kind in kinds)
            yield World(runner, stores, tuple(map(Door, gateways, cached)))
        finally:
            runner.run(stack.aclose())


def test_the_service_answers_as_the_model_says(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "storage")  # each write without Redis is a warning
    profile = settings()
    chosen = settings(
        profile, max_examples=max(1, profile.max_examples // 4), stateful_step_count=30
    )
    with opened_world(storage_settings) as world:
        machine = cast("type[Service]", partial(Service, world))  # called, and nothing else
        run_state_machine_as_test(machine, settings=chosen)
