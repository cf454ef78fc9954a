"""Serialisation of leaf columns.

One pass in C finds the Python types in a column. If these need no serialisation, the column is
complete. Otherwise each value is completed as in graphql-core.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any

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
from engine.field import Cells, Column, Field, Held, Quick, as_it_is, holding

if TYPE_CHECKING:
    from engine.run import Run


@dataclass(frozen=True, slots=True)
class Leaf(Cells):
    """The cells of a scalar or an enum."""

    field: Field
    declared: GraphQLLeafType
    may_be_null: bool
    may_be_ready: bool
    """Whether values of some Python type need no serialisation."""
    quick: Mapping[Held, Quick]

    def closely(self, column: Column, run: "Run") -> Column:
        bail_out_of_awaitables(column)
        return [self._one(value, run) for value in column]

    def _one(self, value: Any, run: "Run") -> Any:
        if value is None and self.may_be_null:
            return None
        fault: Exception
        if value is None:
            fault = forbidden_null(self.field)
        elif isinstance(value, Exception):
            fault = value
        else:
            try:
                return Executor.complete_leaf_value(self.declared, value)
            except Exception as error:
                fault = error
        run.fail(1)
        return fault


def leaf(
    field: Field, declared: GraphQLLeafType, *, may_be_null: bool, orjson_datetimes: bool
) -> Leaf:
    """The cells of one leaf type."""
    quick: dict[Held, Quick] = {frozenset(): as_it_is}
    forms = _quick_forms(declared, orjson_datetimes)
    for python_type, serialise in forms.items():
        quick |= holding(python_type, serialise)
        if may_be_null:
            quick[frozenset((python_type, NoneType))] = _around_nulls(serialise)
    if may_be_null:
        quick |= holding(NoneType, as_it_is)
    may_be_ready = not _UNTOUCHED.isdisjoint(forms.values())
    return Leaf(field, declared, may_be_null, may_be_ready, quick)


def _quick_forms(declared: GraphQLLeafType, orjson_datetimes: bool) -> dict[type, Quick]:
    if isinstance(declared, GraphQLEnumType):
        return _enum_forms(declared)
    if _is_strawberrys_datetime(declared):
        return {datetime: _datetimes if orjson_datetimes else _isoformat}
    return _SCALARS.get(declared, {})


def _enum_forms(declared: GraphQLEnumType) -> dict[type, Quick]:
    python_enum = getattr(declared, "wrapped_cls", None)
    if python_enum is None:
        return {}
    # By identity: enum members live for ever, and their __hash__ is a Python function.
    names = {
        id(member): declared.coerce_output_value(member)
        for member in python_enum
        if any(member.value == value.value for value in declared.values.values())
    }

    def named(column: Column, run: "Run") -> Column | None:
        try:
            return list(map(names.__getitem__, map(id, column)))
        except KeyError:  # a combination of flags
            return None

    return {python_enum: named}


def _is_strawberrys_datetime(declared: GraphQLLeafType) -> bool:
    definition = declared.extensions.get("strawberry-definition")
    serialize = getattr(definition, "serialize", None)
    return serialize is base_scalars.DateTimeDefinition.serialize


def _around_nulls(serialise: Quick) -> Quick:
    if serialise is as_it_is:
        return as_it_is

    def serialise_the_rest(column: Column, run: "Run") -> Column | None:
        present = [value for value in column if value is not None]
        done = serialise(present, run)
        if done is None:
            return None
        if done is present:
            return column
        rest = iter(done)
        return [None if value is None else next(rest) for value in column]

    return serialise_the_rest


def _as_text(column: Column, run: "Run") -> Column | None:
    try:
        return list(map(str, column))
    except ValueError:  # too many digits
        return None


def _isoformat(column: Column, run: "Run") -> Column | None:
    try:
        return [moment.isoformat() for moment in column]
    except Exception:  # from a custom tzinfo class
        return None


def _datetimes(column: Column, run: "Run") -> Column | None:
    # isoformat costs 0.8 µs. orjson writes the same bytes for UTC. It is not used for other zones:
    # their offsets may have seconds, and they may be of any class.
    try:
        if set(map(_zone, column)) == _UTC:
            return column
    except Exception:  # an unhashable tzinfo
        return None
    return _isoformat(column, run)


_UNTOUCHED: set[Quick] = {as_it_is, _datetimes}

_zone = attrgetter("tzinfo")
_UTC = {UTC}


def _ints(column: Column, run: "Run") -> Column | None:
    in_range = min(column) >= GRAPHQL_MIN_INT and max(column) <= GRAPHQL_MAX_INT
    return column if in_range else None


def _floats(column: Column, run: "Run") -> Column | None:
    return column if all(map(isfinite, column)) else None


_SCALARS: dict[Any, dict[type, Quick]] = {
    GraphQLBoolean: {bool: as_it_is},
    GraphQLFloat: {float: _floats},
    GraphQLID: {str: as_it_is, int: _as_text},
    GraphQLInt: {int: _ints},
    GraphQLString: {str: as_it_is},
}
