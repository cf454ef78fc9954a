"""No field of the schema reveals affinities: by default, they only order suggestions.

The queries select every field that the schema has, so new fields are included. If a new field
requires an argument without a value in `ARGUMENTS`, the import of this module fails and names it.
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

ARGUMENTS = {
    "id": '"1"',
    "ids": '["1", "2", "3", "5", "6", "9"]',
    "with": '"5"',
    "pairs": '[{from: "1", to: "5"}]',
    "first": "10",
    "representations": '[{__typename: "User", id: "1"}]',
}
"""The values of arguments, by name. Others keep their defaults."""

TIME_DEPENDENT = {"ListFreshness"}
"""Types that contain the time of the request, which always differs."""

SERVICE_ONLY = {"BulkOperation"}
"""Types for services that do not act for a user. They contain no relations."""

WORDS_MAX = 900
"""The most words of one document: about the number of fields that the parser allows."""


def field_query(of: str, name: str, field: GraphQLField, path: tuple[str, ...]) -> str:
    """A field with all its subfields. Of a type that is in `path` already, only the leaf fields."""
    required = [a for a, of in field.args.items() if is_required_argument(of)]
    assert ARGUMENTS.keys() >= set(required), f"{of}.{name}: add values of {required} to ARGUMENTS"
    given = ", ".join(
        f"{argument}: {ARGUMENTS[argument]}" for argument in field.args if argument in ARGUMENTS
    )
    call = f"{name}({given})" if given else name
    below = get_named_type(field.type)
    if below.name in TIME_DEPENDENT | SERVICE_ONLY:
        return ""
    if is_leaf_type(below):
        return call
    fields = selection_set(below, path)
    return f"{call} {{ {fields} }}" if fields else ""


def selection_set(of: GraphQLNamedType, path: tuple[str, ...]) -> str:
    if is_abstract_type(of):
        possible = TYPES.get_possible_types(of)
        return " ".join(f"... on {one.name} {{ {selection_set(one, path)} }}" for one in possible)
    assert isinstance(of, GraphQLObjectType)
    asked = [
        field_query(of.name, name, field, (*path, of.name))
        for name, field in of.fields.items()
        if of.name not in path or is_leaf_type(get_named_type(field.type))
    ]
    return " ".join(filter(None, asked))


def queries(of: GraphQLNamedType, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The selection set of a type, in parts that are small enough for one document each."""
    if is_abstract_type(of):
        for one in TYPES.get_possible_types(of):
            yield from (f"... on {one.name} {{ {part} }}" for part in queries(one, path))
        return
    assert isinstance(of, GraphQLObjectType)
    for name, field in of.fields.items():
        below = get_named_type(field.type)
        if of.name in path and not is_leaf_type(below):
            continue
        whole = field_query(of.name, name, field, (*path, of.name))
        if len(whole.split()) < WORDS_MAX:
            yield whole
            continue
        call, _, _ = whole.partition(" {")
        yield from (f"{call} {{ {part} }}" for part in queries(below, (*path, of.name)))


assert TYPES.query_type is not None
QUERIES = [f"{{ {part} }}" for part in queries(TYPES.query_type) if part]


async def all_responses(gateway: Gateway, viewer: int | None) -> list[Any]:
    """The responses to all queries of a service that acts for `viewer`, who would see less."""
    return [await gateway.as_service.data(query, viewer) for query in QUERIES]


def test_the_queries_include_fields_of_all_kinds() -> None:
    text = "".join(QUERIES)
    asked = (
        "cursor",
        "knownFollowerCount",
        "suggestions(first: 10)",
        "... on User {",
        "endCursor",
    )
    assert all(part in text for part in asked)


def unordered(responses: list[Any]) -> list[Any]:
    """The responses, with the viewer's suggestions sorted by user."""
    for response in responses:
        suggestions = (response.get("viewer") or {}).get("suggestions", {})
        suggestions.get("edges", []).sort(key=lambda edge: edge["node"]["user"]["id"])
        suggestions.get("nodes", []).sort(key=lambda node: node["user"]["id"])
        for end in ("startCursor", "endCursor"):
            suggestions.get("pageInfo", {}).pop(end, None)
    return responses


SUGGESTIONS = "{ viewer { suggestions { nodes { user { id } } } } }"


async def suggested_users(gateway: Gateway) -> list[int]:
    nodes = (await gateway.data(SUGGESTIONS, 1))["viewer"]["suggestions"]["nodes"]
    return [int(node["user"]["id"]) for node in nodes]


@pytest.fixture
async def gateway(storage_settings: StorageSettings) -> AsyncIterator[Gateway]:
    """A gateway without a limit of costs."""
    async with running_gateway(storage_settings, costs=ANY_COST) as running:
        yield running


@pytest.fixture
async def graph(stores: Stores) -> None:
    """A graph with suggestions for both reasons, friends, and entries in all lists."""
    await follows(stores, (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5), (2, 6), (9, 1), (2, 1))
    await follows(stores, (3, 1), (4, 8), (2, 3), (5, 6), (6, 1))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_affinities_change_no_response_except_the_order_of_suggestions(
    gateway: Gateway,
) -> None:
    before = await all_responses(gateway, 1)
    others = [await all_responses(gateway, viewer) for viewer in (2, 6)]
    suggested = await suggested_users(gateway)
    assert len(suggested) == 4
    for index, user in enumerate(suggested):  # the last becomes the closest
        await record(gateway, interaction(1, user, count=1 + 10 * index))
    # The followed users get an order of affinity that differs from the orders by id and by date.
    await record(gateway, *(interaction(1, o, count=n) for o, n in ((3, 30), (2, 20), (4, 10))))
    after = await all_responses(gateway, 1)
    assert await suggested_users(gateway) == suggested[::-1]
    assert after != before
    assert unordered(after) == unordered(before)
    assert [await all_responses(gateway, viewer) for viewer in (2, 6)] == others


@pytest.mark.usefixtures("graph")
async def test_affinities_change_no_response_to_a_service_without_a_viewer(
    gateway: Gateway,
) -> None:
    before = await all_responses(gateway, None)
    await record(gateway, interaction(1, 5, count=100), interaction(2, 6))
    assert await all_responses(gateway, None) == before


def test_no_type_or_field_is_named_after_affinity() -> None:
    names = {
        name.lower()
        for one in TYPES.type_map.values()
        if isinstance(one, GraphQLObjectType)
        for name in (one.name, *one.fields)
    }
    for word in ("affinity", "rank", "score", "closeness", "strength", "weight"):
        assert not [name for name in names if word in name]
