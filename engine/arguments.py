"""The coerced arguments of one field."""

from collections.abc import Mapping
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
class Bound:
    """An argument given by exactly one variable."""

    name: str
    variable: str
    default: Any
    is_required: bool
    may_be_null: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one field of a document, by their GraphQL names."""

    definition: GraphQLField
    node: FieldNode
    constants: Mapping[str, Any]
    bound: tuple[Bound, ...]
    is_odd: bool
    """Whether graphql-core must coerce them on each run: literals that contain variables."""

    def coerced(self, values: Values) -> dict[str, Any]:
        """The values by GraphQL name.

        Raises GraphQLError if a value is invalid for its argument.
        """
        if self.is_odd:
            return self._by_graphql_core(values)
        coerced = dict(self.constants)
        for argument in self.bound:
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
        return get_argument_values(self.definition, self.node, values.exact())


def compiled_arguments(definition: GraphQLField, node: FieldNode) -> Arguments:
    """What can be computed about a field's arguments before the variables are known."""
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    constants: dict[str, Any] = {}
    bound: list[Bound] = []
    is_odd = False
    for name, argument in definition.args.items():
        literal = given.get(name)
        if isinstance(literal, VariableNode):
            bound.append(_bound(name, literal, argument))
        elif literal is not None and _has_variables(literal):
            is_odd = True
        else:
            value = _constant(literal, argument)
            is_odd |= value is Undefined and (literal is not None or is_required_argument(argument))
            constants |= {} if value is Undefined else {name: value}
    return Arguments(definition, node, constants, tuple(bound), is_odd)


def _bound(name: str, literal: VariableNode, argument: GraphQLArgument) -> Bound:
    default = coerce_default_value(argument)
    return Bound(
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


def _has_variables(literal: ValueNode) -> bool:
    if isinstance(literal, ListValueNode):
        return any(map(_has_variables, literal.values))
    if isinstance(literal, ObjectValueNode):
        return any(_has_variables(field.value) for field in literal.fields)
    return isinstance(literal, VariableNode)
