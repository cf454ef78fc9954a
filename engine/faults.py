"""Nulls and field errors (called faults) among the values of a column."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from strawberry.execution import optimized_is_awaitable

from engine.errors import BailOut

if TYPE_CHECKING:
    from engine.field import Column, Field
    from engine.run import Run


def forbidden_null(field: "Field") -> TypeError:
    """The field error for a null in a non-null field, with graphql-core's message."""
    return TypeError(f"Cannot return null for non-nullable field {field.parent}.{field.name}.")


@dataclass(frozen=True, slots=True)
class Sifted:
    """A column without its nulls and field errors, and the places of these."""

    present: "Column"
    whole: "Column"
    """The original column, with forbidden nulls replaced by field errors."""

    def restored(self, made: Sequence[Any]) -> "Column":
        """The column of processed values, with the nulls and field errors in their places."""
        if len(self.present) == len(self.whole):
            return list(made)
        rest = iter(made)
        return [value if is_null_or_fault(value) else next(rest) for value in self.whole]


def sift(column: "Column", field: "Field", run: "Run", *, may_be_null: bool) -> Sifted:
    """Remove nulls and field errors from a column, and count the errors."""
    whole = column
    if not may_be_null and None in map(_null, column):
        whole = [forbidden_null(field) if value is None else value for value in column]
    present = [value for value in whole if not is_null_or_fault(value)]
    run.fail(sum(isinstance(value, Exception) for value in whole))
    return Sifted(present, whole)


def bail_out_of_awaitables(column: "Column") -> None:
    """Raise BailOut for a column with awaitables: graphql-core supports them everywhere."""
    if awaitables := [value for value in column if optimized_is_awaitable(value)]:
        for awaitable in awaitables:
            if isinstance(awaitable, CoroutineType):  # others may be shared
                awaitable.close()
        raise BailOut("awaitable_value")


def is_null_or_fault(value: Any) -> bool:
    return value is None or isinstance(value, Exception)


def _null(value: Any) -> Any:
    # `None in column` would call the rows' own __eq__.
    return None if value is None else True
