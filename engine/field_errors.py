"""Nulls and field errors: in the columns of a run, and in its result."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import CoroutineType
from typing import Any, TypeAlias

from graphql import GraphQLError, GraphQLList, GraphQLNonNull, GraphQLOutputType, is_leaf_type
from strawberry.execution import optimized_is_awaitable

from engine.errors import BailOut, locate_error
from engine.run import Column, Field, Run

Path: TypeAlias = tuple[str | int, ...]

STEPS_PER_SLICE = 3_000
"""The steps of one slice of `propagate_nulls`; each takes 1 µs."""

STEPS_PER_ERROR = 30
"""The steps that one error counts as."""

BYTES_PER_ERROR = 150
"""The length of an error in the response without its message, locations and the keys in its path.
"""

BYTES_PER_LOCATION = 30


def non_null_error(field: Field) -> TypeError:
    """The field error for a null in a non-null field, with graphql-core's message."""
    return TypeError(f"Cannot return null for non-nullable field {field.parent}.{field.name}.")


@dataclass(frozen=True, slots=True)
class Partition:
    """A column without its nulls and field errors, and the original column."""

    present: Column
    whole: Column
    """The original column, with forbidden nulls replaced by field errors."""

    def merged(self, completed: Sequence[Any]) -> Column:
        """The column of completed values, with the nulls and field errors where they were."""
        if len(self.present) == len(self.whole):
            return list(completed)
        rest = iter(completed)
        return [value if is_null_or_error(value) else next(rest) for value in self.whole]


def partition_column(column: Column, field: Field, run: Run, *, may_be_null: bool) -> Partition:
    """Remove nulls and field errors from a column, and count the errors."""
    whole = column
    if not may_be_null and None in map(_none_or_true, column):
        whole = [non_null_error(field) if value is None else value for value in column]
    present = [value for value in whole if not is_null_or_error(value)]
    run.count_field_errors([value for value in whole if isinstance(value, Exception)])
    return Partition(present, whole)


def bail_out_of_awaitables(values: Sequence[Any]) -> None:
    """Raise BailOut if there are awaitables: graphql-core supports them everywhere."""
    if awaitables := [value for value in values if optimized_is_awaitable(value)]:
        # Awaitables other than coroutines may be shared, so they are not closed.
        coroutines = [value for value in awaitables if isinstance(value, CoroutineType)]
        raise BailOut("awaitable_value", coroutines)


def is_null_or_error(value: Any) -> bool:
    return value is None or isinstance(value, Exception)


def _none_or_true(value: Any) -> Any:
    # `None in column` would call the rows' own __eq__.
    return None if value is None else True


def propagate_nulls(
    data: dict[str, Any], run: Run
) -> Generator[None, None, tuple[dict[str, Any] | None, list[GraphQLError]]]:
    """The data with its field errors turned into nulls of their nearest nullable parents, and the
    errors; in slices.

    Walks the finished data once, in the order in which graphql-core completes values without
    waiting, and only if there are field errors. Returns new data, because dicts may be shared.
    """
    propagation = _NullPropagation(run)
    try:
        return (yield from propagation.object(data, ())), propagation.errors
    except GraphQLError as error:
        return None, [*propagation.errors, _without_frames(error)]


class _NullPropagation:
    """One walk through the data. A GraphQLError is raised up to the nearest nullable parent."""

    def __init__(self, run: Run) -> None:
        self.errors: list[GraphQLError] = []
        self._run = run
        self._steps = 0
        """The steps of this slice so far: 1 for a value, `STEPS_PER_ERROR` for an error."""
        self._fields: dict[int, Mapping[str, Field]] = {
            id(built): fields for fields, objects in run.objects for built in objects
        }

    def object(self, built: dict[str, Any], path: Path) -> Generator[None, None, dict[str, Any]]:
        """A copy of the dict, with nulls for field errors. Raises the GraphQLError of a non-null
        field."""
        fields = self._fields.get(id(built))
        if fields is None:  # of a cached introspection, which has no errors
            return built
        whole = {}
        for key, value in built.items():
            field = fields.get(key)
            if field is None:
                whole[key] = value
            else:
                declared = field.definition.type
                whole[key] = yield from self._value_or_null(declared, value, field, (*path, key))
        return whole

    def _value_or_null(
        self, declared: GraphQLOutputType, value: Any, field: Field, path: Path
    ) -> Generator[None, None, Any]:
        """The value with nulls for field errors below it. If it is an error itself, or must be null
        because of one below it: null and the error in `errors` if the type is nullable; otherwise
        raises the GraphQLError."""
        self._steps += 1
        if self._steps >= STEPS_PER_SLICE:
            self._steps = 0
            yield
        try:
            return (yield from self._value(declared, value, field, path))
        except GraphQLError as error:
            if isinstance(declared, GraphQLNonNull):
                raise
            self.errors.append(_without_frames(error))
            return None

    def _value(
        self, declared: GraphQLOutputType, value: Any, field: Field, path: Path
    ) -> Generator[None, None, Any]:
        if isinstance(value, Exception):
            raise self._located(value, field, path)
        if isinstance(declared, GraphQLNonNull):
            declared = declared.of_type
        if value is None or is_leaf_type(declared):
            return value
        if not isinstance(declared, GraphQLList):
            return (yield from self.object(value, path))
        items = []
        for index, item in enumerate(value):
            items.append(
                (yield from self._value_or_null(declared.of_type, item, field, (*path, index)))
            )
        return items

    def _located(self, value: Exception, field: Field, path: Path) -> GraphQLError:
        self._steps += STEPS_PER_ERROR
        error = locate_error(value, field.nodes, list(path))
        self._run.count_bytes(_response_bytes(error))
        return error


def _without_frames(error: GraphQLError) -> GraphQLError:
    """The error without the frames of the walk, which refer to all errors. Its cause has its own
    traceback."""
    return error.with_traceback(None)


def _response_bytes(error: GraphQLError) -> int:
    """The estimated length of an error in the response. Its path repeats all response keys."""
    keys = sum(len(key) for key in error.path or () if isinstance(key, str))
    locations = len(error.locations or ()) * BYTES_PER_LOCATION
    return BYTES_PER_ERROR + len(error.message) + keys + locations
