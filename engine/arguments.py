"""The coerced arguments of one field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    FieldNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLNonNull,
    ListValueNode,
    ObjectValueNode,
    Undefined,
    ValueNode,
    VariableNode,
    is_required_argument,
)
from graphql.execution.values import get_argument_values
from graphql.utilities.coerce_input_value import coerce_default_value, coerce_input_literal

from engine.variables import ABSENT, Values


@dataclass(frozen=True, slots=True)
class VariableArgument:
    """An argument given by exactly one variable."""

    name: str
    variable: str
    default: Any
    """`ABSENT` if there is none."""
    is_required: bool
    may_be_null: bool


@dataclass(frozen=True, slots=True)
class FieldArguments:
    """The arguments of one field of a document, by their GraphQL names."""

    definition: GraphQLField
    node: FieldNode
    constants: Mapping[str, Any]
    variable_arguments: tuple[VariableArgument, ...]
    variables: tuple[str, ...]
    """All variables in the arguments, also those inside literals."""
    needs_graphql_core: bool
    """Whether graphql-core must coerce them on each run: a literal contains a variable or is
    invalid, or a required argument is missing."""

    def coerced(self, values: Values) -> dict[str, Any]:
        """The values by GraphQL name.

        Raises GraphQLError if a value is invalid for its argument.
        """
        if self.needs_graphql_core:
            return self._by_graphql_core(values)
        coerced = dict(self.constants)
        for argument in self.variable_arguments:
            value = values.coerced.get(argument.variable, ABSENT)
            if value is ABSENT:
                value = argument.default
            if (value is ABSENT and argument.is_required) or (
                value is None and not argument.may_be_null
            ):
                return self._by_graphql_core(values)
            if value is not ABSENT:
                coerced[argument.name] = value
        return coerced

    def _by_graphql_core(self, values: Values) -> dict[str, Any]:
        return get_argument_values(
            self.definition, self.node, values.as_graphql_core(self.variables)
        )


def compile_arguments(definition: GraphQLField, node: FieldNode) -> FieldArguments:
    """The part of a field's arguments that can be computed before the variables are known."""
    literals = {argument.name.value: argument.value for argument in node.arguments or ()}
    constants: dict[str, Any] = {}
    variable_arguments: list[VariableArgument] = []
    variables = [name for value in literals.values() for name in _variables_in(value)]
    needs_graphql_core = False
    for name, argument in definition.args.items():
        literal = literals.get(name)
        if isinstance(literal, VariableNode):
            variable_arguments.append(_variable_argument(name, literal, argument))
        elif literal is not None and any(_variables_in(literal)):
            needs_graphql_core = True
        else:
            value = _constant(literal, argument)
            needs_graphql_core |= value is Undefined and (
                literal is not None or is_required_argument(argument)
            )
            constants |= {} if value is Undefined else {name: value}
    return FieldArguments(
        definition,
        node,
        constants,
        tuple(variable_arguments),
        tuple(dict.fromkeys(variables)),
        needs_graphql_core,
    )


def _variable_argument(
    name: str, literal: VariableNode, argument: GraphQLArgument
) -> VariableArgument:
    default = coerce_default_value(argument)
    return VariableArgument(
        name,
        literal.name.value,
        ABSENT if default is Undefined else default,
        is_required_argument(argument),
        not isinstance(argument.type, GraphQLNonNull),
    )


def _constant(literal: ValueNode | None, argument: GraphQLArgument) -> Any:
    """The value of a literal or default; Undefined if graphql-core must report an error."""
    try:
        if literal is None:
            return coerce_default_value(argument)
        return coerce_input_literal(literal, argument.type)
    except Exception:
        return Undefined


def _variables_in(literal: ValueNode) -> Iterator[str]:
    """The names of the variables in a literal, at any depth; a name may be repeated."""
    if isinstance(literal, ListValueNode):
        for value in literal.values:
            yield from _variables_in(value)
    elif isinstance(literal, ObjectValueNode):
        for field in literal.fields:
            yield from _variables_in(field.value)
    elif isinstance(literal, VariableNode):
        yield literal.name.value
