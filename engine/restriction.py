"""Restricts a query to some of its root fields."""

from dataclasses import replace

from graphql import DocumentNode, OperationDefinitionNode

from engine.compiled import Compiled
from engine.cost_compiler import OperationCost
from engine.document import root_fields
from engine.plan import Operation


def restricted_to(operation: Operation, field_name: str) -> Operation:
    """The same operation with only the root fields of this name. `size`, `field_names` and
    `root_arguments` stay those of the whole operation. What is compiled is cached with it."""
    found = operation.restricted.get(field_name)
    if found is None:
        found = operation.restricted[field_name] = _restricted(operation, field_name)
    return found


def _restricted(operation: Operation, field_name: str) -> Operation:
    definition = operation.node
    fields = root_fields(definition.selection_set, operation.fragments)
    chosen = tuple(field for field in fields if field.name.value == field_name)
    selections = replace(definition.selection_set, selections=chosen)
    node: OperationDefinitionNode = replace(definition, selection_set=selections)
    costs: OperationCost = replace(operation.costs, node=node, constant=None, compiled=Compiled())
    document = DocumentNode(definitions=(node, *operation.fragments.values()))
    return replace(
        operation, document=document, node=node, costs=costs, plans=Compiled(), restricted={}
    )
