"""The number of items that a field returns, from its arguments."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from graphql import (
    FieldNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    ValueNode,
    VariableNode,
)

from engine.weights import ListSize

Coerced: TypeAlias = Mapping[str, Any]
"""The coerced variables of one request."""


class Size(NamedTuple):
    """A number of items that depends on variables."""

    literal: int
    """The greatest of the arguments that are literals; -1 if there is none."""
    variables: tuple[tuple[str, tuple[str, ...]], ...]
    """The arguments that are variables: the name, and the path inside an input object."""
    limits: ListSize

    def of(self, coerced: Coerced) -> int:
        """The number of items for these variables."""
        size = self.literal
        for name, path in self.variables:
            value = coerced.get(name)
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                given = value if isinstance(value, int) else _length(value)
                size = max(size, given)
        return min(self.limits.default if size < 0 else size, self.limits.most)


def list_size(node: FieldNode, declared: ListSize | int) -> Size | int:
    """The number of items that a field returns for each parent."""
    if isinstance(declared, int):
        return declared
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    literal, variables = -1, list[tuple[str, tuple[str, ...]]]()
    for argument in declared.arguments:
        name, *path = argument.split(".")
        value: ValueNode | None = given.get(name)
        while path and isinstance(value, ObjectValueNode):
            inner = path.pop(0)
            value = next((one.value for one in value.fields if one.name.value == inner), None)
        if isinstance(value, VariableNode):
            variables.append((value.name.value, tuple(path)))
        elif value is not None:
            literal = max(literal, _literal(value))
    size = Size(literal, tuple(variables), declared)
    return size if variables else size.of({})


def _literal(value: ValueNode) -> int:
    if isinstance(value, IntValueNode):
        return int(value.value)
    if isinstance(value, ListValueNode):
        return len(value.values)
    return -1 if isinstance(value, NullValueNode) else 1


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sequence) and not isinstance(value, str) else 1
