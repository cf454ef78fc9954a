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
InputDefinition = GraphQLArgument | GraphQLInputField


def fields_with_arguments() -> Iterator[tuple[str, str, GraphQLField]]:
    """The type, the name and the definition of each field."""
    for type_name in OPERATIONS:
        kind = TYPES[type_name]
        assert isinstance(kind, GraphQLObjectType)
        for name, field in kind.fields.items():
            if field.args:
                yield type_name, name, field


def is_required(definition: InputDefinition) -> bool:
    if isinstance(definition, GraphQLArgument):
        return is_required_argument(definition)
    return is_required_input_field(definition)


def is_optional(definition: InputDefinition) -> bool:
    """Whether it is nullable and has no default value but null."""
    return not is_required(definition) and definition.default_value in (None, Undefined)


def inputs_text(definitions: Mapping[str, InputDefinition], *, nulls: bool) -> str:
    """The GraphQL text of the required arguments or input fields, and null for the others if
    `nulls`."""
    values = {
        name: value_text(name, definition, nulls=nulls)
        for name, definition in definitions.items()
        if is_required(definition)
    }
    if nulls:
        optional = (name for name, definition in definitions.items() if is_optional(definition))
        values |= dict.fromkeys(optional, "null")
    return ", ".join(f"{name}: {text}" for name, text in values.items())


def value_text(name: str, definition: InputDefinition, *, nulls: bool) -> str:
    kind = get_named_type(definition.type)
    if not isinstance(kind, GraphQLInputObjectType):
        return VALUES[name]
    text = f"{{ {inputs_text(kind.fields, nulls=nulls)} }}"
    return text if name in ("input", "filter", "orderBy") else f"[{text}]"


def operation(
    type_name: str, name: str, field: GraphQLField, arguments: str, variables: str = ""
) -> str:
    """An operation that selects one field of a type with these arguments."""
    selected = f"{name}({arguments})" if arguments else name
    kind = get_named_type(field.type)
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        subfields = [one for one in ("totalCount", "outcome", "changed") if one in kind.fields]
        errors = "userErrors { code message field }" if "userErrors" in kind.fields else ""
        selected += f" {{ __typename {' '.join(subfields)} {errors} }}"
    elif name == "_entities":
        selected += " { __typename }"
    return OPERATIONS[type_name] % (f"({variables})" if variables else "", selected)


def operations_with_null(
    type_name: str, name: str, field: GraphQLField
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Operations and variables with null for all optional arguments: as literals, as omitted
    variables, as variables, and as the fields of an input object."""
    optional = {n: argument for n, argument in field.args.items() if is_optional(argument)}
    required = {n: argument for n, argument in field.args.items() if n not in optional}
    required_text = inputs_text(required, nulls=False)
    yield operation(type_name, name, field, inputs_text(field.args, nulls=True)), {}
    if optional:
        arguments = ", ".join(filter(None, [required_text, *(f"{n}: ${n}" for n in optional)]))
        variables = ", ".join(f"${n}: {argument.type}" for n, argument in optional.items())
        text = operation(type_name, name, field, arguments, variables)
        yield text, {}
        yield text, dict.fromkeys(optional)
    for n, argument in optional.items():
        if isinstance(get_named_type(argument.type), GraphQLInputObjectType):
            object_text = f"{n}: {value_text(n, argument, nulls=True)}"
            arguments = ", ".join(filter(None, [required_text, object_text]))
            yield operation(type_name, name, field, arguments), {}


@pytest.mark.parametrize("caller", ["user", "anonymous", "service"])
async def test_null_has_the_same_response_as_an_omitted_argument(
    gateway: Gateway, stores: Stores, caller: str
) -> None:
    await follows(stores, (2, 1), (1, 3), (3, 2), (3, 1), (1, 4), (4, 2))
    await drain_all(stores)
    caller_gateway = gateway.as_service if caller == "service" else gateway
    viewer = None if caller == "anonymous" else 1

    async def response_of(text: str, variables: dict[str, Any]) -> Any:
        response = await caller_gateway.answer(text, viewer, **variables)
        for error in response.get("errors", ()):
            del error["locations"]
        return response

    for type_name, name, field in fields_with_arguments():
        omitted = operation(type_name, name, field, inputs_text(field.args, nulls=False))
        if type_name == "Mutation":
            await response_of(omitted, {})  # the repeats below change nothing
        expected = await response_of(omitted, {})
        codes = {error["extensions"]["code"] for error in expected.get("errors", ())}
        assert codes <= {"UNAUTHENTICATED", "FORBIDDEN"}, expected
        for text, variables in operations_with_null(type_name, name, field):
            assert await response_of(text, variables) == expected, text
