"""Three ways to get a raw column. Knows resolvers, nothing of what becomes of their values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphql import GraphQLError, default_field_resolver
from strawberry.execution import optimized_is_awaitable
from strawberry.types.info import Info

from engine.arguments import Arguments
from engine.batched import BatchedField
from engine.batches import load
from engine.conversion import Conversion
from engine.info import FieldInfo
from engine.plan import Column, Field, Rows
from engine.together import together

if TYPE_CHECKING:
    from engine.run import Run


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field that its rows simply have."""

    read: Callable[[Any], Any]
    waits: bool = False

    async def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        try:
            return list(map(self.read, rows))
        except Exception:
            return [attempt(self.read, row) for row in rows]


@dataclass(frozen=True, slots=True)
class Batched:
    """A field that is a function of all its parents."""

    declared: BatchedField
    arguments: Arguments
    conversion: Conversion
    info_class: type[Info[Any, Any]]
    is_repeated: bool
    """Whether the document asks for it in several places, whose batches become one."""

    @property
    def waits(self) -> bool:
        return self.declared.resolver.is_async

    async def column(self, rows: Rows, field: Field, run: "Run") -> Column:
        resolver = self.declared.resolver
        try:
            arguments = self._arguments(run)
            if (parameter := resolver.info_parameter) is not None:
                arguments[parameter.name] = self._info(field, run)
            if self.is_repeated and self.waits:
                return await load(resolver, rows, arguments, self._info(field, run))
            return await resolver.batch(rows, arguments)
        except Exception as error:
            return [error] * len(rows)

    def _arguments(self, run: "Run") -> dict[str, Any]:
        if not self.conversion.steps:
            return {}
        return self.conversion.of(self.arguments.coerced(run.values))

    def _info(self, field: Field, run: "Run") -> Info[Any, Any]:
        like_graphql_cores: Any = FieldInfo(field, run)
        return self.info_class(like_graphql_cores, self.declared)


@dataclass(frozen=True, slots=True)
class PerParent:
    """Any other Strawberry field: its resolver is called for each parent, as graphql-core does."""

    arguments: Arguments
    waits: bool

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
