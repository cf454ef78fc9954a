"""One execution of a plan: what it was given and what it used up. Knows not how plans run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from graphql import GraphQLSchema

from engine.codegen import Table
from engine.errors import CostLimitExceeded
from engine.variables import Values

if TYPE_CHECKING:
    from engine.document import Operation
    from engine.field import Field
    from engine.plan import Hole


ROWS_A_FAULT = 10
"""An error with its path and words takes 50 µs and 200 bytes: that of ten rows, or more."""


@dataclass(slots=True)
class Run:
    """The request that a plan answers, and the account of its answer."""

    schema: GraphQLSchema
    max_rows: int
    operation: "Operation"
    values: Values
    context: Any
    root: Any
    rows: int = 0
    faults: int = 0
    """Exceptions now among the cells, each to become an error of the answer."""

    made: list[tuple[Mapping[str, "Field"], Table]] = field(default_factory=list)
    """Every dict of the answer, with the fields that it is made of, by key."""

    holes: list["Hole"] = field(default_factory=list)
    """What dicts made just now are short of."""

    def spend(self, rows: int) -> None:
        """Account for rows about to be made.

        Raises CostLimitExceeded.
        """
        self.rows += rows
        if self.rows > self.max_rows:
            self.refuse()

    def fail(self, faults: int) -> None:
        """Account for faults: so an answer cannot consist of errors without end.

        Raises CostLimitExceeded.
        """
        self.faults += faults
        self.spend(faults * ROWS_A_FAULT)

    def refuse(self) -> NoReturn:
        """End the operation, which makes too many rows."""
        raise CostLimitExceeded(self.max_rows)
