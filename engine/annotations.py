"""The types that batched resolvers return, and how they are read from annotations."""

from collections.abc import Awaitable, Iterable
from types import UnionType
from typing import Any, ForwardRef, TypeAlias, TypeVar, Union, get_args, get_origin

from strawberry.annotation import StrawberryAnnotation

ItemT = TypeVar("ItemT")

ItemOrError: TypeAlias = ItemT | Exception
"""An item, or the error of its parent's field: `list[ItemOrError[int]]`."""


def without_errors(items: Iterable[ItemOrError[ItemT]]) -> list[ItemT]:
    """The items, in order, without the errors among them."""
    return [item for item in items if not isinstance(item, Exception)]


ColumnT = TypeVar("ColumnT")

MaybeAwaitable: TypeAlias = ColumnT | Awaitable[ColumnT]
"""A column or an awaitable of it: the return type of a function that is not async."""


class ItemAnnotation(StrawberryAnnotation):
    """The annotation of a column, resolved to the type of its items.

    Resolved lazily, like all annotations of Strawberry, because types may be declared later.
    """

    @property
    def may_be_awaitable(self) -> bool:
        """Whether the annotation includes an awaitable."""
        return is_union(super().evaluate())

    def evaluate(self) -> Any:
        column = column_type(super().evaluate())
        arguments = get_args(column)
        if len(arguments) != 1 or is_union(column):
            raise TypeError(
                "A batched resolver returns list[Item], with one item for each parent, or"
                f" MaybeAwaitable[list[Item]], not {column}."
            )
        item = without_exception(arguments[0])
        if isinstance(item, (str, ForwardRef)):
            quoted = StrawberryAnnotation(item, namespace=self.namespace)
            item = without_exception(quoted.evaluate())
        return item


def without_exception(item: Any) -> Any:
    """The `Item` of `ItemOrError[Item]`, or any other type unchanged.

    >>> without_exception(ItemOrError[int])
    <class 'int'>
    """
    if not is_union(item):
        return item
    return Union[tuple(member for member in get_args(item) if member is not Exception)]  # noqa: UP007


def column_type(column: Any) -> Any:
    """The `Column` of `MaybeAwaitable[Column]`, or any other type unchanged.

    >>> column_type(MaybeAwaitable[list[int]])
    list[int]
    """
    if not is_union(column):
        return column
    members = [member for member in get_args(column) if get_origin(member) is not Awaitable]
    return members[0] if len(members) == 1 else column


def is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, UnionType)
