"""The ways to get a raw column. Knows resolvers, nothing of what becomes of their values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from graphql import default_field_resolver
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema
from strawberry.types.info import Info

from engine.arguments import Arguments
from engine.batched import BatchedField, BatchResolver
from engine.batches import load, one_for_each
from engine.conversion import Keywords, compiled_keywords
from engine.info import FieldInfo
from engine.later import Later
from engine.plan import AwaitedSource, Column, Field, Rows, Source
from engine.together import together

if TYPE_CHECKING:
    from engine.run import Run


@dataclass(frozen=True, slots=True)
class Attribute(Source):
    """A field that its rows simply have."""

    read: Callable[[Any], Any]

    def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        try:
            return list(map(self.read, rows))
        except Exception:
            return [attempt(self.read, row) for row in rows]


@dataclass(frozen=True, slots=True)
class Call:
    """How a batched resolver is called from one place of a document."""

    declared: BatchedField
    resolver: BatchResolver
    function: Callable[..., Any]
    """What the resolver was declared as."""
    info_name: str | None
    """What the resolver calls its `info`, if it asks for it."""

    arguments: Keywords | None
    """None: it takes none."""
    info_class: type[Info[Any, Any]]

    def keywords(self, field: Field, run: "Run") -> dict[str, Any]:
        """Raises GraphQLError, or what converting an argument raises."""
        keywords = self.arguments.of(run.values) if self.arguments else {}
        if self.info_name is not None:
            keywords[self.info_name] = self.info(field, run)
        return keywords

    def info(self, field: Field, run: "Run") -> Info[Any, Any]:
        like_graphql_cores: Any = FieldInfo(field, run)
        return self.info_class(like_graphql_cores, self.declared)


@dataclass(frozen=True, slots=True)
class Batched(Source):
    """A field that is a function of all its parents."""

    call: Call
    is_plain: bool
    """Whether it takes nothing but its parents: so do most, and asking them is the inner loop."""

    def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        try:
            call = self.call
            column = (
                call.function(rows)
                if self.is_plain
                else call.function(rows, **call.keywords(field, run))
            )
            if type(column) is list and len(column) == len(rows):
                return column
            return one_for_each(rows, column, call.resolver.name)
        except Exception as error:
            return [error] * len(rows)


@dataclass(frozen=True, slots=True)
class AwaitedBatch(AwaitedSource):
    """A field that is a function of all its parents, and may have to be awaited."""

    call: Call
    is_repeated: bool
    """Whether the document asks for it in several places, whose batches become one."""

    def ask(self, rows: Rows, field: Field, run: "Run") -> Column | Awaitable[Column]:
        call = self.call
        keywords = call.keywords(field, run)
        if self.is_repeated:
            return load(call.resolver, rows, keywords, call.info(field, run))
        items = call.function(rows, **keywords)
        if type(items) is CoroutineType or type(items) is Later:
            return items
        if type(items) is not list and isawaitable(items):
            return items
        return self.checked(items, rows)

    def checked(self, column: Column, rows: Rows) -> Column:
        return one_for_each(rows, column, self.call.resolver.name)


@dataclass(frozen=True, slots=True)
class PerParent(AwaitedSource):
    """Any other Strawberry field: its resolver is called for each parent, as graphql-core does."""

    arguments: Arguments

    def ask(self, rows: Rows, field: Field, run: "Run") -> Column | Awaitable[Column]:
        resolve: Any = field.definition.resolve or default_field_resolver
        info, arguments = FieldInfo(field, run), self.arguments.coerced(run.values)
        column = [attempt(resolve, row, info, **arguments) for row in rows]
        if pending := [i for i, value in enumerate(column) if optimized_is_awaitable(value)]:
            return _completed(column, pending)
        return column


def batched_source(
    declared: BatchedField, arguments: Arguments, schema: Schema, *, is_repeated: bool
) -> Batched | AwaitedBatch:
    """The source of a batched field with these arguments."""
    resolver = declared.resolver
    info = resolver.info_parameter
    call = Call(
        declared,
        resolver,
        resolver.function,
        None if info is None else info.name,
        compiled_keywords(declared, arguments, schema) if declared.arguments else None,
        schema.config.info_class,
    )
    if resolver.is_async:
        return AwaitedBatch(call, is_repeated)
    return Batched(call, is_plain=call.arguments is None and call.info_name is None)


async def _completed(column: list[Any], pending: list[int]) -> list[Any]:
    """The column, once those of its values that are to be awaited have arrived."""
    arrived = await together([_outcome(column[index]) for index in pending])
    for index, value in zip(pending, arrived, strict=True):
        column[index] = value
    return column


async def _outcome(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except Exception as error:
        return error


def attempt(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """What the function returns, or the exception that it raises: a value or a fault."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error
