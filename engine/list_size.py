"""The number of items that a field returns, from its arguments."""

from collections.abc import Mapping
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

_DIGITS_MAX = 10
"""The digits of the greatest Int. int() raises ValueError for more than 4,300 digits."""

Coerced: TypeAlias = Mapping[str, Any]
"""The coerced variables of one request."""


class SizeVariable(NamedTuple):
    """A variable in place of an argument."""

    name: str
    path: tuple[str, ...]
    """The path inside an input object."""
    is_number: bool


class Size(NamedTuple):
    """A number of items that depends on variables."""

    literal: int
    """The greatest of the arguments that are literals; -1 if there is none."""
    variables: tuple[SizeVariable, ...]
    limits: ListSize

    def evaluate(self, coerced: Coerced) -> int:
        """The number of items for these variables."""
        size = self.literal
        for name, path, is_number in self.variables:
            value = coerced.get(name)
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            if value is not None:
                # A coerced list is a list, or a single value in place of it.
                length = len(value) if isinstance(value, (list, tuple)) else 1
                size = max(size, value if is_number else length)
        return min(self.limits.default if size < 0 else size, self.limits.maximum)


def list_size(node: FieldNode, declared: ListSize | int) -> Size | int:
    """The number of items that a field returns for each parent; a `Size` if it depends on
    variables."""
    if isinstance(declared, int):
        return declared
    literals = {argument.name.value: argument.value for argument in node.arguments or ()}
    literal, variables = -1, list[SizeVariable]()
    for argument in (*declared.numbers, *declared.lists):
        name, *path = argument.split(".")
        value: ValueNode | None = literals.get(name)
        while path and isinstance(value, ObjectValueNode):
            inner = path.pop(0)
            value = next((one.value for one in value.fields if one.name.value == inner), None)
        if isinstance(value, VariableNode):
            is_number = argument in declared.numbers
            variables.append(SizeVariable(value.name.value, tuple(path), is_number))
        elif value is not None:
            count = _number if argument in declared.numbers else _item_count
            literal = max(literal, count(value, declared.maximum))
    size = Size(literal, tuple(variables), declared)
    return size if variables else size.evaluate({})


def _number(value: ValueNode, maximum: int) -> int:
    if isinstance(value, IntValueNode):
        return int(value.value) if len(value.value) <= _DIGITS_MAX else maximum
    return -1


def _item_count(value: ValueNode, _: int) -> int:
    if isinstance(value, ListValueNode):
        return len(value.values)
    return -1 if isinstance(value, NullValueNode) else 1
