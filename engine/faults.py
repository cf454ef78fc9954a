"""Nulls and exceptions among the values of a column. Knows nothing of what the values are."""

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
    """The fault of a null where the schema says that there is none; graphql-core's words."""
    return TypeError(f"Cannot return null for non-nullable field {field.parent}.{field.name}.")


@dataclass(frozen=True, slots=True)
class Sifted:
    """A column without its nulls and faults, and where they were."""

    present: "Column"
    whole: "Column"
    """The column as it was, forbidden nulls replaced by faults."""

    def restored(self, made: Sequence[Any]) -> "Column":
        """What was made of the present values, among the nulls and faults."""
        if len(self.present) == len(self.whole):
            return list(made)
        rest = iter(made)
        return [value if is_null_or_fault(value) else next(rest) for value in self.whole]


def sift(column: "Column", field: "Field", run: "Run", *, may_be_null: bool) -> Sifted:
    """Take nulls and faults out of a column, and account for the faults."""
    whole = column
    if not may_be_null and None in map(_null, column):
        whole = [forbidden_null(field) if value is None else value for value in column]
    present = [value for value in whole if not is_null_or_fault(value)]
    run.fail(sum(isinstance(value, Exception) for value in whole))
    return Sifted(present, whole)


def bail_out_of_awaitables(column: "Column") -> None:
    """Leave a column that holds awaitables to graphql-core, which looks for them everywhere."""
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
