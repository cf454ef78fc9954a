"""The operations of valid documents, as far as they are known from the syntax."""

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
    value_from_ast_untyped,
)

from engine.conditions import may_be_included
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

    root_argument_names: Set[str]
    """The names of the arguments of all root fields, including skipped ones."""

    @property
    def name(self) -> str | None:
        return self.node.name.value if self.node.name else None

    def root_argument_values(self, name: str, variables: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the values of a leaf argument of the root fields that are not skipped, without
        nulls. Yields nothing if the variables are invalid: running the operation reports why.
        """
        if name not in self.root_argument_names:
            return
        try:
            coerced = self.variables.coerce(variables).coerced
        except InvalidVariables:
            return
        for field in root_fields(self.node.selection_set, self.fragments, coerced):
            for argument in field.arguments or ():
                if argument.name.value == name:
                    value = value_from_ast_untyped(argument.value, coerced)
                    if value is not None and value is not Undefined:
                        yield value


def root_argument_names(
    selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Set[str]:
    """The names of the arguments of the root fields of a valid operation."""
    return {
        argument.name.value
        for field in root_fields(selections, fragments, {})
        for argument in field.arguments or ()
    }


def root_fields(
    selections: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    seen: set[str] | None = None,
) -> Iterator[FieldNode]:
    """Yield the root fields that are not skipped with these variables; if a variable is missing,
    none is skipped because of it. Those of a fragment are yielded once, however often it is
    spread."""
    seen = set() if seen is None else seen
    for node in selections.selections:
        if not may_be_included(node, variables):
            continue
        if isinstance(node, FieldNode):
            yield node
        elif isinstance(node, InlineFragmentNode):
            yield from root_fields(node.selection_set, fragments, variables, seen)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
            seen.add(node.name.value)
            inner = fragments[node.name.value].selection_set
            yield from root_fields(inner, fragments, variables, seen)
