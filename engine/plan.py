"""The frozen plan of one operation: selections of fields over columns. Knows nothing of documents.

A selection turns the rows of one object type into dicts. It asks each of its fields for a column:
the field's *source* gives what its resolver says about every row, its *cells* make that presentable
(leaves serialised, objects turned into dicts by the next selection, lists of either).

A fault, which is an exception where a cell should be, travels in the columns like any other cell
until the run is over; `engine.settle` then says what it means for the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from graphql import FieldNode, GraphQLField, GraphQLObjectType
from graphql.pyutils import Path

from engine.codegen import BuildRows, Table
from engine.together import together

if TYPE_CHECKING:
    from engine.run import Run

Rows: TypeAlias = Sequence[Any]
Column: TypeAlias = list[Any]


class Source(Protocol):
    """Where the raw column of a field comes from."""

    @property
    def waits(self) -> bool:
        """Whether it may have to wait for something outside this process."""

    async def column(self, rows: Rows, field: "Field", run: "Run") -> Column:
        """One value, or one fault, for each row."""


class Cells(Protocol):
    """What makes a raw column presentable."""

    @property
    def waits(self) -> bool:
        """Whether anything below may have to wait."""

    async def complete(self, column: Column, field: "Field", run: "Run") -> Column:
        """What the client sees of each value; nulls that may not be, and failures, are faults."""


@dataclass(frozen=True, slots=True)
class Field:
    """One response key of a selection, and how its column is made."""

    key: str
    parent: GraphQLObjectType
    definition: GraphQLField
    nodes: list[FieldNode]
    """All the places in the document that ask for this key."""

    path: Path
    """The keys that lead here; list indices are unknown to a column."""

    source: Source
    cells: Cells

    @property
    def name(self) -> str:
        return self.nodes[0].name.value

    @property
    def waits(self) -> bool:
        return self.source.waits or self.cells.waits

    async def column(self, rows: Rows, run: "Run") -> Column:
        """What the client sees of this field, for each row."""
        return await self.cells.complete(await self.source.column(rows, self, run), self, run)


class Selection(Protocol):
    """What is asked of one object type."""

    @property
    def waits(self) -> bool: ...

    async def dicts(self, rows: Rows, run: "Run") -> Table:
        """One dict for each row; none of the rows is null."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The selection that makes each column for itself and then cuts them into rows."""

    fields: Mapping[str, Field]
    """By response key; `__typename` is not among them, `build` knows it."""

    build: BuildRows
    waiting: tuple[Field, ...]
    """Those of the fields that may wait."""

    @property
    def waits(self) -> bool:
        return bool(self.waiting)

    async def dicts(self, rows: Rows, run: "Run") -> Table:
        if not rows:
            return []
        run.spend(len(rows))
        arrived = await self._arrived(rows, run) if len(self.waiting) > 1 else {}
        columns: list[Column] = []
        for key, field in self.fields.items():
            column = arrived.get(key)
            columns.append(await field.column(rows, run) if column is None else column)
        table = self.build(rows, *columns)
        run.made.append((self.fields, table))
        return table

    async def _arrived(self, rows: Rows, run: "Run") -> dict[str, Column]:
        """The columns that have to be waited for, which set off together."""
        columns = await together([field.column(rows, run) for field in self.waiting])
        return {field.key: column for field, column in zip(self.waiting, columns, strict=True)}


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled query."""

    root: Selection
