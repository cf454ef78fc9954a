"""Turns the field errors of a run into errors and nulls of its result.

Walks the finished data once, in the order in which graphql-core completes values without waiting,
and only if there are field errors. It returns new data, because dicts may be shared.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from graphql import (
    GraphQLError,
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    is_leaf_type,
)

from engine.errors import located

if TYPE_CHECKING:
    from engine.field import Field
    from engine.run import Run

Path: TypeAlias = tuple[str | int, ...]


def settle(data: dict[str, Any], run: "Run") -> tuple[dict[str, Any] | None, list[GraphQLError]]:
    """The data with nulls propagated from field errors, and the errors."""
    settlement = _Settlement(run)
    try:
        return settlement.object(data, ()), settlement.errors
    except GraphQLError as error:
        return None, [*settlement.errors, error]


class _Settlement:
    """One walk. A located error raised here makes its nearest nullable parent null."""

    def __init__(self, run: "Run") -> None:
        self.errors: list[GraphQLError] = []
        self._fields: dict[int, Mapping[str, Field]] = {
            id(made): fields for fields, table in run.made for made in table
        }

    def object(self, made: dict[str, Any], path: Path) -> dict[str, Any]:
        fields = self._fields[id(made)]
        return {
            key: self._guarded(fields[key].definition.type, value, fields[key], (*path, key))
            if key in fields
            else value
            for key, value in made.items()
        }

    def _guarded(self, declared: GraphQLOutputType, value: Any, field: "Field", path: Path) -> Any:
        try:
            return self._value(declared, value, field, path)
        except GraphQLError as error:
            if isinstance(declared, GraphQLNonNull):
                raise
            self.errors.append(error)
            return None

    def _value(self, declared: GraphQLOutputType, value: Any, field: "Field", path: Path) -> Any:
        if isinstance(value, Exception):
            raise located(value, field.nodes, list(path))
        if isinstance(declared, GraphQLNonNull):
            declared = declared.of_type
        if value is None or is_leaf_type(declared):
            return value
        if isinstance(declared, GraphQLList):
            return [
                self._guarded(declared.of_type, item, field, (*path, index))
                for index, item in enumerate(value)
            ]
        return self.object(value, path)
