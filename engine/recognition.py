"""Recognition: find the object type of each row."""

from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLAbstractType,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    default_type_resolver,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetails
from graphql.pyutils import inspect

from engine.faults import bail_out_of_awaitables
from engine.field import Field
from engine.info import FieldInfo
from engine.rows import decided_by_class, speaks_for_all


@dataclass(frozen=True, slots=True)
class Recognition:
    """Finds the object type of rows declared as an object, interface or union."""

    declared: GraphQLObjectType | GraphQLAbstractType
    judge: Executor[Any]
    """Checks the names that type resolvers return, and raises graphql-core's errors."""

    by_class: bool
    """Whether the Python class of a row determines its type."""

    def object_type(self, row: Any, field: Field, info: FieldInfo) -> GraphQLObjectType:
        """The type of one row.

        Raises graphql-core's error for a row of no type or of a wrong one.
        """
        told: Any = info  # it has the attributes of graphql-core's own info
        declared = self.declared
        if isinstance(declared, GraphQLObjectType):
            object_type = declared
        else:
            name = _known((declared.resolve_type or default_type_resolver)(row, told, declared))
            nodes = [FieldDetails(node, None) for node in field.nodes]
            object_type = self.judge.ensure_valid_runtime_type(name, declared, nodes, told, row)
        if object_type.is_type_of is not None and not _known(object_type.is_type_of(row, told)):
            message = f"Expected value of type '{object_type}' but got: {inspect(row)}."
            raise GraphQLError(message, field.nodes)
        return object_type

    def is_decided_by_class_of(self, row: Any) -> bool:
        """Whether all rows of this row's class have the same object type."""
        if isinstance(self.declared, GraphQLObjectType) and self.declared.is_type_of is None:
            return True
        return self.by_class and speaks_for_all(type(row))


def recognition(
    declared: GraphQLObjectType | GraphQLAbstractType, schema: GraphQLSchema, judge: Executor[Any]
) -> Recognition:
    """The recognition of rows of this declared type."""
    if isinstance(declared, GraphQLObjectType):
        return Recognition(declared, judge, decided_by_class(declared))
    definition = declared.extensions.get("strawberry-definition")
    has_own_rule = getattr(definition, "resolve_type", None) is not None
    members = schema.get_possible_types(declared)
    return Recognition(declared, judge, not has_own_rule and all(map(decided_by_class, members)))


def _known(verdict: Any) -> Any:
    bail_out_of_awaitables([verdict])
    return verdict
