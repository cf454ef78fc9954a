"""The ways to resolve a field of many rows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from types import CoroutineType
from typing import Any

from graphql import default_field_resolver
from strawberry.execution import optimized_is_awaitable
from strawberry.schema import Schema
from strawberry.types.field import StrawberryField

from engine.arguments import FieldArguments
from engine.awaiting import ColumnOfOne, Deferred, PartialColumn
from engine.batch_loader import checked_column, load
from engine.batched import BatchedField, BatchResolver
from engine.info import FieldInfo, InfoFactory, info_factory
from engine.keyword_arguments import KeywordArguments, compile_keywords
from engine.run import AsyncResolver, Column, Completion, Field, Rows, Run, SyncResolver


@dataclass(frozen=True, slots=True)
class AttributeResolver(SyncResolver):
    """A field that is an attribute of its rows."""

    read: Callable[[Any], Any]

    @property
    def function(self) -> Callable[[Rows], Any]:
        return self._column

    def column_after_error(self, error: Exception, rows: Rows, run: Run) -> Column:
        return [value_or_error(self.read, row) for row in rows]

    def _column(self, rows: Rows) -> Column:
        return list(map(self.read, rows))


@dataclass(frozen=True, slots=True)
class SyncBatch(SyncResolver):
    """A batched field whose function is synchronous."""

    resolver: BatchResolver
    keywords: KeywordArguments | None
    """None: the function takes only its parents, the usual case."""

    @property
    def function(self) -> Callable[..., Any]:
        return self.resolver.function

    @property
    def arguments(self) -> Callable[[Run], dict[str, Any]] | None:
        return self.keywords.build if self.keywords else None

    def checked(self, column: Any, rows: Rows) -> Column:
        return checked_column(rows, column, self.resolver.name)

    def column_after_error(self, error: Exception, rows: Rows, run: Run) -> Column:
        return [error] * len(rows)


@dataclass(frozen=True, slots=True)
class SerializedBatch(SyncBatch):
    """A batched field whose items need no completion."""

    completion: Completion
    """Used for field errors only."""

    def column_after_error(self, error: Exception, rows: Rows, run: Run) -> Column:
        return self.completion.complete([error] * len(rows), run)


@dataclass(frozen=True, slots=True)
class AsyncBatch(AsyncResolver):
    """A batched field whose function may have to be awaited."""

    resolver: BatchResolver
    function: Callable[..., Any]
    keywords: KeywordArguments | None
    make_info: InfoFactory
    is_repeated: bool
    """Whether the document selects it in several places, whose batches are merged."""

    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        keywords = self.keywords.build(run) if self.keywords else {}
        if self.is_repeated:
            return load(self.resolver, rows, keywords, self.make_info(run))
        items = self.function(rows, **keywords)
        if type(items) is CoroutineType or type(items) is Deferred:
            return items
        if type(items) is list:
            return items if len(items) == len(rows) else self.checked(items, rows)
        return items if isawaitable(items) else self.checked(items, rows)

    def checked(self, column: Column, rows: Rows) -> Column:
        return checked_column(rows, column, self.resolver.name)


@dataclass(frozen=True, slots=True)
class MethodResolver(AsyncResolver):
    """A field with a plain resolver, called for each parent."""

    function: Callable[..., Any]
    keywords: KeywordArguments
    takes_self: bool
    """Whether the parent is the first positional argument."""

    parent_name: str | None
    """The keyword argument that is the parent, if any."""

    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        if len(rows) == 1:
            value = value_or_error(self._call, rows[0], run)
            if type(value) is CoroutineType:
                return ColumnOfOne(value)
            return _column_or_awaitable([value])
        return _column_or_awaitable([value_or_error(self._call, row, run) for row in rows])

    def _call(self, parent: Any, run: Run) -> Any:
        keywords = self.keywords.build(run)  # new for each parent: resolvers may change arguments
        if self.parent_name is not None:
            keywords[self.parent_name] = parent
        return self.function(parent, **keywords) if self.takes_self else self.function(**keywords)


@dataclass(frozen=True, slots=True)
class GraphQLCoreResolver(AsyncResolver):
    """Any other field: calls graphql-core's resolver for each parent."""

    field: Field
    arguments: FieldArguments

    def resolve(self, rows: Rows, run: Run) -> Column | Awaitable[Column]:
        resolve: Any = self.field.definition.resolve or default_field_resolver
        info, arguments = FieldInfo(self.field, run), self.arguments.coerced(run.values)
        return _column_or_awaitable(
            [value_or_error(resolve, row, info, **arguments) for row in rows]
        )


def compile_batch(
    declared: BatchedField,
    field: Field,
    arguments: FieldArguments,
    schema: Schema,
    *,
    is_mutation_root: bool,
    is_repeated: bool,
) -> SyncBatch | AsyncBatch:
    """The resolver of a batched field with these arguments."""
    resolver = declared.resolver
    make_info = info_factory(schema.config.info_class, declared, field)
    keywords = None
    if declared.arguments or resolver.info_parameter is not None:
        keywords = compile_keywords(declared, arguments, make_info, schema)
    if is_mutation_root or resolver.is_async:
        return AsyncBatch(resolver, resolver.function, keywords, make_info, is_repeated)
    return SyncBatch(resolver, keywords)


def compile_method(
    declared: StrawberryField, field: Field, arguments: FieldArguments, schema: Schema
) -> MethodResolver | None:
    """The resolver of a plain Strawberry field. None if graphql-core's has to be used."""
    resolver = declared.base_resolver
    if type(declared) is not StrawberryField or resolver is None or declared.is_subscription:
        return None
    function = resolver.wrapped_func
    if not callable(function):
        return None
    make_info = info_factory(schema.config.info_class, declared, field)
    keywords = compile_keywords(declared, arguments, make_info, schema)
    parent = resolver.parent_parameter or resolver.root_parameter
    takes_self = resolver.self_parameter is not None
    return MethodResolver(function, keywords, takes_self, parent.name if parent else None)


def value_or_error(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Return the function's result, or the exception that it raises as a field error."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error


def _column_or_awaitable(column: list[Any]) -> Column | Awaitable[Column]:
    """The column, or an awaitable of it if it contains awaitables."""
    if positions := [i for i, value in enumerate(column) if optimized_is_awaitable(value)]:
        return PartialColumn(column, positions)
    return column
