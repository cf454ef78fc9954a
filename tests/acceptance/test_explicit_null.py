"""An argument or an input field that is null means the same as one that is omitted."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    Undefined,
    get_named_type,
    is_required_argument,
    is_required_input_field,
)

from schema.schema import schema
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows

TYPES = schema._schema.type_map
VALUES = {
    "id": '"1"',
    "userId": '"5"',
    "viewerId": '"1"',
    "with": '"3"',
    "from": '"1"',
    "to": '"2"',
    "ids": '["2", "3"]',
    "undoToken": '"none"',
    "name": '"Work"',
    "groupId": '"group:1:7"',
    "groupIds": '["group:1:7"]',
    "userIds": '["3"]',
    "kind": "LIKED",
    "action": "FOLLOW",
    "representations": '[{__typename: "User", id: "1"}]',
}
"""A value for each argument and input field that is required."""

OPERATIONS = {
    "Query": "query %s { %s }",
    "User": 'query %s { user(id: "1") { %s } }',
    "Viewer": "query %s { viewer { %s } }",
    "Mutation": "mutation %s { %s }",
}
Given = GraphQLArgument | GraphQLInputField


def fields() -> Iterator[tuple[str, str, GraphQLField]]:
    for name in OPERATIONS:
        kind = TYPES[name]
        assert isinstance(kind, GraphQLObjectType)
        yield from ((name, field, of) for field, of in kind.fields.items() if of.args)


def is_required(of: Given) -> bool:
    if isinstance(of, GraphQLArgument):
        return is_required_argument(of)
    return is_required_input_field(of)


def is_optional(of: Given) -> bool:
    return not is_required(of) and of.default_value in (None, Undefined)


def written(given: Mapping[str, Given], *, nulls: bool) -> str:
    """The required arguments or fields, and null for all others if `nulls`."""
    values = {name: value(name, of, nulls=nulls) for name, of in given.items() if is_required(of)}
    if nulls:
        values |= {name: "null" for name, of in given.items() if is_optional(of)}
    return ", ".join(f"{name}: {text}" for name, text in values.items())


def value(name: str, of: Given, *, nulls: bool) -> str:
    kind = get_named_type(of.type)
    if not isinstance(kind, GraphQLInputObjectType):
        return VALUES[name]
    text = f"{{ {written(kind.fields, nulls=nulls)} }}"
    return text if name in ("input", "filter", "orderBy") else f"[{text}]"


def operation(on: str, name: str, of: GraphQLField, given: str, variables: str = "") -> str:
    selected = f"{name}({given})" if given else name
    kind = get_named_type(of.type)
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        shown = [field for field in ("totalCount", "outcome", "changed") if field in kind.fields]
        errors = "userErrors { code message field }" if "userErrors" in kind.fields else ""
        selected += f" {{ __typename {' '.join(shown)} {errors} }}"
    elif name == "_entities":
        selected += " { __typename }"
    return OPERATIONS[on] % (f"({variables})" if variables else "", selected)


def spellings(on: str, name: str, of: GraphQLField) -> Iterator[tuple[str, dict[str, Any]]]:
    """The operation with all its optional arguments null, in each way that GraphQL has."""
    optional = {argument: a for argument, a in of.args.items() if is_optional(a)}
    rest = written({n: a for n, a in of.args.items() if n not in optional}, nulls=False)
    yield operation(on, name, of, written(of.args, nulls=True)), {}
    if optional:
        given = ", ".join(filter(None, [rest, *(f"{n}: ${n}" for n in optional)]))
        variables = ", ".join(f"${n}: {a.type}" for n, a in optional.items())
        text = operation(on, name, of, given, variables)
        yield text, {}
        yield text, dict.fromkeys(optional)
    for argument, a in optional.items():
        if isinstance(get_named_type(a.type), GraphQLInputObjectType):
            given = f"{argument}: {value(argument, a, nulls=True)}"
            yield operation(on, name, of, ", ".join(filter(None, [rest, given]))), {}


@pytest.mark.parametrize("asker", ["user", "nobody", "service"])
async def test_null_is_the_same_as_nothing(gateway: Gateway, stores: Stores, asker: str) -> None:
    await follows(stores, (2, 1), (1, 3), (3, 2), (3, 1), (1, 4), (4, 2))
    await drain_all(stores)
    asked = gateway.as_service if asker == "service" else gateway
    viewer = None if asker == "nobody" else 1

    async def answer(text: str, variables: dict[str, Any]) -> Any:
        found = await asked.answer(text, viewer, **variables)
        for error in found.get("errors", ()):
            del error["locations"]
        return found

    for on, name, of in fields():
        omitted = operation(on, name, of, written(of.args, nulls=False))
        if on == "Mutation":
            await answer(omitted, {})  # the next ones change nothing
        expected = await answer(omitted, {})
        codes = {error["extensions"]["code"] for error in expected.get("errors", ())}
        assert codes <= {"UNAUTHENTICATED", "FORBIDDEN"}, expected
        for text, variables in spellings(on, name, of):
            assert await answer(text, variables) == expected, text
