"""A gateway as a subgraph of a federation router."""

from typing import Any

import pytest
from graphql import (
    GraphQLObjectType,
    ObjectTypeDefinitionNode,
    build_schema,
    parse,
    print_ast,
    specified_directives,
)

from resolvers.policy import Policy
from schema.federation import subgraph
from schema.schema import schema
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows

ENTITIES = """
query ($representations: [_Any!]!) {
  _entities(representations: $representations) {
    __typename ... on User { id followerCount viewerIsFollowing }
  }
}
"""
FEDERATION = """
directive @link(url: String!, import: [String!]!) on SCHEMA
directive @key(fields: String!) repeatable on OBJECT
directive @shareable on OBJECT
"""


def user(**key: Any) -> dict[str, Any]:
    return {"__typename": "User", **key}


async def test_entities_are_resolved_in_the_order_of_their_representations(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (3, 2))
    await drain_all(stores)
    representations = [user(id="2"), user(id=1, name="Ann"), user(id="2")]
    two = {"__typename": "User", "id": "2", "followerCount": 2, "viewerIsFollowing": True}
    one = {"__typename": "User", "id": "1", "followerCount": 0, "viewerIsFollowing": False}
    found = await gateway.data(ENTITIES, 1, representations=representations)
    assert found == {"_entities": [two, one, two]}
    assert (await gateway.data(ENTITIES, representations=[])) == {"_entities": []}


SHAPE_MESSAGE = (
    '`representations` must contain only references like { __typename: "User", id: "7" }.'
)


@pytest.mark.parametrize(
    ("representation", "message"),
    [
        (user(id="x"), 'accepts only user ids (decimal numbers from 1 to 2^63-1), got "x"'),
        (user(id=0), 'accepts only user ids (decimal numbers from 1 to 2^63-1), got "0"'),
        (user(id="nan"), 'accepts only user ids (decimal numbers from 1 to 2^63-1), got "nan"'),
        (user(), SHAPE_MESSAGE),
        (user(id=None), SHAPE_MESSAGE),
        (user(id=True), SHAPE_MESSAGE),
        (user(id=1.0), SHAPE_MESSAGE),
        (user(id={"a": 1}), SHAPE_MESSAGE),
        ({"__typename": "Post", "id": "2"}, SHAPE_MESSAGE),
        ({"id": "2"}, SHAPE_MESSAGE),
        ("2", SHAPE_MESSAGE),
    ],
)
async def test_an_invalid_representation_is_null_and_the_others_are_resolved(
    gateway: Gateway, representation: Any, message: str
) -> None:
    query = """query ($representations: [_Any!]!) {
        _entities(representations: $representations) { ... on User { id } } }"""
    response = await gateway.answer(
        query, representations=[user(id="2"), representation, user(id="3")]
    )
    assert response["data"] == {"_entities": [{"id": "2"}, None, {"id": "3"}]}
    (error,) = response["errors"]
    assert message in error["message"]
    assert error["path"] == ["_entities", 1]
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "representations"}


async def test_a_router_may_request_up_to_10000_entities_at_once(gateway: Gateway) -> None:
    entities_max = Policy().entities_max
    found = await gateway.data(ENTITIES, 1, representations=[user(id="2")] * entities_max)
    assert len(found["_entities"]) == entities_max
    error = await gateway.error(ENTITIES, representations=[user(id="2")] * (entities_max + 1))
    assert "must have at most 10000 entries, got 10001" in error["message"]
    assert error["path"] == ["_entities"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "representations"}


async def test_the_sdl_for_a_router_has_keys_and_no_fields_for_routers(gateway: Gateway) -> None:
    sdl = (await gateway.data("{ _service { sdl } }"))["_service"]["sdl"]
    assert sdl == subgraph(schema)
    first, *definitions = parse(sdl).definitions
    assert "federation/v2.0" in print_ast(first)
    directives = {
        definition.name.value: [print_ast(directive) for directive in definition.directives or ()]
        for definition in definitions
        if isinstance(definition, ObjectTypeDefinitionNode) and definition.directives
    }
    assert directives == {"User": ['@key(fields: "id")'], "PageInfo": ["@shareable"]}
    types = build_schema(FEDERATION + sdl)
    assert types.query_type is not None
    assert not [name for name in types.query_type.fields if name.startswith("_")]
    # Other subgraphs have these fields for their own objects, and subgraphs cannot share them.
    assert types.query_type.fields.keys().isdisjoint({"node", "nodes"})
    assert {"user", "users", "viewer", "relationsBetween"} <= types.query_type.fields.keys()
    assert isinstance(followers := types.type_map["FollowerConnection"], GraphQLObjectType)
    assert "nodes" in followers.fields
    assert not [name for name in types.type_map if name.startswith("_") and name[1] != "_"]
    assert len(types.directives) == len(specified_directives) + 3


@pytest.mark.parametrize(
    "query",
    [
        "{" + " ".join(f"a{n}: _service {{ sdl }}" for n in range(6)) + "}",
        "{ _service {" + " ".join(f"a{n}: sdl" for n in range(6)) + "} }",
    ],
)
async def test_an_operation_may_request_the_sdl_at_most_5_times(
    gateway: Gateway, query: str
) -> None:
    error = await gateway.error(query)
    assert error["extensions"] == {"code": "DOCUMENT_LIMIT_EXCEEDED"}
    assert "requests the schema 6 times; at most 5 are allowed" in error["message"]


async def test_a_missing_variable_in_a_list_of_references_is_an_error(gateway: Gateway) -> None:
    query = "query ($user: _Any!) { _entities(representations: [$user]) { __typename } }"
    response = await gateway.http.post("/graphql", json={"query": query})
    (error,) = response.json()["errors"]
    assert (response.status_code, error["extensions"]["code"]) == (400, "BAD_USER_INPUT")
    assert "non-null type '_Any!' to be provided" in error["message"]
