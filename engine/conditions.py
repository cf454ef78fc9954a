"""The conditions @skip and @include of fields and fragments."""

from collections.abc import Mapping
from typing import Any

from graphql import BooleanValueNode, SelectionNode, VariableNode


def may_be_included(node: SelectionNode, variables: Mapping[str, Any]) -> bool:
    """Whether a field or fragment may be included with these variables. It may if the variable of
    its @skip or @include is null or missing."""
    for directive in node.directives or ():
        excluding = {"skip": True, "include": False}.get(directive.name.value)
        value = next((argument.value for argument in directive.arguments or ()), None)
        condition: bool | None = None
        if isinstance(value, BooleanValueNode):
            condition = value.value
        elif isinstance(value, VariableNode):
            condition = variables.get(value.name.value)
        if condition is not None and condition is excluding:
            return False
    return True
