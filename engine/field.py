"""What the plan says about one field: where its raw column comes from, and what it looks like then.

The *source* of a field gives what its resolver says about every row, its *cells* make that
presentable (leaves serialised, objects turned into dicts, lists of either). Usually a look at the
Python types in a column tells how that is done for all of it at once.

A fault, which is an exception where a cell should be, travels in the columns like any other cell
until the run is over; `engine.settle` then says what it means for the answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType
from graphql.pyutils import Path

from engine.zipped import Zipped

if TYPE_CHECKING:
    from engine.run import Run

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any] | Zipped[Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One response key of a selection."""

    key: str
    parent: GraphQLObjectType
    definition: GraphQLField
    nodes: list[FieldNode]
    """All the places in the document that ask for this key."""

    path: Path
    """The keys that lead here; list indices are unknown to a column."""

    @property
    def name(self) -> str:
        return self.nodes[0].name.value


class Source(ABC):
    """Where the raw column of a field comes from."""

    __slots__ = ()

    @property
    @abstractmethod
    def read(self) -> Callable[..., Any]:
        """A function of all rows that nearly always gives the column: a list of one value each."""

    @property
    def keywords(self) -> "Callable[[Run], dict[str, Any]] | None":
        """What `read` is told besides; None: nothing."""
        return None

    def checked(self, column: Any, rows: Rows) -> Column:
        """What `read` gave, which is no list of one value for each row, if it is a column after
        all. Raises what goes to `recovered`."""
        raise RuntimeError("A row raised StopIteration, which ends map().")

    @abstractmethod
    def recovered(self, error: Exception, rows: Rows, run: "Run") -> Column:
        """One value, or one fault, for each row, after `read` has raised."""


class AwaitedSource(ABC):
    """A source that may have to wait for something outside this process."""

    __slots__ = ()

    @abstractmethod
    def ask(self, rows: Rows, run: "Run") -> Column | Awaitable[Column]:
        """One value, or one fault, for each row: at once where they are known.

        May raise what is then the fault of every row, and so may what is awaited.
        """

    def checked(self, column: Column, rows: Rows) -> Column:
        """What was awaited, if it is one for each row. Raises what is the fault of every row."""
        return column


Held: TypeAlias = type | frozenset[type]
"""What a column holds: the type of its one value, or the types of its many."""

Quick: TypeAlias = "Callable[[Any, Run], Column | None]"
"""Completes a column of certain types at once; None where a value needs a closer look."""


def as_it_is(column: Column, run: "Run") -> Column:
    """The `Quick` of columns that are presentable already."""
    return column


def holding(python_type: type, quick: Quick) -> dict[Held, Quick]:
    """How to complete columns of one type, be they of one value or of many."""
    return {python_type: quick, frozenset((python_type,)): quick}


class Cells(ABC):
    """What makes the raw column of one field presentable."""

    __slots__ = ()

    quick: Mapping[Held, Quick]
    """By what a column holds, None's type included."""

    @abstractmethod
    def closely(self, column: Column, run: "Run") -> Column:
        """What the client sees of each value; nulls that may not be, and failures, are faults."""

    def complete(self, column: Column, run: "Run") -> Column:
        """The same, at once where the types of the values say how."""
        if type(column) is Zipped:
            quick = self.quick.get(tuple)
        elif len(column) == 1:
            quick = self.quick.get(type(column[0]))
        else:
            quick = self.quick.get(frozenset(map(type, column)))
        done = None if quick is None else quick(column, run)
        return self.closely(column, run) if done is None else done
