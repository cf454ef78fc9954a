"""Serialisation of leaf columns.

One pass in C finds the Python types in a column. If these need no serialisation, the column is
complete. Otherwise each value is completed as in graphql-core.

The bytes of the response are estimated with a constant for each value. Values of `String` and of
custom scalars may be much longer, so their texts are counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json.encoder import encode_basestring
from math import isfinite
from operator import attrgetter
from types import NoneType
from typing import Any

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

from engine.field_errors import bail_out_of_awaitables, non_null_error
from engine.run import (
    Column,
    ColumnTypes,
    Completion,
    FastPath,
    Field,
    Run,
    fast_paths_of,
    unchanged,
)


@dataclass(frozen=True, slots=True)
class LeafCompletion(Completion):
    """The completion of a scalar or an enum."""

    field: Field
    declared: GraphQLLeafType
    may_be_null: bool
    can_be_declared_serialized: bool
    """Whether a field with this completion may be declared `serialized`: its type returns the
    values of some Python type unchanged."""
    fast_paths: Mapping[ColumnTypes, FastPath]

    def complete_each(self, column: Column, run: Run) -> Column:
        bail_out_of_awaitables(column)
        completed = [self._complete_one(value, run) for value in column]
        _texts([value for value in completed if type(value) is str], run)
        return completed

    def _complete_one(self, value: Any, run: Run) -> Any:
        """The value as graphql-core serialises it, or a field error, which it counts."""
        if value is None and self.may_be_null:
            return None
        field_error: Exception
        if value is None:
            field_error = non_null_error(self.field)
        elif isinstance(value, Exception):
            field_error = value
        else:
            try:
                return Executor.complete_leaf_value(self.declared, value)
            except Exception as error:
                field_error = error
        run.count_field_errors([field_error])
        return field_error


def leaf_completion(
    field: Field, declared: GraphQLLeafType, *, may_be_null: bool, orjson_datetimes: bool
) -> LeafCompletion:
    """The completion of one leaf type."""
    fast_paths: dict[ColumnTypes, FastPath] = {frozenset(): unchanged}
    serializers = _serializers(declared, orjson_datetimes)
    for python_type, serialize in serializers.items():
        fast_paths |= fast_paths_of(python_type, serialize)
        if may_be_null:
            fast_paths[frozenset((python_type, NoneType))] = _skipping_nulls(serialize)
    if may_be_null:
        fast_paths |= fast_paths_of(NoneType, unchanged)
    can_be_declared_serialized = not _LEAVING_UNCHANGED.isdisjoint(serializers.values())
    return LeafCompletion(field, declared, may_be_null, can_be_declared_serialized, fast_paths)


def _serializers(declared: GraphQLLeafType, orjson_datetimes: bool) -> dict[type, FastPath]:
    if isinstance(declared, GraphQLEnumType):
        return _enum_serializers(declared)
    if _is_strawberry_datetime(declared):
        return {datetime: _datetimes if orjson_datetimes else _isoformat}
    return _SCALARS.get(declared, {})


def _enum_serializers(declared: GraphQLEnumType) -> dict[type, FastPath]:
    """The serializer of the members of a Python enum; none if the type has no Python enum."""
    python_enum = getattr(declared, "wrapped_cls", None)
    if python_enum is None:
        return {}
    # By identity: enum members live forever, and their __hash__ is a Python function.
    names = {
        id(member): declared.coerce_output_value(member)
        for member in python_enum
        if any(member.value == value.value for value in declared.values.values())
    }

    def serialize(column: Column, run: Run) -> Column | None:
        try:
            return list(map(names.__getitem__, map(id, column)))
        except KeyError:  # a combination of flags
            return None

    return {python_enum: serialize}


def _is_strawberry_datetime(declared: GraphQLLeafType) -> bool:
    definition = declared.extensions.get("strawberry-definition")
    serialize = getattr(definition, "serialize", None)
    return serialize is base_scalars.DateTimeDefinition.serialize


def _skipping_nulls(serialize: FastPath) -> FastPath:
    """A fast path that keeps nulls, and serialises the other values with `serialize`."""
    if serialize is unchanged:
        return unchanged

    def serialize_present(column: Column, run: Run) -> Column | None:
        present = [value for value in column if value is not None]
        completed = serialize(present, run)
        if completed is None:
            return None
        if completed is present:
            return column
        rest = iter(completed)
        return [None if value is None else next(rest) for value in column]

    return serialize_present


def _as_text(column: Column, run: Run) -> Column | None:
    try:
        return list(map(str, column))
    except ValueError:  # too many digits
        return None


def _texts(column: Column, run: Run) -> Column:
    """Count texts as orjson writes them, with escapes: a control character takes six bytes."""
    written = encode_basestring("".join(column))
    run.count_bytes(len(written.encode(errors="surrogatepass")))
    return column


def _isoformat(column: Column, run: Run) -> Column | None:
    try:
        return [moment.isoformat() for moment in column]
    except Exception:  # from a custom tzinfo class
        return None


def _datetimes(column: Column, run: Run) -> Column | None:
    # isoformat costs 0.8 µs. orjson writes the same bytes for UTC. It is not used for other zones:
    # their offsets may have seconds, and they may be of any class.
    try:
        if set(map(_zone, column)) == _UTC:
            return column
    except Exception:  # an unhashable tzinfo
        return None
    return _isoformat(column, run)


_LEAVING_UNCHANGED: set[FastPath] = {unchanged, _datetimes, _texts}

_zone = attrgetter("tzinfo")
_UTC = {UTC}


def _ints(column: Column, run: Run) -> Column | None:
    in_range = min(column) >= GRAPHQL_MIN_INT and max(column) <= GRAPHQL_MAX_INT
    return column if in_range else None


def _floats(column: Column, run: Run) -> Column | None:
    return column if all(map(isfinite, column)) else None


_SCALARS: dict[Any, dict[type, FastPath]] = {
    GraphQLBoolean: {bool: unchanged},
    GraphQLFloat: {float: _floats},
    GraphQLID: {str: unchanged, int: _as_text},
    GraphQLInt: {int: _ints},
    GraphQLString: {str: _texts},
}
