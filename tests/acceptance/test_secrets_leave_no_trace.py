"""Hidden changes by a user change no response to another user: every field is compared.

The queries are those of `test_never_readable`, which select every field of the schema. So new
fields are compared, too.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
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

from graph.edge import Flags, Kind
from graph.pace import Pace
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_never_readable import QUERIES, TIME_DEPENDENT, TYPES
from tests.support.edges import Said, edges
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all, follows

ACTOR, TARGET, OTHER = 5, 1, 6
"""The user who makes a hidden change, the user whom it concerns, and another user."""

COMPARED_QUERIES = [query for query in QUERIES if not query.startswith(("{ node(", "{ nodes("))]
"""Without the queries that reach the same fields by `node` and `nodes`."""

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
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway that hides whispers, without a limit of costs. The limits of changes refill slowly:
    two responses must not differ because a limit has refilled between them."""
    policy = Policy(whispers_hidden=True, pace=Pace(interval_us=60_000_000, burst=300))
    async with running_gateway(storage_settings, policy, costs=ANY_COST) as running:
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
INDISTINGUISHABLE: list[tuple[Said, Said]] = [
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
    edge: Said
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
