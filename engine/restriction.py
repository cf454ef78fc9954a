"""Restricts a query to some of its root fields."""

from dataclasses import replace

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)

from engine.compiled import Compiled
from engine.cost_compiler import OperationCost
from engine.plan import Operation


def restricted_to(operation: Operation, field_name: str) -> Operation:
    """The same operation with only the root fields of this name. `size`, `field_names` and
    `root_argument_names` stay those of the whole operation. What is compiled is cached with it."""
    found = operation.restricted.get(field_name)
    if found is None:
        found = operation.restricted[field_name] = _restricted(operation, field_name)
    return found


def _restricted(operation: Operation, field_name: str) -> Operation:
    definition = operation.node
    fragments = dict(operation.fragments)
    selections = _restrict(definition.selection_set, field_name, fragments, set())
    node: OperationDefinitionNode = replace(definition, selection_set=selections)
    costs: OperationCost = replace(
        operation.costs, fragments=fragments, node=node, constant=None, compiled=Compiled()
    )
    document = DocumentNode(definitions=(node, *fragments.values()))
    return replace(
        operation,
        document=document,
        fragments=fragments,
        node=node,
        costs=costs,
        plans=Compiled(),
        restricted={},
    )


def _restrict(
    selections: SelectionSetNode,
    field_name: str,
    fragments: dict[str, FragmentDefinitionNode],
    seen: set[str],
) -> SelectionSetNode:
    """The selections with only the fields of this name. Fragments stay where they are, because they
    may be skipped; those in `fragments` that are spread here are replaced by restricted ones.
    `seen`: the names of those that are replaced already."""
    chosen: list[SelectionNode] = []
    for node in selections.selections:
        if isinstance(node, FieldNode):
            if node.name.value == field_name:
                chosen.append(node)
            continue
        if isinstance(node, InlineFragmentNode):
            inner = _restrict(node.selection_set, field_name, fragments, seen)
            chosen.append(replace(node, selection_set=inner))
            continue
        assert isinstance(node, FragmentSpreadNode)
        chosen.append(node)
        name = node.name.value
        if name not in seen:
            seen.add(name)
            inner = _restrict(fragments[name].selection_set, field_name, fragments, seen)
            fragments[name] = replace(fragments[name], selection_set=inner)
    return replace(selections, selections=tuple(chosen))
