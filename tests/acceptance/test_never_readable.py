"""No field of the contract tells how close anybody is: closeness only orders suggestions.

The questions ask everything that the schema can answer, as the schema itself lists it: a field that
is added tomorrow is asked too, or the test says what it needs to be told for that.
"""

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
from storage.stores import Stores
from tests.gateway import Gateway
from tests.graphs import drain_all, follows
from tests.services import interaction, record, service_answer

TYPES = schema._schema

GIVEN = {"id": '"1"', "ids": '["1", "2", "3", "5", "6", "9"]', "first": "10"}
"""What arguments are given, by their names; others keep their defaults."""


def asking(of: str, name: str, field: GraphQLField, path: tuple[str, ...]) -> str:
    """A field and all that is below it; of a type that was met on the way, only the leaves."""
    required = [a for a, of in field.args.items() if is_required_argument(of)]
    assert GIVEN.keys() >= set(required), f"{of}.{name}: what is to be given as {required}?"
    given = ", ".join(
        f"{argument}: {GIVEN[argument]}" for argument in field.args if argument in GIVEN
    )
    call = f"{name}({given})" if given else name
    below = get_named_type(field.type)
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


QUERY = TYPES.query_type
assert QUERY is not None
QUESTIONS = [
    f"{{ {asking('Query', name, field, ('Query',))} }}" for name, field in QUERY.fields.items()
]
"""One a field of the root."""


async def everything(gateway: Gateway, viewer: int) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for question in QUESTIONS:
        answers |= await gateway.data(question, viewer)
    return answers


def test_everything_is_asked() -> None:
    text = "".join(QUESTIONS)
    asked = (
        "cursor",
        "knownFollowerCount",
        "suggestions(first: 10)",
        "... on User { id",
        "endCursor",
    )
    assert all(part in text for part in asked)


def unordered(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, with the viewer's suggestions in the order of their users."""
    suggestions = answer["viewer"]["suggestions"]
    suggestions["edges"].sort(key=lambda edge: edge["node"]["user"]["id"])
    suggestions["nodes"].sort(key=lambda node: node["user"]["id"])
    del suggestions["pageInfo"]["startCursor"], suggestions["pageInfo"]["endCursor"]
    return answer


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
    order = [node["user"]["id"] for node in before["viewer"]["suggestions"]["nodes"]]
    assert len(order) == 4
    ends = before["viewer"]["suggestions"]["pageInfo"]
    for place, user in enumerate(order):  # the last becomes the closest
        await record(gateway, interaction(1, int(user), count=1 + 10 * place))
    # Whom the viewer follows is now close in an order that is neither one of ids nor of dates.
    await record(gateway, *(interaction(1, o, count=n) for o, n in ((3, 30), (2, 20), (4, 10))))
    after = await everything(gateway, 1)
    assert [node["user"]["id"] for node in after["viewer"]["suggestions"]["nodes"]] == order[::-1]
    ends_after = after["viewer"]["suggestions"]["pageInfo"]
    assert (ends_after["startCursor"], ends_after["endCursor"]) == (
        ends["endCursor"],
        ends["startCursor"],
    )
    assert unordered(after) == unordered(before)
    assert [await everything(gateway, viewer) for viewer in (2, 6)] == others


@pytest.mark.usefixtures("graph")
async def test_not_even_a_service_can_read_it(gateway: Gateway) -> None:
    async def asked() -> list[Any]:
        answers = [await service_answer(gateway, question) for question in QUESTIONS]
        assert not [answer for answer in answers if "errors" in answer]
        return answers

    before = await asked()
    await record(gateway, interaction(1, 5, count=100), interaction(2, 6))
    assert await asked() == before


def test_no_name_in_the_contract_promises_it() -> None:
    names = {
        name.lower()
        for one in TYPES.type_map.values()
        if isinstance(one, GraphQLObjectType)
        for name in (one.name, *one.fields)
    }
    for word in ("affinity", "rank", "score", "closeness", "strength", "weight"):
        assert not [name for name in names if word in name]
