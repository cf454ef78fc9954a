"""`derived`: declares a field that is a pure function of one attribute with few values.

    @strawberry.type
    class Relation:
        status: RelationStatus = derived("flags", status_of)
        following: bool = derived("flags", lambda flags: flags & FOLLOWING != 0)

The engine computes and serialises each value once per attribute value, and then only looks it up.
An object whose selected fields all derive from the same attribute is built once and shared.
"""

from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from strawberry import Info
from strawberry.types.field import StrawberryField

T = TypeVar("T")


class DerivedField(StrawberryField):
    """A Strawberry field that reads an attribute of its parent and applies a function to it."""

    attribute: str | int
    function: Callable[[Any], Any]

    def value(self, row: Any) -> Any:
        """The field's value for one row."""
        return self.function(attribute_reader(self.attribute)(row))

    def get_result(
        self, source: Any, info: Info[Any, Any] | None, args: list[Any], kwargs: Any
    ) -> Any:
        """Resolve the field of one parent for graphql-core."""
        return self.value(source)


def attribute_reader(attribute: str | int) -> Callable[[Any], Any]:
    """Return a function that reads an attribute, or an item of a tuple, of one row."""
    return itemgetter(attribute) if isinstance(attribute, int) else attrgetter(attribute)


def derived(
    attribute: str | int,
    function: Callable[[Any], T],
    *,
    name: str | None = None,
    description: str | None = None,
    deprecation_reason: str | None = None,
) -> T:
    """Declare a field as `function(row.attribute)`.

    `attribute` may be dotted, or a number: the index of an item in a tuple.

    For attributes with few hashable values of one type (flags, a kind): the plan caches the result
    for each value, up to a bound. `function` must depend on its argument alone.
    """
    field = DerivedField(
        graphql_name=name, description=description, deprecation_reason=deprecation_reason
    )
    field.attribute = attribute
    field.function = function
    # It has no value of its own, so it is not in the class's constructor, equality or repr.
    field.init = field.compare = field.repr = False
    return field  # type: ignore[return-value]
