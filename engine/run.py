"""The state of one run of an operation, and the abstract parts of a plan that work on it.

A plan resolves the fields of many parents at once. The *resolver* of a field returns its raw
column: one value for each row. Its *completion* completes the column (the specification's
CompleteValue): leaves serialised, objects turned into dicts, lists of either. Usually the Python
types in a column show how to complete all of it at once, on a fast path.

A field error (an exception in place of a value) stays in the columns like any other value until the
run is over. `engine.field_errors` then turns it into errors and nulls.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import partial
from typing import Any, NamedTuple, NoReturn, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType, GraphQLSchema
from graphql.pyutils import Path

from engine.codegen import ResponseObjects
from engine.columnar_rows import ColumnarRows
from engine.document import OperationDefinition
from engine.errors import CostLimitExceeded
from engine.turns import Turns
from engine.variables import Values

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any] | ColumnarRows[Any]

ROWS_PER_ERROR = 10
"""The rows that one error counts as: with path and message it takes 50 µs and 200 bytes."""


@dataclass(frozen=True, slots=True)
class Field:
    """One response key of a selection set."""

    key: str
    parent: GraphQLObjectType
    definition: GraphQLField
    nodes: list[FieldNode]
    """All nodes in the document with this key."""

    path: Path
    """The path without list indices, which a column does not have."""

    @property
    def name(self) -> str:
        return self.nodes[0].name.value


@dataclass(slots=True)
class Run:
    """The input of one run, and the counters of its result."""

    schema: GraphQLSchema
    turns: Turns
    max_rows: int
    max_bytes: int
    max_field_errors: int
    expected_errors: tuple[type[Exception], ...]
    """See `EngineSettings.expected_errors`."""
    operation: OperationDefinition
    values: Values
    context: Any
    root_rows: list[Any]
    """The root value, as the only row."""

    rows: int = 0
    bytes: int = 0
    """The estimated length of the response."""
    field_errors: int = 0
    """The field errors now in the columns."""
    field_errors_counted: int = 0
    """All field errors of the run."""

    objects: list[tuple[Mapping[str, Field], ResponseObjects]] = dataclass_field(
        default_factory=list
    )
    """Every dict of the result, with its fields by key."""

    pending: list["PendingField"] = dataclass_field(default_factory=list)
    """The pending fields of the dicts that were built last."""

    introspections: tuple[tuple[Hashable, str], ...] = ()
    """The introspection fields that were resolved: the keys of their results in the cache, and in
    the response."""

    trace: Callable[[str], AbstractContextManager[object]] | None = None
    """See `EngineSettings.trace`."""

    root_values: dict[str, Any] | None = None
    """In a mutation: what its root fields have resolved to so far, by response key. If graphql-core
    has to continue, it uses these values and does not call the resolvers again."""

    def count_rows(self, rows: int) -> None:
        """Count rows that are about to be built.

        Raises CostLimitExceeded.
        """
        self.rows += rows
        if self.rows > self.max_rows:
            self.exceed_limit()

    def count_field_errors(self, found: Sequence[Exception]) -> None:
        """Count field errors that are about to be stored in the result, also as rows.

        Expected ones lose their tracebacks: the frames refer to this run, which refers to its
        result, and such cycles stay until the garbage collector visits all objects.

        Raises CostLimitExceeded.
        """
        for error in found:
            if isinstance(error, self.expected_errors):
                error.__traceback__ = None
        errors = len(found)
        self.field_errors += errors
        self.field_errors_counted += errors
        if self.field_errors_counted > self.max_field_errors:
            raise CostLimitExceeded(f"{self.max_field_errors:,} field errors")
        self.count_rows(errors * ROWS_PER_ERROR)

    def count_bytes(self, length: int) -> None:
        """Count the bytes of something that is about to be added to the response.

        Raises CostLimitExceeded.
        """
        self.bytes += length
        if self.bytes > self.max_bytes:
            self.exceed_limit()

    def exceed_limit(self) -> NoReturn:
        """Raise CostLimitExceeded."""
        if self.rows > self.max_rows:
            raise CostLimitExceeded(f"{self.max_rows:,} objects and list items")
        raise CostLimitExceeded(f"{self.max_bytes:,} bytes")


class SyncResolver(ABC):
    """Resolves a field of many rows without waiting."""

    __slots__ = ()

    @property
    @abstractmethod
    def function(self) -> Callable[..., Any]:
        """A function of all rows that normally returns the column: a list with one value each."""

    @property
    def arguments(self) -> Callable[[Run], dict[str, Any]] | None:
        """The keyword arguments of `function`. None: it takes none."""
        return None

    def checked(self, column: Any, rows: Rows) -> Column:
        """Convert a result of `function` that is not a list of one value for each row. Exceptions
        go to `column_after_error`."""
        raise RuntimeError("A row raised StopIteration, which ends map().")

    @abstractmethod
    def column_after_error(self, error: Exception, rows: Rows, run: Run) -> Column:
        """Return a value or an error for each row after `function` raised. Attributes are read
        again row by row; a batch gets the error in every row."""


class AsyncResolver(ABC):
    """Resolves a field of many rows, and may have to wait."""

    __slots__ = ()

    @abstractmethod
    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        """One value or field error for each row, or an awaitable of them.

        An exception, raised here or by the awaitable, is the field error of every row.
        """

    def checked(self, column: Column, rows: Rows) -> Column:
        """Convert an awaited column that is not a list of one value for each row. An exception is
        the field error of every row."""
        return column


ColumnTypes: TypeAlias = type | frozenset[type]
"""The contents of a column: the type of its single value, or the types of its values."""

FastPath: TypeAlias = Callable[[Any, Run], Column | None]
"""Completes a column of certain types at once; returns None if a value needs the slow path."""


def unchanged(column: Column, run: Run) -> Column:
    """The fast path of columns that are complete already."""
    return column


def fast_paths_of(python_type: type, fast_path: FastPath) -> dict[ColumnTypes, FastPath]:
    """The fast path for columns of one type, with one value or many."""
    return {python_type: fast_path, frozenset((python_type,)): fast_path}


class Completion(ABC):
    """Completes the raw column of one field."""

    __slots__ = ()

    fast_paths: Mapping[ColumnTypes, FastPath]
    """The fast paths by the types in a column, including NoneType."""

    has_rows: bool = False
    """Whether it builds rows, which have fields of their own."""

    def row_bytes(self) -> int | None:
        """The estimated length of one row in the response, with the objects in it. None if it is
        not known: the row has lists, or no row was met yet."""
        return None

    @abstractmethod
    def complete_each(self, column: Column, run: Run) -> Column:
        """The slow path: complete each value. Forbidden nulls and failures become field errors."""

    def complete(self, column: Column, run: Run) -> Column:
        """Complete a column, on the fast path if its types have one."""
        if type(column) is ColumnarRows:
            fast_path = self.fast_paths.get(tuple)
        elif len(column) == 1:
            fast_path = self.fast_paths.get(type(column[0]))
        else:
            fast_path = self.fast_paths.get(frozenset(map(type, column)))
        completed = None if fast_path is None else fast_path(column, run)
        return self.complete_each(column, run) if completed is None else completed


class PendingField(NamedTuple):
    """A field that is missing in dicts which were built already: its resolver may have to wait."""

    key: str
    resolver: AsyncResolver
    completion: Completion
    rows: Rows
    objects: ResponseObjects

    def fill(self, column: Column, run: Run) -> None:
        """Complete the column, and put it into the dicts."""
        if run.root_values is not None:
            self.record(column, run)
        self.put(self.completion.complete(column, run))

    def record(self, column: Column, run: Run) -> None:
        """Record the value of a root field of a mutation, before it is completed."""
        if run.root_values is not None and self.rows is run.root_rows:
            run.root_values[self.key] = column[0]

    def put(self, completed: Column) -> None:
        """Put the completed column into the dicts."""
        key, objects = self.key, self.objects
        if len(completed) == len(objects) == 1:
            objects[0][key] = completed[0]  # a strict zip takes 0.3 µs to start
            return
        for built, value in zip(objects, completed, strict=True):
            built[key] = value


# The constructor of a NamedTuple takes three times as long.
pending_field: Callable[
    [tuple[str, AsyncResolver, Completion, Rows, ResponseObjects]], PendingField
] = partial(tuple.__new__, PendingField)
