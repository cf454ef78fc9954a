"""What a resolver may ask about its field. Knows plans and runs, decides nothing."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias

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

if TYPE_CHECKING:
    from engine.field import Field
    from engine.run import Run


class FieldInfo:
    """Stands for graphql-core's `GraphQLResolveInfo`, but for a whole column of parents.

    So `path` has no list indices. The rest is read only when it is asked for: making one for each
    field of each run must cost nothing.
    """

    __slots__ = ("_field", "_run", "context")

    is_awaitable = staticmethod(optimized_is_awaitable)
    abort_signal = None
    async_helpers = None
    operation_extensions = None

    def __init__(self, field: "Field", run: "Run") -> None:
        self._field = field
        self._run = run
        self.context = run.context  # what nearly all resolvers want

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
        return self._run.root

    @property
    def operation(self) -> OperationDefinitionNode:
        return self._run.operation.node

    @property
    def variable_values(self) -> dict[str, Any]:
        return self._run.values.coerced


class ColumnInfo(Info[Any, Any]):
    """Strawberry's `Info` for a whole column of parents; most are asked for their context alone."""

    context: Any = None

    def __init__(self, field: "Field", declared: StrawberryField, run: "Run") -> None:
        self._place = field
        self._field = declared
        self._run = run
        self.context = run.context

    @cached_property
    def _raw_info(self) -> Any:  # type: ignore[override]
        return FieldInfo(self._place, self._run)


InfoOf: TypeAlias = "Callable[[Run], Info[Any, Any]]"


def info_maker(
    info_class: type[Info[Any, Any]], declared: StrawberryField, field: "Field"
) -> InfoOf:
    """What makes the `info` of one field of a plan, of the class that the schema wants."""
    if info_class is Info:
        return partial(ColumnInfo, field, declared)

    def of(run: "Run") -> Info[Any, Any]:
        like_graphql_cores: Any = FieldInfo(field, run)
        return info_class(like_graphql_cores, declared)

    return of
