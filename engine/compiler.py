"""The compiler: from an operation to a plan.

graphql-core's own `collect_fields` selects the fields, so fragments, merging and directives behave
as in graphql-core.
"""

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from graphql import (
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    OperationType,
    get_named_type,
    is_leaf_type,
    parse,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import (
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues
from graphql.pyutils import Path
from strawberry.schema import Schema
from strawberry.types.field import StrawberryField

from engine.arguments import compile_arguments
from engine.batched import BatchedField
from engine.codegen import object_builder
from engine.derived import DerivedField
from engine.errors import BailOut, Unsupported
from engine.introspection import (
    IntrospectionCache,
    IntrospectionCompletion,
    introspection_resolver,
)
from engine.leaves import LeafCompletion, leaf_completion
from engine.lists import ListCompletion
from engine.lookup_tables import DerivedResolver, with_shared_objects
from engine.objects import ObjectCompletion
from engine.plan import AsyncColumn, FieldColumns, Operation, Plan, SelectionSet, SyncColumn
from engine.resolvers import (
    AttributeResolver,
    GraphQLCoreResolver,
    SerializedBatch,
    SyncBatch,
    compile_batch,
    compile_method,
)
from engine.run import AsyncResolver, Completion, Field, SyncResolver
from engine.settings import EngineSettings
from engine.type_resolution import type_resolution

VALUE_BYTES = 16
"""The estimated length of a value in a response, with quotes and separators. Ids have up to 19
digits, dates 32 characters, and most other values fewer than 10."""


class Compiler:
    """Compiles the operations of one schema; of a subscription, what is executed for each event."""

    def __init__(self, schema: Schema, settings: EngineSettings) -> None:
        self.schema = schema
        self.graphql_schema = schema._schema
        self.settings = settings
        self.type_checker: Any = Executor.build(self.graphql_schema, parse("{ __typename }"))
        self.introspections = IntrospectionCache()
        self.has_handlers = bool(schema.schema_converter._exception_handler_specs)

    def compile(
        self, operation: Operation, conditions: Mapping[str, bool], grow: Callable[[int], None]
    ) -> Plan:
        """The plan of an operation for these values of the variables in @skip and @include.

        `grow` is called with the fields that are compiled when the plan has met a first row.

        Raises Unsupported for operations that graphql-core must run.
        """
        if operation.node.directives:
            raise Unsupported("directive")
        if None in conditions.values():
            raise Unsupported("null_condition")
        return _Compilation(self, operation, conditions, grow).plan()


class _Compilation:
    """Compiles one operation."""

    def __init__(
        self,
        compiler: Compiler,
        operation: Operation,
        conditions: Mapping[str, bool],
        grow: Callable[[int], None],
    ) -> None:
        self._compiler = compiler
        self._operation = operation
        self._grow = grow
        self._is_mutation = operation.kind is OperationType.MUTATION
        self._variables = VariableValues({}, dict(conditions))
        self._fragments = {
            name: FragmentDetails(node) for name, node in operation.fragments.items()
        }

    def plan(self) -> Plan:
        schema, operation = self._compiler.graphql_schema, self._operation
        root = schema.get_root_type(operation.kind)
        assert root is not None
        collected = collect_fields(schema, self._fragments, self._variables, root, operation.node)
        fields = collected.grouped_field_set
        parts = (
            [{key: details} for key, details in fields.items()] if self._is_mutation else [fields]
        )
        steps = [self._selection_set(root, part, None) for part in parts]
        return Plan(tuple(steps), self._is_mutation, sum(map(_weight, parts)))

    def _selection_set(
        self, object_type: GraphQLObjectType, selected: GroupedFieldSet, path: Path | None
    ) -> SelectionSet:
        constants: dict[str, str | None] = {}
        fields: dict[str, Field] = {}
        sync: list[SyncColumn] = []
        pending: list[AsyncColumn] = []
        for key, details in selected.items():
            nodes = [detail.node for detail in details]
            name = nodes[0].name.value
            if name == "__typename":
                constants[key] = object_type.name
                continue
            definition = self._compiler.graphql_schema.get_field(object_type, name)
            assert definition is not None, "the document is valid"
            field = Field(key, object_type, definition, nodes, Path(path, key, object_type.name))
            fields[key] = field
            column = self._column(field, details)
            if isinstance(column, SyncColumn):
                sync.append(column)
            else:
                pending.append(column)
                constants[key] = None  # until the column is filled in
        build = object_builder(tuple(selected), constants)
        row_bytes = sum(len(key) + VALUE_BYTES for key in selected)
        return with_shared_objects(
            FieldColumns(fields, build, tuple(sync), tuple(pending), row_bytes)
        )

    def _column(self, field: Field, details: FieldDetailsList) -> SyncColumn | AsyncColumn:
        definition = field.definition
        declared: StrawberryField | None = definition.extensions.get("strawberry-definition")
        completion = self._completion(definition.type, details, field)
        if isinstance(declared, DerivedField) and is_leaf_type(get_named_type(definition.type)):
            return _sync_column(DerivedResolver(declared, completion), None)
        resolver = self._resolver(field, declared)
        is_root = field.path.prev is None
        if field.name.startswith("__") and is_root and isinstance(resolver, AsyncResolver):
            cache = self._compiler.introspections
            resolver = introspection_resolver(field, resolver, self._operation, cache)
            return AsyncColumn(field.key, resolver, IntrospectionCompletion(completion))
        if isinstance(resolver, AsyncResolver):
            return AsyncColumn(field.key, resolver, completion)
        if isinstance(resolver, SyncBatch) and _is_serialized(declared, completion):
            serialized = SerializedBatch(resolver.resolver, resolver.keywords, completion)
            return _sync_column(serialized, None)
        return _sync_column(resolver, completion)

    def _resolver(
        self, field: Field, declared: StrawberryField | None
    ) -> SyncResolver | AsyncResolver:
        arguments = compile_arguments(field.definition, field.nodes[0])
        schema = self._compiler.schema
        if declared is None or declared.extensions or self._compiler.has_handlers:
            return GraphQLCoreResolver(field, arguments)
        if isinstance(declared, BatchedField):
            # The values of a mutation's root fields are recorded when pending fields are filled.
            may_wait = self._is_mutation and field.path.prev is None
            is_repeated = self._operation.size.repeats(field.name)
            return compile_batch(
                declared, field, arguments, schema, may_wait=may_wait, is_repeated=is_repeated
            )
        if isinstance(declared, DerivedField):
            return AttributeResolver(declared.value)
        if declared.is_basic_field and declared.default_resolver is getattr:
            return AttributeResolver(attrgetter(declared.python_name))
        method = compile_method(declared, field, arguments, schema)
        return method or GraphQLCoreResolver(field, arguments)

    def _completion(
        self,
        declared: GraphQLOutputType,
        details: FieldDetailsList,
        field: Field,
        may_be_null: bool = True,
    ) -> Completion:
        if isinstance(declared, GraphQLNonNull):
            return self._completion(declared.of_type, details, field, may_be_null=False)
        if isinstance(declared, GraphQLList):
            items = self._completion(declared.of_type, details, field)
            return ListCompletion(
                field, items, may_be_null, counts_rows=not isinstance(items, ObjectCompletion)
            )
        if is_leaf_type(declared):
            orjson_datetimes = self._compiler.settings.orjson_datetimes
            return leaf_completion(
                field, declared, may_be_null=may_be_null, orjson_datetimes=orjson_datetimes
            )
        return self._objects(declared, details, field, may_be_null)

    def _objects(
        self, declared: Any, details: FieldDetailsList, field: Field, may_be_null: bool
    ) -> ObjectCompletion:
        compiler = self._compiler

        # Types are compiled on their first row: an interface may have many that never occur.
        @cache
        def selection_set_of(object_type: GraphQLObjectType) -> SelectionSet:
            collected = collect_subfields(
                compiler.graphql_schema,
                self._fragments,
                self._variables,
                self._operation.node,
                object_type,
                details,
            )
            self._grow(_weight(collected.grouped_field_set))
            try:
                return self._selection_set(object_type, collected.grouped_field_set, field.path)
            except Unsupported as unsupported:
                raise BailOut(unsupported.reason) from None

        types = type_resolution(declared, compiler.graphql_schema, compiler.type_checker)
        return ObjectCompletion(field, types, selection_set_of, may_be_null)


def _weight(selected: GroupedFieldSet) -> int:
    """How many fields a selection set counts as in memory."""
    return len(selected) + 1


def _sync_column(resolver: SyncResolver, completion: Completion | None) -> SyncColumn:
    return SyncColumn(resolver, resolver.function, resolver.arguments, completion)


def _is_serialized(declared: StrawberryField | None, completion: Completion) -> bool:
    """Whether the resolver's column needs no completion."""
    is_declared = isinstance(declared, BatchedField) and declared.is_serialized
    return is_declared and isinstance(completion, LeafCompletion) and completion.may_be_serialized
