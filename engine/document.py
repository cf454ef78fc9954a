"""Valid documents and their operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    OperationDefinitionNode,
    OperationType,
    Undefined,
    ValueNode,
    value_from_ast_untyped,
)

from engine.cache import LruCache
from engine.errors import Unsupported
from engine.result import RequestError, Stage
from engine.size import Measure
from engine.variables import InvalidVariables, Variables

if TYPE_CHECKING:
    from engine.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A valid document."""

    node: DocumentNode
    operations: Mapping[str | None, "Operation"]
    """By name. None: the one to run if no name is given."""

    def operation(self, name: str | None) -> "Operation":
        """The operation with this name.

        Raises RequestError with graphql-core's message.
        """
        operation = self.operations.get(name)
        if operation is not None:
            return operation
        if name is not None:
            message = f"Unknown operation named '{name}'."
        elif self.operations:
            message = "Must provide operation name if query contains multiple operations."
        else:
            message = "Must provide an operation."
        raise RequestError(Stage.OPERATION, [GraphQLError(message)])


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of a valid document, with its compiled plans."""

    document: DocumentNode
    fragments: Mapping[str, FragmentDefinitionNode]
    node: OperationDefinitionNode
    kind: OperationType
    variables: Variables
    switches: tuple[str, ...]
    """The variables in @skip and @include: each combination of their values has its own plan."""

    measure: Measure
    root_arguments: Mapping[str, list[ValueNode]]
    """The arguments of the root's fields, by argument name, including skipped fields."""
    plans: "LruCache[tuple[bool, ...], Plan | Unsupported]" = field(repr=False)

    @property
    def name(self) -> str | None:
        return self.node.name.value if self.node.name else None

    def root_argument_values(self, argument: str, variables: Mapping[str, Any]) -> list[Any]:
        """The values of a leaf argument of the root's fields, before the operation runs, without
        nulls. Empty if the variables are invalid: running the operation reports why.
        """
        nodes = self.root_arguments.get(argument)
        if not nodes:
            return []
        try:
            coerced = self.variables.coerce(variables).coerced
        except InvalidVariables:
            return []
        values = (value_from_ast_untyped(node, coerced) for node in nodes)
        return [value for value in values if value is not None and value is not Undefined]

    def selects(self, field_name: str) -> bool:
        """Whether its document selects fields with this name, at any depth."""
        return field_name in self.measure.written
