"""Arguments of the root's fields, from the syntax alone."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionSetNode,
    ValueNode,
)


def root_arguments(
    selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Mapping[str, list[ValueNode]]:
    """All arguments of the root's fields in a valid operation, by name."""
    found: defaultdict[str, list[ValueNode]] = defaultdict(list)
    for field in _fields(selections, fragments, set()):
        for argument in field.arguments or ():
            found[argument.name.value].append(argument.value)
    return dict(found)


def _fields(
    selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode], seen: set[str]
) -> Iterator[FieldNode]:
    """The fields. Those of a fragment are yielded once, however often it is spread."""
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node
        elif isinstance(node, InlineFragmentNode):
            yield from _fields(node.selection_set, fragments, seen)
        elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
            seen.add(node.name.value)
            yield from _fields(fragments[node.name.value].selection_set, fragments, seen)
