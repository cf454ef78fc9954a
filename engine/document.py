"""The operations of valid documents, as far as they are known from the syntax."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    Undefined,
    ValueNode,
    value_from_ast_untyped,
)

from engine.document_size import DocumentSize
from engine.variables import InvalidVariables, Variables


@dataclass(frozen=True, slots=True, eq=False)
class OperationDefinition:
    """One operation of a valid document."""

    document: DocumentNode
    fragments: Mapping[str, FragmentDefinitionNode]
    node: OperationDefinitionNode
    kind: OperationType
    variables: Variables
    conditions: tuple[str, ...]
    """The variables in @skip and @include."""

    size: DocumentSize
    field_names: Set[str]
    """The names of all fields of its document, at any depth."""

    root_arguments: Mapping[str, list[ValueNode]]
    """The arguments of the root fields, by argument name, including skipped fields."""

    @property
    def name(self) -> str | None:
        return self.node.name.value if self.node.name else None

    def root_argument_values(self, argument: str, variables: Mapping[str, Any]) -> list[Any]:
        """The values of a leaf argument of the root fields, before the operation runs, without
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


def root_arguments(
    selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Mapping[str, list[ValueNode]]:
    """All arguments of the root fields of a valid operation, by name."""
    values: defaultdict[str, list[ValueNode]] = defaultdict(list)
    for field in root_fields(selections, fragments):
        for argument in field.arguments or ():
            values[argument.name.value].append(argument.value)
    return dict(values)


def root_fields(
    selections: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    seen: set[str] | None = None,
) -> Iterator[FieldNode]:
    """Yield the root fields. Those of a fragment are yielded once, however often it is spread."""
    seen = set() if seen is None else seen
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node
        elif isinstance(node, InlineFragmentNode):
            yield from root_fields(node.selection_set, fragments, seen)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
            seen.add(node.name.value)
            yield from root_fields(fragments[node.name.value].selection_set, fragments, seen)
