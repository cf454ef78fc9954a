"""Hidden changes by a user change no response to another user: every field is compared.

The queries are those of `test_never_readable`, which select every field of the schema. So new
fields are compared, too.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
from graphql import (
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    is_required_argument,
)

from graph.edge import Flags, Kind, UserId
from graph.pace import Pace
from resolvers import live
from resolvers.policy import Policy
from resolvers.scope import Scope
from storage.ports.reader import Consistency
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_never_readable import QUERIES, TIME_DEPENDENT, TYPES
from tests.support.edges import KindAndFlags, edges
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.waiting import until

ACTOR, TARGET, OTHER = 5, 1, 6
"""The user who makes a hidden change, the user whom it concerns, and another user."""

WITNESS = 77
"""A user without relations."""

COMPARED_QUERIES = [query for query in QUERIES if not query.startswith(("{ node(", "{ nodes("))]
"""Without the queries that reach the same fields by `node` and `nodes`."""

HIDING = Policy(
    whispers_hidden=True, pace=Pace(interval_us=60_000_000, burst=300), counts_every_s=0.01
)
"""Whispers are hidden from their targets. The limits of changes refill slowly: two responses must
not differ because a limit has refilled between them."""

HIDE_LISTS = """mutation { updateRelationshipSettings(input: {
  followingAudience: ONLY_ME, followersAudience: ONLY_ME }) { outcome } }"""

Step = tuple[str, dict[str, Any]]

ON_TARGET = {"userId": str(TARGET)}
FOLLOW: Step = ("followUser", ON_TARGET)
UNFOLLOW: Step = ("unfollowUser", ON_TARGET)
WHISPER: Step = ("followUser", {**ON_TARGET, "visibility": "WHISPER"})
FLAGS: list[Step] = [
    ("muteUser", ON_TARGET),
    ("dismissSuggestion", ON_TARGET),
    ("setNote", {**ON_TARGET, "note": "?"}),
    ("markFollowersSeen", {}),
]
FOLLOW_DETAILS: list[Step] = [
    ("updateFollow", {**ON_TARGET, "closeFollow": True, "notify": "ALL"}),
    ("setPinnedFollowing", {"userIds": [str(TARGET)]}),
]
HIDDEN_CHANGES: dict[str, tuple[list[Step], list[Step]]] = {
    "flags of a user who is not followed": ([], FLAGS),
    "flags of a followed user": ([FOLLOW], [*FLAGS[:1], *FLAGS[2:], *FOLLOW_DETAILS]),
    "a whisper": ([], [WHISPER, *FOLLOW_DETAILS]),
    "the end of a whisper": ([WHISPER, *FOLLOW_DETAILS], [UNFOLLOW]),
}
"""By name: steps that prepare the state, and the steps that are hidden from others."""


@pytest.fixture
def storage_settings(storage_settings: StorageSettings) -> StorageSettings:
    """Stores that hide whispers."""
    events = replace(storage_settings.events, whispers_hidden=True)
    return replace(storage_settings, events=events)


@pytest.fixture
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway that hides whispers, without a limit of costs."""
    async with running_gateway(storage_settings, HIDING, costs=ANY_COST) as running:
        yield running


@pytest.fixture
async def graph(stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (1, 5), (2, 5), (3, 5), (5, 2), (2, 6), (9, 1), (2, 1))
    await follows(stores, (3, 1), (6, 5), (9, 5), (5, 6), (6, 1))
    await drain_all(stores)


async def run_steps(gateway: Gateway, stores: Stores, steps: Sequence[Step]) -> None:
    for mutation, given in steps:
        kind = mutation[0].upper() + mutation[1:]
        query = (
            f"mutation ($input: {kind}Input!) {{ made: {mutation}(input: $input) {{ changed }} }}"
        )
        assert (await gateway.data(query, ACTOR, input=given))["made"]["changed"]
    await drain_all(stores)


async def all_responses(gateway: Gateway) -> list[Any]:
    """The responses to the other users about `ACTOR`, including errors."""
    return [
        (viewer, user, query[:40], await gateway.answer(for_user(query, user), viewer))
        for viewer, user in ((TARGET, ACTOR), (OTHER, ACTOR))
        for query in COMPARED_QUERIES
    ]


