"""Secret changes of a user change no response to another user: every field is compared.

The questions are those of `test_never_readable`, which lists every field of the schema. A field
that is added to the schema is compared without a change of this module.
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
"""The user who acts, the user concerned, and an unconcerned one."""

ASKED = [question for question in QUERIES if not question.startswith(("{ node(", "{ nodes("))]
"""Without those that reach the same fields by `node`."""

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
PUT: list[Step] = [
    ("updateFollow", {**ON_TARGET, "closeFollow": True, "notify": "ALL"}),
    ("setPinnedFollowing", {"userIds": [str(TARGET)]}),
]
SECRETS: dict[str, tuple[list[Step], list[Step]]] = {
    "flags of a stranger": ([], FLAGS),
    "flags of a followed user": ([FOLLOW], [*FLAGS[:1], *FLAGS[2:], *PUT]),
    "a whisper": ([], [WHISPER, *PUT]),
    "the end of a whisper": ([WHISPER, *PUT], [UNFOLLOW]),
}
"""Secrets, each with what came before it."""


@pytest.fixture
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway that hides whispers, and answers questions about everything at once. Two responses
    must not differ because a change has become possible again between them."""
    policy = Policy(whispers_hidden=True, pace=Pace(interval_us=60_000_000, burst=300))
    async with running_gateway(storage_settings, policy, costs=ANY_COST) as running:
        yield running


@pytest.fixture
async def graph(stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (1, 5), (2, 5), (3, 5), (5, 2), (2, 6), (9, 1), (2, 1))
    await follows(stores, (3, 1), (6, 5), (9, 5), (5, 6), (6, 1))
    await drain_all(stores)


async def make(gateway: Gateway, stores: Stores, steps: Sequence[Step]) -> None:
    for mutation, given in steps:
        kind = mutation[0].upper() + mutation[1:]
        query = (
            f"mutation ($input: {kind}Input!) {{ made: {mutation}(input: $input) {{ changed }} }}"
        )
        assert (await gateway.data(query, ACTOR, input=given))["made"]["changed"]
    await drain_all(stores)


async def everything(gateway: Gateway) -> list[Any]:
    """The responses to all others, including errors."""
    return [
        (viewer, user, question[:40], await gateway.answer(about(question, user), viewer))
        for viewer, user in ((TARGET, ACTOR), (OTHER, ACTOR))
        for question in ASKED
    ]


def about(question: str, user: int) -> str:
    """The same question, about this user."""
    return question.replace('user(id: "1")', f'user(id: "{user}")')


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("secret", SECRETS)
async def test_a_secret_changes_no_answer_to_others(
    gateway: Gateway, stores: Stores, secret: str
) -> None:
    first, then = SECRETS[secret]
    await make(gateway, stores, first)
    before = await everything(gateway)
    await make(gateway, stores, then)
    after = await everything(gateway)
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
TWINS: list[tuple[Said, Said]] = [
    (NOTHING, WHISPER_EDGE),
    (NOTHING, (Kind.NONE, Flags.MUTED | Flags.DISMISSED)),
    ((Kind.FOLLOW, Flags.PLAIN), (Kind.FOLLOW, Flags.MUTED | Flags.CLOSE_FOLLOW | Flags.NOTIFY)),
    ((Kind.REQUEST, Flags.PLAIN), (Kind.REQUEST, Flags.WHISPER_REQUEST | Flags.MUTED)),
]
"""Edges to the viewer that the viewer must not be able to tell apart."""

TOKENS = {"undoToken", "version", "consistencyToken", "cursor"}

OWN = (Kind.NONE, Kind.FOLLOW, Kind.BLOCK)
"""The viewer's own edges to the same user."""


@dataclass(frozen=True)
class Case:
    """A viewer who makes a change towards a user, in one of two worlds."""

    mutation: str
    own: Kind
    edge: Said
    viewer: int

    @property
    def other(self) -> int:
        return self.viewer + 1

    async def result(self, gateway: Gateway) -> dict[str, Any]:
        """The payload, without what differs between any two changes."""
        given = {"userId": str(self.other), **MUTATIONS[self.mutation]}
        data = await gateway.data(document(self.mutation), self.viewer, input=given)
        return dict(timeless(data["payload"], self.viewer))


def timeless(result: Any, viewer: int, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves with ids relative to the viewer's; of dates and tokens, whether they are there."""
    name = path.rpartition(".")[2].partition("[")[0]
    if isinstance(result, Mapping):
        for key, value in result.items():
            yield from timeless(value, viewer, f"{path}.{key}")
    elif isinstance(result, list):
        for place, value in enumerate(result):
            yield from timeless(value, viewer, f"{path}[{place}]")
    elif name in TOKENS or name.endswith(("At", "Since", "Cursor")):
        yield path, result is not None
    elif isinstance(result, str):
        yield path, re.sub(r"\d{4,}", lambda found: str(int(found[0]) - viewer), result)
    else:
        yield path, result


@pytest.mark.parametrize("name", MUTATIONS)
async def test_a_secret_changes_no_result_of_a_mutation(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    numbers = count(1_000, 10)
    pairs = [
        (Case(name, own, first, next(numbers)), Case(name, own, second, next(numbers)))
        for own in OWN
        for first, second in TWINS
        if own is not Kind.BLOCK or (first == NOTHING and second[0] is Kind.NONE)
    ]
    cases = [case for pair in pairs for case in pair]
    await edges(stores, {(case.viewer, case.other): case.own for case in cases})
    await edges(stores, {(case.other, case.viewer): case.edge for case in cases})
    await drain_all(stores)
    for first_case, second_case in pairs:
        found = [await case.result(gateway) for case in (first_case, second_case)]
        assert not set(found[0].items()) ^ set(found[1].items()), second_case


def leaves(of: GraphQLNamedType, depth: int) -> str:
    """All fields of a type that need no arguments, and those below them; no lists of users, which
    would all be read at once."""
    if is_abstract_type(of):
        possible = TYPES.get_possible_types(of)
        return " ".join(f"... on {one.name} {{ {leaves(one, depth)} }}" for one in possible)
    assert isinstance(of, GraphQLObjectType)
    parts = ["__typename"]
    for name, field in of.fields.items():
        if any(map(is_required_argument, field.args.values())):
            continue
        below = get_named_type(field.type)
        if is_leaf_type(below):
            parts.append(name)
        elif depth and below.name not in TIME_DEPENDENT and not below.name.endswith("Connection"):
            parts.append(f"{name} {{ {leaves(below, depth - 1)} }}")
    return " ".join(parts)


def document(name: str) -> str:
    assert TYPES.mutation_type is not None
    payload = get_named_type(TYPES.mutation_type.fields[name].type)
    kind = name[0].upper() + name[1:]
    fields = leaves(payload, 3)
    return f"mutation ($input: {kind}Input!) {{ payload: {name}(input: $input) {{ {fields} }} }}"
