"""Leaf columns, serialised. Knows scalars and enums, nothing of objects.

One pass in C tells which Python types a column holds. Where those are the types that need no
serialising, the column is the answer; otherwise each value is completed as graphql-core does it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from operator import methodcaller
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

from graphql import (
    GRAPHQL_MAX_INT,
    GRAPHQL_MIN_INT,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLString,
)
from graphql.execution import Executor
from strawberry.schema.types import base_scalars

from engine.faults import bail_out_of_awaitables, forbidden_null

if TYPE_CHECKING:
    from engine.plan import Column, Field
    from engine.run import Run

Serialise: TypeAlias = Callable[["Column"], "Column | None"]
"""A column of one type to its serialised form; None where a value needs a closer look."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The cells of a scalar or an enum."""

    declared: GraphQLLeafType
    may_be_null: bool
    quick: Mapping[frozenset[type], Serialise]
    """By the types that a column holds, None's included: how to serialise it at once."""

    def complete(self, column: "Column", field: "Field", run: "Run") -> "Column":
        serialise = self.quick.get(frozenset(map(type, column)))
        if serialise is _as_it_is:
            return column
        if serialise is not None and (done := serialise(column)) is not None:
            return done
        bail_out_of_awaitables(column)
        return [self._one(value, field, run) for value in column]

    def _one(self, value: Any, field: "Field", run: "Run") -> Any:
        if value is None and self.may_be_null:
            return None
        try:
            if value is None:
                raise forbidden_null(field)
            if isinstance(value, Exception):
                raise value
            return Executor.complete_leaf_value(self.declared, value)
        except Exception as error:
            run.faults += 1
            return error


def leaf(declared: GraphQLLeafType, *, may_be_null: bool, orjson_datetimes: bool) -> Leaf:
    """The cells of one leaf type."""
    quick: dict[frozenset[type], Serialise] = {frozenset(): _as_it_is}
    for python_type, serialise in _quick_forms(declared, orjson_datetimes).items():
        quick[frozenset((python_type,))] = serialise
        if may_be_null:
            quick[frozenset((python_type, NoneType))] = _around_nulls(serialise)
    if may_be_null:
        quick[frozenset((NoneType,))] = _as_it_is
    return Leaf(declared, may_be_null, quick)


def _quick_forms(declared: GraphQLLeafType, orjson_datetimes: bool) -> dict[type, Serialise]:
    if isinstance(declared, GraphQLEnumType):
        return _enum_forms(declared)
    if _is_strawberrys_datetime(declared):
        return {datetime: _datetimes if orjson_datetimes else _isoformat}
    return _SCALARS.get(declared, {})


def _enum_forms(declared: GraphQLEnumType) -> dict[type, Serialise]:
    python_enum = getattr(declared, "wrapped_cls", None)
    if python_enum is None:
        return {}
    # By identity: an enum's members live for ever, and their __hash__ is a Python function.
    names = {
        id(member): declared.coerce_output_value(member)
        for member in python_enum
        if any(member.value == value.value for value in declared.values.values())
    }

    def named(column: "Column") -> "Column | None":
        try:
            return list(map(names.__getitem__, map(id, column)))
        except KeyError:  # a combination of flags
            return None

    return {python_enum: named}


def _is_strawberrys_datetime(declared: GraphQLLeafType) -> bool:
    definition = declared.extensions.get("strawberry-definition")
    return definition is base_scalars.DateTimeDefinition


def _around_nulls(serialise: Serialise) -> Serialise:
    def serialise_the_rest(column: "Column") -> "Column | None":
        present = [value for value in column if value is not None]
        done = serialise(present)
        if done is None:
            return None
        if done is present:
            return column
        rest = iter(done)
        return [None if value is None else next(rest) for value in column]

    return serialise_the_rest


def _as_it_is(column: "Column") -> "Column":
    return column


def _as_text(column: "Column") -> "Column":
    return list(map(str, column))


def _isoformat(column: "Column") -> "Column":
    return list(map(methodcaller("isoformat"), column))


def _datetimes(column: "Column") -> "Column":
    # isoformat costs 0.8 µs. orjson writes the same bytes for UTC; offsets may have seconds and
    # zones may be of any class, so there it is not trusted.
    if {value.tzinfo for value in column} == {UTC}:
        return column
    return _isoformat(column)


def _ints(column: "Column") -> "Column | None":
    in_range = min(column) >= GRAPHQL_MIN_INT and max(column) <= GRAPHQL_MAX_INT
    return column if in_range else None


def _floats(column: "Column") -> "Column | None":
    return column if all(map(isfinite, column)) else None


_SCALARS: dict[Any, dict[type, Serialise]] = {
    GraphQLBoolean: {bool: _as_it_is},
    GraphQLFloat: {float: _floats},
    GraphQLID: {str: _as_it_is, int: _as_text},
    GraphQLInt: {int: _ints},
    GraphQLString: {str: _as_it_is},
}