def for_user(query: str, user: int) -> str:
    """The same query, about this user."""
    return query.replace('user(id: "1")', f'user(id: "{user}")')


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", HIDDEN_CHANGES)
async def test_a_hidden_change_changes_no_response_to_others(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    preparation, hidden_steps = HIDDEN_CHANGES[name]
    await run_steps(gateway, stores, preparation)
    before = await all_responses(gateway)
    await run_steps(gateway, stores, hidden_steps)
    after = await all_responses(gateway)
    for old, new in zip(before, after, strict=True):
        assert new == old


Live = AsyncGenerator[object, None]


class LiveReader:
    """A subscription, and what its viewer is charged for reads that find no change."""

    def __init__(self, stores: Stores, viewer: int, opened: Callable[[Scope], Live]) -> None:
        scope = Scope(stores, UserId(viewer), HIDING, consistency=Consistency.FRESH)
        self.charged: list[int] = []
        scope.debit = self.charged.append
        self.results = opened(scope)
        self.received = 0

    async def read(self) -> None:
        async for _ in self.results:
            self.received += 1


@asynccontextmanager
async def live_readers(stores: Stores, viewers: Sequence[int]) -> AsyncIterator[list[LiveReader]]:
    """Subscriptions of the viewers to what the actor's changes may concern, each after its first
    result."""
    readers = [
        LiveReader(stores, viewer, opened)
        for viewer in viewers
        for opened in (
            lambda scope: live.counts_changed(scope, UserId(ACTOR)),
            lambda scope: live.counts_changed(scope, UserId(TARGET)),
            lambda scope: live.relation_changed(scope, [UserId(ACTOR)]),
        )
    ]
    async with AsyncExitStack() as stack:
        for reader in readers:
            await stack.enter_async_context(aclosing(reader.results))
        tasks = [asyncio.create_task(reader.read()) for reader in readers]

        async def all_have_begun() -> bool:
            return all(reader.received for reader in readers)

        try:
            await until(all_have_begun)
            yield readers
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def assert_nothing_noticed(stores: Stores, readers: Sequence[LiveReader]) -> None:
    """Assert that no reader was charged, or received more than its first result.

    Notifications arrive in order: when a reader of a later change has been charged for it, those
    before it have arrived.
    """
    last = LiveReader(stores, WITNESS, lambda scope: live.relation_changed(scope, [UserId(TARGET)]))

    async def is_charged() -> bool:
        return bool(last.charged)

    async with aclosing(last.results):
        reading = asyncio.create_task(last.read())
        await until(lambda: has_begun(last))
        await follows(stores, (WITNESS, WITNESS + 1))
        await drain_all(stores)
        await until(is_charged)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert [reader.charged for reader in readers] == [[]] * len(readers)
    assert [reader.received for reader in readers] == [1] * len(readers)


async def has_begun(reader: LiveReader) -> bool:
    return bool(reader.received)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", HIDDEN_CHANGES)
async def test_a_hidden_change_charges_no_subscriber(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    preparation, hidden_steps = HIDDEN_CHANGES[name]
    await run_steps(gateway, stores, preparation)
    async with live_readers(stores, (TARGET, OTHER)) as readers:
        await run_steps(gateway, stores, hidden_steps)
        await assert_nothing_noticed(stores, readers)


@pytest.mark.usefixtures("graph")
async def test_a_change_in_lists_that_a_subscriber_may_not_open_charges_nothing(
    gateway: Gateway, stores: Stores
) -> None:
    for user in (ACTOR, TARGET):
        await gateway.data(HIDE_LISTS, user)
    block, unblock = ("blockUser", ON_TARGET), ("unblockUser", ON_TARGET)
    async with live_readers(stores, [OTHER]) as readers:
        await run_steps(gateway, stores, [FOLLOW, block, unblock])
        await assert_nothing_noticed(stores, readers)


@pytest.mark.usefixtures("graph")
async def test_a_block_of_a_stranger_charges_no_subscriber(
    gateway: Gateway, stores: Stores
) -> None:
    """A blocked user may learn that the blocker's counts are hidden, and nothing if they were."""
    await gateway.data(HIDE_LISTS, ACTOR)
    stranger = 8
    async with live_readers(stores, [stranger]) as readers:
        for mutation in ("blockUser", "unblockUser"):
            await run_steps(gateway, stores, [(mutation, {"userId": str(stranger)})])
        await assert_nothing_noticed(stores, readers)


MUTATIONS: dict[str, dict[str, Any]] = {
    "followUser": {},
    "unfollowUser": {},
    "updateFollow": {"closeFollow": True},
    "removeFollower": {},
    "acceptFollowRequest": {},
    "declineFollowRequest": {},
    "cancelFollowRequest": {},
    "blockUser": {},
    "unblockUser": {},
    "muteUser": {},
    "unmuteUser": {},
    "dismissSuggestion": {},
    "setNote": {"note": "x"},
}
"""The mutations that name a user."""

NOTHING, WHISPER_EDGE = (Kind.NONE, Flags.PLAIN), (Kind.WHISPER, Flags.CLOSE_FOLLOW)
INDISTINGUISHABLE: list[tuple[KindAndFlags, KindAndFlags]] = [
    (NOTHING, WHISPER_EDGE),
    (NOTHING, (Kind.NONE, Flags.MUTED | Flags.DISMISSED)),
    ((Kind.FOLLOW, Flags.PLAIN), (Kind.FOLLOW, Flags.MUTED | Flags.CLOSE_FOLLOW | Flags.NOTIFY)),
    ((Kind.REQUEST, Flags.PLAIN), (Kind.REQUEST, Flags.WHISPER_REQUEST | Flags.MUTED)),
]
"""Edges to the viewer that the viewer must not be able to tell apart."""

TOKENS = {"undoToken", "version", "consistencyToken", "cursor"}

OWN_KINDS = (Kind.NONE, Kind.FOLLOW, Kind.BLOCK)
"""The viewer's own edges to the same user."""


@dataclass(frozen=True)
class Case:
    """A mutation by which a viewer changes the relationship to the user with the next id."""

    mutation: str
    own: Kind
    """The kind of the viewer's edge to the other user."""
    edge: KindAndFlags
    """The other user's edge to the viewer."""
    viewer: int

    @property
    def other(self) -> int:
        return self.viewer + 1

    async def result(self, gateway: Gateway) -> dict[str, Any]:
        """The leaves of the payload that can be compared between two viewers, by path."""
        given = {"userId": str(self.other), **MUTATIONS[self.mutation]}
        data = await gateway.data(document(self.mutation), self.viewer, input=given)
        return dict(comparable_leaves(data["payload"], self.viewer))


def comparable_leaves(result: Any, viewer: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, leaf) of a result. Ids are relative to the viewer's. Of dates and tokens, the leaf is
    whether they are present."""
    name = path.rpartition(".")[2].partition("[")[0]
    if isinstance(result, Mapping):
        for key, value in result.items():
            yield from comparable_leaves(value, viewer, f"{path}.{key}")
    elif isinstance(result, list):
        for index, value in enumerate(result):
            yield from comparable_leaves(value, viewer, f"{path}[{index}]")
    elif name in TOKENS or name.endswith(("At", "Since", "Cursor")):
        yield path, result is not None
    elif isinstance(result, str):
        yield path, re.sub(r"\d{4,}", lambda found: str(int(found[0]) - viewer), result)
    else:
        yield path, result


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_hidden_edge_changes_no_result_of_a_mutation(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    numbers = count(1_000, 10)
    pairs = [
        (Case(name, own, first, next(numbers)), Case(name, own, second, next(numbers)))
        for own in OWN_KINDS
        for first, second in INDISTINGUISHABLE
        if own is not Kind.BLOCK or (first == NOTHING and second[0] is Kind.NONE)
    ]
    cases = [case for pair in pairs for case in pair]
    await edges(stores, {(case.viewer, case.other): case.own for case in cases})
    await edges(stores, {(case.other, case.viewer): case.edge for case in cases})
    await drain_all(stores)
    for first_case, second_case in pairs:
        found = [await case.result(gateway) for case in (first_case, second_case)]
        assert not set(found[0].items()) ^ set(found[1].items()), second_case


def argument_free_fields(of: GraphQLNamedType, depth: int) -> str:
    """All fields of a type without required arguments, with their subfields to this depth. Without
    connections, so that not all lists are read."""
    if is_abstract_type(of):
        possible = TYPES.get_possible_types(of)
        return " ".join(
            f"... on {one.name} {{ {argument_free_fields(one, depth)} }}" for one in possible
        )
    assert isinstance(of, GraphQLObjectType)
    parts = ["__typename"]
    for name, field in of.fields.items():
        if any(map(is_required_argument, field.args.values())):
            continue
        below = get_named_type(field.type)
        if is_leaf_type(below):
            parts.append(name)
        elif depth and below.name not in TIME_DEPENDENT and not below.name.endswith("Connection"):
            parts.append(f"{name} {{ {argument_free_fields(below, depth - 1)} }}")
    return " ".join(parts)


def document(name: str) -> str:
    assert TYPES.mutation_type is not None
    payload = get_named_type(TYPES.mutation_type.fields[name].type)
    kind = name[0].upper() + name[1:]
    fields = argument_free_fields(payload, 3)
    return f"mutation ($input: {kind}Input!) {{ payload: {name}(input: $input) {{ {fields} }} }}"
