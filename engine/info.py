"""The `info` objects of resolvers."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
)
from graphql.pyutils import Path
from strawberry.execution import optimized_is_awaitable
from strawberry.types.field import StrawberryField
from strawberry.types.info import Info

from engine.run import Field, Run


class FieldInfo:
    """Replaces graphql-core's `GraphQLResolveInfo`, for a whole column of parents.

    `path` has no list indices. All but `context` are computed on access, because an instance is
    created for each field of each run.
    """

    __slots__ = ("_field", "_run", "context")

    is_awaitable = staticmethod(optimized_is_awaitable)
    abort_signal = None
    async_helpers = None
    operation_extensions = None

    def __init__(self, field: Field, run: Run) -> None:
        self._field = field
        self._run = run
        self.context = run.context  # the one attribute that nearly all resolvers use

    @property
    def field_name(self) -> str:
        return self._field.name

    @property
    def field_nodes(self) -> list[FieldNode]:
        return self._field.nodes

    @property
    def return_type(self) -> GraphQLOutputType:
        return self._field.definition.type

    @property
    def parent_type(self) -> GraphQLObjectType:
        return self._field.parent

    @property
    def path(self) -> Path:
        return self._field.path

    @property
    def schema(self) -> GraphQLSchema:
        return self._run.schema

    @property
    def fragments(self) -> dict[str, FragmentDefinitionNode]:
        return dict(self._run.operation.fragments)

    @property
    def root_value(self) -> Any:
        return self._run.root_rows[0]

    @property
    def operation(self) -> OperationDefinitionNode:
        return self._run.operation.node

    @property
    def variable_values(self) -> dict[str, Any]:
        return self._run.values.coerced


class ColumnInfo(Info[Any, Any]):
    """Strawberry's `Info` for a whole column of parents. Most resolvers use only `context`."""

    context: Any = None

    def __init__(self, field: Field, declared: StrawberryField, run: Run) -> None:
        self._selected = field
        self._field = declared
        self._run = run
        self.context = run.context

    @cached_property
    def _raw_info(self) -> Any:  # type: ignore[override]
        return FieldInfo(self._selected, self._run)


InfoFactory: TypeAlias = Callable[[Run], Info[Any, Any]]


def info_factory(
    info_class: type[Info[Any, Any]], declared: StrawberryField, field: Field
) -> InfoFactory:
    """Return a factory of the `info` of one field, of the schema's info class."""
    if info_class is Info:
        return partial(ColumnInfo, field, declared)

    def make_info(run: Run) -> Info[Any, Any]:
        raw_info: Any = FieldInfo(field, run)
        return info_class(raw_info, declared)

    return make_info
