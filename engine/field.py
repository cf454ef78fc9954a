"""The parts of a plan for one field: its source and its cells.

The *source* of a field returns its raw column: the resolver's value for each row. Its *cells*
complete the column: leaves serialised, objects turned into dicts, lists of either. Usually the
Python types in a column show how to complete all of it at once, on a fast path.

A field error (a fault: an exception in place of a cell) stays in the columns like any other cell
until the run is over. `engine.settle` then turns it into errors and nulls.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType
from graphql.pyutils import Path

from engine.columnar_rows import ColumnarRows

if TYPE_CHECKING:
    from engine.run import Run

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any] | ColumnarRows[Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One response key of a selection."""

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


class Source(ABC):
    """The source of a field's raw column."""

    __slots__ = ()

    @property
    @abstractmethod
    def read(self) -> Callable[..., Any]:
        """A function of all rows that normally returns the column: a list with one value each."""

    @property
    def keywords(self) -> "Callable[[Run], dict[str, Any]] | None":
        """The keyword arguments of `read`. None: it takes none."""
        return None

    def checked(self, column: Any, rows: Rows) -> Column:
        """Convert a result of `read` that is not a list of one value for each row. Exceptions go to
        `recovered`."""
        raise RuntimeError("A row raised StopIteration, which ends map().")

    @abstractmethod
    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        """One value or field error for each row, after `read` has raised."""


class AwaitedSource(ABC):
    """A source that may have to await a resolver."""

    __slots__ = ()

    @abstractmethod
    def ask(self, rows: Rows, run: "Run") -> Column | Awaitable[Column]:
        """One value or field error for each row, or an awaitable of them.

        An exception, raised here or by the awaitable, is the field error of every row.
        """

    def checked(self, column: Column, rows: Rows) -> Column:
        """Check the awaited column: one value for each row. An exception is every row's error."""
        return column


Held: TypeAlias = type | frozenset[type]
"""The contents of a column: the type of its single value, or the types of its values."""

Quick: TypeAlias = "Callable[[Any, Run], Column | None]"
"""Completes a column of certain types at once; returns None if a value needs the slow path."""


def as_it_is(column: Column, run: "Run") -> Column:
    """The fast path of columns that are complete already."""
    return column


def holding(python_type: type, quick: Quick) -> dict[Held, Quick]:
    """The fast path for columns of one type, with one value or many."""
    return {python_type: quick, frozenset((python_type,)): quick}


class Cells(ABC):
    """Completes the raw column of one field."""

    __slots__ = ()

    quick: Mapping[Held, Quick]
    """The fast paths by the types in a column, including NoneType."""

    @abstractmethod
    def closely(self, column: Column, run: "Run") -> Column:
        """The slow path: complete each value. Forbidden nulls and failures become field errors."""

    def complete(self, column: Column, run: "Run") -> Column:
        """Complete a column, on the fast path if its types have one."""
        if type(column) is ColumnarRows:
            quick = self.quick.get(tuple)
        elif len(column) == 1:
            quick = self.quick.get(type(column[0]))
        else:
            quick = self.quick.get(frozenset(map(type, column)))
        done = None if quick is None else quick(column, run)
        return self.closely(column, run) if done is None else done
