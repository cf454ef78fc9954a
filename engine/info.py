"""What a resolver may ask about its field. Knows plans and runs, decides nothing."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from engine.plan import Field
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
