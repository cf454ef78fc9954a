"""Columns whose items are created on first access."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazyColumn(Sequence[T]):
    """A sequence that calls `_create` once, when an item is first accessed.

    A subclass must set `_items` to None in its `__init__`. This class has none: the call would cost
    time for each column.
    """

    __slots__ = ("_items",)

    _items: list[T] | None

    @abstractmethod
    def _create(self) -> Iterable[T]: ...

    def _all(self) -> list[T]:
        if self._items is None:
            self._items = list(self._create())
        return self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._all()[index]
