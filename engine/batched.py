"""`@batched`: declares a field as a function of all its parents.

    @strawberry.type
    class User:
        @batched
        async def follower_count(users: Parents[UserId], info: Info) -> list[int]:
            return await info.context.counts.get_many(users)

The engine calls the resolver with the parents of a level, and an async one again for those beyond
the first 2,000. graphql-core resolves parent by parent; a loader collects its calls for the same
resolver. The list has one item for each parent, in order. An `Exception` in place of an item is the
error of that parent's field alone.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Concatenate, Protocol, TypeAlias, TypeVar, overload

from strawberry import Info
from strawberry.annotation import StrawberryAnnotation
from strawberry.extensions import FieldExtension
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import (
    INFO_PARAMSPEC,
    ReservedParameterSpecification,
    StrawberryResolver,
)

from engine.annotations import ItemAnnotation
from engine.batch_loader import checked_column, load_item

RowT_co = TypeVar("RowT_co", covariant=True)


class Parents(Protocol[RowT_co]):
    """The rows of one level, in order: the first parameter of a batched resolver.

    A protocol and not `Sequence`, because type checkers allow any protocol, but no class other than
    the method's own, as the type of a method's first parameter.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[RowT_co]: ...
    @overload
    def __getitem__(self, index: int, /) -> RowT_co: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[RowT_co]: ...


BatchFunction: TypeAlias = Callable[
    Concatenate[Parents[Any], ...], Awaitable[Sequence[Any]] | Sequence[Any]
]


class _FirstParameter:
    """Finds the parameter that takes the parents: the first one, whatever its name."""

    def find(
        self, parameters: tuple[inspect.Parameter, ...], resolver: StrawberryResolver[Any]
    ) -> inspect.Parameter | None:
        if not parameters:
            raise TypeError(f"@batched {resolver.name}() takes its parents as first parameter.")
        return parameters[0]


class BatchResolver(StrawberryResolver[Any]):
    """Reads a batch function's signature: parents, `info`, arguments, and the item's type."""

    RESERVED_PARAMSPEC: ClassVar[tuple[ReservedParameterSpecification, ...]] = (  # type: ignore[misc]
        _FirstParameter(),
        INFO_PARAMSPEC,
    )

    @cached_property
    def type_annotation(self) -> ItemAnnotation:
        return ItemAnnotation(self.signature.return_annotation, namespace=self._namespace)

    @cached_property
    def is_async(self) -> bool:
        """Whether the function is async, or its return type includes an awaitable."""
        return super().is_async or self.type_annotation.may_be_awaitable

    @property
    def function(self) -> Callable[..., Any]:
        """The declared function: takes parents and keyword arguments, and returns their items."""
        declared: Any = self.wrapped_func
        return declared  # type: ignore[no-any-return]

    async def batch(self, parents: Sequence[Any], arguments: Mapping[str, Any]) -> Sequence[Any]:
        """The items of `parents`. `arguments` include `info` if the function takes it."""
        items = self.function(parents, **arguments)
        if inspect.isawaitable(items):
            items = await items
        return checked_column(parents, items, self.name)


class BatchedField(StrawberryField):
    """A Strawberry field whose resolver takes and returns whole columns."""

    is_serialized = False
    """Whether its items need no serialisation."""

    @property
    def resolver(self) -> BatchResolver:
        assert isinstance(self.base_resolver, BatchResolver)
        return self.base_resolver

    def get_result(
        self, source: Any, info: Info[Any, Any] | None, args: list[Any], kwargs: Any
    ) -> Any:
        """Resolve the field of one parent for graphql-core."""
        resolver = self.resolver
        if resolver.is_async:
            assert info is not None
            return load_item(resolver, source, info, kwargs)
        return checked_column([source], resolver.function([source], **kwargs), resolver.name)[0]


@overload
def batched(resolver: BatchFunction, /) -> StrawberryField: ...


@overload
def batched(
    *,
    graphql_type: Any = None,
    name: str | None = None,
    description: str | None = None,
    deprecation_reason: str | None = None,
    directives: Sequence[object] = (),
    extensions: Sequence[FieldExtension] = (),
    metadata: Mapping[Any, Any] | None = None,
    serialized: bool = False,
) -> Callable[[BatchFunction], StrawberryField]: ...


def batched(
    resolver: BatchFunction | None = None,
    /,
    *,
    graphql_type: Any = None,
    name: str | None = None,
    serialized: bool = False,
    **options: Any,
) -> StrawberryField | Callable[[BatchFunction], StrawberryField]:
    """Declare a field by a function of all its parents, with `strawberry.field`'s own options.

    The function takes `Parents[Row]`, optionally `info: Info`, and the field's arguments with their
    types and defaults. It returns `list[Item]`, or `list[ItemOrError[Item]]` if single items may
    fail. It may be async. A function that often has its items at once returns
    `MaybeAwaitable[list[…]]` instead, and is awaited only if it must be. The field's GraphQL type
    is that of `Item`, or `graphql_type` (a type or its quoted name) if plain values such as ids or
    tuples represent the objects (see `@row_classes`).
    Rows that are tuples may be `ColumnarRows` instead of a list, and parents may be `ColumnarRows`
    too.

    `serialized` declares that no item needs serialisation, so the engine does not check them: texts
    of at most about 40 characters, whose length is not counted, booleans, or datetimes in
    `datetime.UTC`; None only where the type allows it, and no exceptions.
    """
    declared = StrawberryAnnotation.from_annotation(graphql_type)
    field = BatchedField(graphql_name=name, type_annotation=declared, **options)
    field.is_serialized = serialized
    if resolver is None:
        return lambda function: field(BatchResolver(function))
    return field(BatchResolver(resolver))
