"""The state of one run of an operation: its input and its counters."""

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
"""The rows that one error counts as: with path and message it takes 50 µs and 200 bytes."""


@dataclass(slots=True)
class Run:
    """The input of one run, and the counters of its result."""

    schema: GraphQLSchema
    max_rows: int
    operation: "Operation"
    values: Values
    context: Any
    root: Any
    rows: int = 0
    faults: int = 0
    """The field errors now among the cells."""

    made: list[tuple[Mapping[str, "Field"], Table]] = field(default_factory=list)
    """Every dict of the result, with its fields by key."""

    holes: list["Hole"] = field(default_factory=list)
    """The pending fields of the dicts built just now."""

    def spend(self, rows: int) -> None:
        """Count rows that are about to be built.

        Raises CostLimitExceeded.
        """
        self.rows += rows
        if self.rows > self.max_rows:
            self.reject()

    def fail(self, faults: int) -> None:
        """Count field errors as rows, to bound the number of errors in a response.

        Raises CostLimitExceeded.
        """
        self.faults += faults
        self.spend(faults * ROWS_A_FAULT)

    def reject(self) -> NoReturn:
        """Raise CostLimitExceeded."""
        raise CostLimitExceeded(self.max_rows)
