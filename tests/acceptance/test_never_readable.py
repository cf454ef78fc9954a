"""No field of the schema reveals how close users are: closeness only orders suggestions.

The questions ask everything that the schema can answer, as the schema itself lists it: a field that
is added tomorrow is asked too, or the test fails and names what it needs for that.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    is_required_argument,
)

from schema.schema import schema
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import ANY_COST, Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.interactions import interaction, record

TYPES = schema._schema

GIVEN = {
    "id": '"1"',
    "ids": '["1", "2", "3", "5", "6", "9"]',
    "with": '"5"',
    "pairs": '[{from: "1", to: "5"}]',
    "first": "10",
    "representations": '[{__typename: "User", id: "1"}]',
}
"""The values of arguments, by name. Others keep their defaults."""

CLOCKS = {"ListFreshness"}
"""Types with the time of the request, which always differs."""

NOT_FOR_VIEWERS = {"BulkOperation"}
"""Types for services that do not act for a user. They contain no relations."""

WORDS_MAX = 900
"""About as many fields are allowed in one document."""


def asking(of: str, name: str, field: GraphQLField, path: tuple[str, ...]) -> str:
    """A field and all that is below it; of a type that was met on the way, only the leaves."""
    required = [a for a, of in field.args.items() if is_required_argument(of)]
    assert GIVEN.keys() >= set(required), f"{of}.{name}: what is to be given as {required}?"
    given = ", ".join(
        f"{argument}: {GIVEN[argument]}" for argument in field.args if argument in GIVEN
    )
    call = f"{name}({given})" if given else name
    below = get_named_type(field.type)
    if below.name in CLOCKS | NOT_FOR_VIEWERS:
        return ""
    if is_leaf_type(below):
        return call
    fields = selection(below, path)
    return f"{call} {{ {fields} }}" if fields else ""


def selection(of: GraphQLNamedType, path: tuple[str, ...]) -> str:
    if is_abstract_type(of):
        possible = TYPES.get_possible_types(of)
        return " ".join(f"... on {one.name} {{ {selection(one, path)} }}" for one in possible)
    assert isinstance(of, GraphQLObjectType)
    asked = [
        asking(of.name, name, field, (*path, of.name))
        for name, field in of.fields.items()
        if of.name not in path or is_leaf_type(get_named_type(field.type))
    ]
    return " ".join(filter(None, asked))


def questions(of: GraphQLNamedType, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The query of `selection`, in parts that are small enough for one document each."""
    if is_abstract_type(of):
        for one in TYPES.get_possible_types(of):
            yield from (f"... on {one.name} {{ {part} }}" for part in questions(one, path))
        return
    assert isinstance(of, GraphQLObjectType)
    for name, field in of.fields.items():
        below = get_named_type(field.type)
        if of.name in path and not is_leaf_type(below):
            continue
        whole = asking(of.name, name, field, (*path, of.name))
        if len(whole.split()) < WORDS_MAX:
            yield whole
            continue
        call, _, _ = whole.partition(" {")
        yield from (f"{call} {{ {part} }}" for part in questions(below, (*path, of.name)))


assert TYPES.query_type is not None
QUESTIONS = [f"{{ {part} }}" for part in questions(TYPES.query_type) if part]


async def everything(gateway: Gateway, viewer: int | None) -> list[Any]:
    """The responses to a service that acts for the viewer: the viewer's, and a little more."""
    return [await gateway.as_service.data(question, viewer) for question in QUESTIONS]


def test_everything_is_asked() -> None:
    text = "".join(QUESTIONS)
    asked = (
        "cursor",
        "knownFollowerCount",
        "suggestions(first: 10)",
        "... on User {",
        "endCursor",
    )
    assert all(part in text for part in asked)


def unordered(answers: list[Any]) -> list[Any]:
    """The answers, with the viewer's suggestions in the order of their users."""
    for answer in answers:
        suggestions = (answer.get("viewer") or {}).get("suggestions", {})
        suggestions.get("edges", []).sort(key=lambda edge: edge["node"]["user"]["id"])
        suggestions.get("nodes", []).sort(key=lambda node: node["user"]["id"])
        for end in ("startCursor", "endCursor"):
            suggestions.get("pageInfo", {}).pop(end, None)
    return answers


ORDER = "{ viewer { suggestions { nodes { user { id } } } } }"


async def order(gateway: Gateway) -> list[int]:
    nodes = (await gateway.data(ORDER, 1))["viewer"]["suggestions"]["nodes"]
    return [int(node["user"]["id"]) for node in nodes]


@pytest.fixture
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway that answers questions about everything at once."""
    async with running_gateway(storage_settings, costs=ANY_COST) as running:
        yield running


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Suggestions of both kinds, friends, and lists of all sorts."""
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (2, 6), (9, 1), (2, 1))
    await follows(stores, (3, 1), (4, 8), (2, 3), (5, 6), (6, 1))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_closeness_changes_no_answer_but_the_order_of_suggestions(gateway: Gateway) -> None:
    before = await everything(gateway, 1)
    others = [await everything(gateway, viewer) for viewer in (2, 6)]
    suggested = await order(gateway)
    assert len(suggested) == 4
    for place, user in enumerate(suggested):  # the last becomes the closest
        await record(gateway, interaction(1, user, count=1 + 10 * place))
    # Whom the viewer follows is now close in an order that is neither one of ids nor of dates.
    await record(gateway, *(interaction(1, o, count=n) for o, n in ((3, 30), (2, 20), (4, 10))))
    after = await everything(gateway, 1)
    assert await order(gateway) == suggested[::-1]
    assert after != before
    assert unordered(after) == unordered(before)
    assert [await everything(gateway, viewer) for viewer in (2, 6)] == others


@pytest.mark.usefixtures("graph")
async def test_not_even_a_service_can_read_it(gateway: Gateway) -> None:
    before = await everything(gateway, None)
    await record(gateway, interaction(1, 5, count=100), interaction(2, 6))
    assert await everything(gateway, None) == before


def test_no_name_in_the_contract_promises_it() -> None:
    names = {
        name.lower()
        for one in TYPES.type_map.values()
        if isinstance(one, GraphQLObjectType)
        for name in (one.name, *one.fields)
    }
    for word in ("affinity", "rank", "score", "closeness", "strength", "weight"):
        assert not [name for name in names if word in name]
