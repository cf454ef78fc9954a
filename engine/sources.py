"""Three ways to get a raw column. Knows resolvers, nothing of what becomes of their values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError, default_field_resolver
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema
from strawberry.types.info import Info

from engine.arguments import Arguments
from engine.batched import BatchedField, BatchResolver
from engine.batches import load
from engine.conversion import Conversion, compiled_conversion
from engine.info import FieldInfo
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
    info_name: str | None
    """What the resolver calls its `info`, if it asks for it."""

    arguments: Arguments
    conversion: Conversion
    info_class: type[Info[Any, Any]]

    def keywords(self, field: Field, run: "Run") -> dict[str, Any]:
        """Raises GraphQLError, or what converting an argument raises."""
        keywords = (
            self.conversion.of(self.arguments.coerced(run.values)) if self.conversion.steps else {}
        )
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

    def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        try:
            return self.call.resolver.batch_at_once(rows, self.call.keywords(field, run))
        except Exception as error:
            return [error] * len(rows)


@dataclass(frozen=True, slots=True)
class AwaitedBatch(AwaitedSource):
    """A field that is an asynchronous function of all its parents."""

    call: Call
    is_repeated: bool
    """Whether the document asks for it in several places, whose batches become one."""

    async def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        try:
            keywords = self.call.keywords(field, run)
            if self.is_repeated:
                return await load(self.call.resolver, rows, keywords, self.call.info(field, run))
            return await self.call.resolver.batch(rows, keywords)
        except Exception as error:
            return [error] * len(rows)


@dataclass(frozen=True, slots=True)
class PerParent(AwaitedSource):
    """Any other Strawberry field: its resolver is called for each parent, as graphql-core does."""

    arguments: Arguments

    async def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        resolve: Any = field.definition.resolve or default_field_resolver
        info = FieldInfo(field, run)
        try:
            arguments = self.arguments.coerced(run.values)
        except GraphQLError as error:
            return [error] * len(rows)
        column = [attempt(resolve, row, info, **arguments) for row in rows]
        if pending := [i for i, value in enumerate(column) if optimized_is_awaitable(value)]:
            arrived = await together([_outcome(column[index]) for index in pending])
            for index, value in zip(pending, arrived, strict=True):
                column[index] = value
        return column


def compiled_call(declared: BatchedField, arguments: Arguments, schema: Schema) -> Call:
    """The call of a batched field's resolver with these arguments."""
    resolver = declared.resolver
    info = resolver.info_parameter
    return Call(
        declared,
        resolver,
        None if info is None else info.name,
        arguments,
        compiled_conversion(declared, schema),
        schema.config.info_class,
    )


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
