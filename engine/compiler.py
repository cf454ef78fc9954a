"""The compiler: from an operation to a plan.

graphql-core's own `collect_fields` selects the fields, so fragments, merging and directives behave
as in graphql-core.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from operator import attrgetter
from typing import Any

from graphql import (
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    InlineFragmentNode,
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
from engine.errors import Unsupported
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
from engine.turns import run_at_once
from engine.type_resolution import type_resolution

FIELDS_PER_SLICE = 60
"""The fields that one slice compiles. A field takes 15 to 50 µs."""

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
        self.has_exception_handlers = bool(schema.schema_converter._exception_handler_specs)

    def compiling(
        self, operation: Operation, conditions: Mapping[str, bool], grow: Callable[[int], None]
    ) -> Generator[None, None, Plan]:
        """Compile an operation for these values of the variables in @skip and @include, in slices.

        `grow` is called with the weight, in fields, of each selection set below the root: also of
        those that are compiled after the plan, at the first row of a type.

        Raises Unsupported for operations that graphql-core must run.
        """
        if operation.node.directives:
            raise Unsupported("directive")
        return (yield from _Compilation(self, operation, conditions, grow).plan())


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
        self._queued: deque[tuple[SelectionSets, GraphQLObjectType]] = deque()
        """Selection sets that are compiled before the first run, because the document names their
        types."""
        self._weight = 0
        """The weight of everything that is compiled."""
        self._visited = 0
        """The number of fields that were compiled, for slices."""

    def plan(self) -> Generator[None, None, Plan]:
        """Compile the operation, in slices: its root fields, then the queued selection sets."""
        schema, operation = self._compiler.graphql_schema, self._operation
        root = schema.get_root_type(operation.kind)
        assert root is not None
        collected = collect_fields(schema, self._fragments, self._variables, root, operation.node)
        fields = collected.grouped_field_set
        parts = (
            [{key: details} for key, details in fields.items()] if self._is_mutation else [fields]
        )
        steps: tuple[SelectionSet, ...] = ()
        for part in parts:
            steps += ((yield from self._selection_set(root, part, None)),)
        # Bounded, because the fields of an interface are compiled again for each of its types.
        # Without interfaces, a document within its limits never reaches the bound: a field weighs
        # 1, and at most 1 more for its selection set.
        while self._queued and self._weight <= 2 * self._compiler.settings.max_fields:
            selection_sets, object_type = self._queued.popleft()
            yield from selection_sets.compiling(object_type)
        self._queued.clear()
        return Plan(steps, self._is_mutation, self._weight)

    def _selection_set(
        self, object_type: GraphQLObjectType, selected: GroupedFieldSet, path: Path | None
    ) -> Generator[None, None, SelectionSet]:
        """Compile the selected fields of one object type, in slices."""
        self._weight += _weight(selected)
        constants: dict[str, str | None] = {}
        fields: dict[str, Field] = {}
        sync: list[SyncColumn] = []
        pending: list[AsyncColumn] = []
        for key, details in selected.items():
            self._visited += 1
            if not self._visited % FIELDS_PER_SLICE:
                yield
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
        """The column of one field: synchronous if its resolver never waits."""
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
        """The fastest resolver that the declaration of the field allows."""
        arguments = compile_arguments(field.definition, field.nodes[0])
        schema = self._compiler.schema
        if declared is None or declared.extensions or self._compiler.has_exception_handlers:
            return GraphQLCoreResolver(field, arguments)
        if isinstance(declared, BatchedField):
            # Only pending fields record the values of a mutation's root fields, so these get an
            # asynchronous resolver even if they need none.
            is_mutation_root = self._is_mutation and field.path.prev is None
            is_repeated = self._operation.size.repeats(field.name)
            return compile_batch(
                declared,
                field,
                arguments,
                schema,
                is_mutation_root=is_mutation_root,
                is_repeated=is_repeated,
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
        """The completion of a type, with those of the types inside it."""
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
        """The completion of an object type, interface or union. Queues the selection sets of an
        object type, and of those types of the others that the document names."""
        schema = self._compiler.graphql_schema
        selection_sets = SelectionSets(self, details, field)
        if isinstance(declared, GraphQLObjectType):
            self._queued.append((selection_sets, declared))
        elif named := set(_named_types(details, self._fragments)):
            possible = schema.get_possible_types(declared)
            self._queued += [(selection_sets, one) for one in possible if one.name in named]
        types = type_resolution(declared, schema, self._compiler.type_checker)
        return ObjectCompletion(field, types, selection_sets, may_be_null)

    def selection_set(
        self, object_type: GraphQLObjectType, details: FieldDetailsList, field: Field
    ) -> Generator[None, None, SelectionSet]:
        """Compile what a field selects of an object type."""
        collected = collect_subfields(
            self._compiler.graphql_schema,
            self._fragments,
            self._variables,
            self._operation.node,
            object_type,
            details,
        )
        self._grow(_weight(collected.grouped_field_set))
        return (
            yield from self._selection_set(object_type, collected.grouped_field_set, field.path)
        )


class SelectionSets:
    """What one field selects, by object type.

    Types that the document does not name are compiled on their first row, because an interface may
    have many types that never occur.
    """

    def __init__(self, compilation: _Compilation, details: FieldDetailsList, field: Field) -> None:
        self._compilation = compilation
        self._details = details
        self._field = field
        self._compiled: dict[GraphQLObjectType, SelectionSet] = {}

    def __call__(self, object_type: GraphQLObjectType) -> SelectionSet:
        """The selection set of a type."""
        if object_type not in self._compiled:
            run_at_once(self.compiling(object_type))
        return self._compiled[object_type]

    def compiling(self, object_type: GraphQLObjectType) -> Generator[None, None, None]:
        """Compile the selection set of a type, in slices."""
        compilation, details = self._compilation, self._details
        self._compiled[object_type] = yield from compilation.selection_set(
            object_type, details, self._field
        )


def _named_types(
    details: FieldDetailsList, fragments: Mapping[str, FragmentDetails]
) -> Iterator[str]:
    """The types that the fragments in the selections of a field are on."""
    seen: set[str] = set()
    sets = [detail.node.selection_set for detail in details]
    while sets:
        selections = sets.pop()
        for node in selections.selections if selections else ():
            fragment: InlineFragmentNode | FragmentDefinitionNode | None = None
            if isinstance(node, InlineFragmentNode):
                fragment = node
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = fragments[node.name.value].definition
            if fragment is not None:
                sets.append(fragment.selection_set)
                if fragment.type_condition is not None:
                    yield fragment.type_condition.name.value


def _weight(selected: GroupedFieldSet) -> int:
    """The memory of a selection set, in fields."""
    return len(selected) + 1


def _sync_column(resolver: SyncResolver, completion: Completion | None) -> SyncColumn:
    return SyncColumn(resolver, resolver.function, resolver.arguments, completion)


def _is_serialized(declared: StrawberryField | None, completion: Completion) -> bool:
    """Whether the field is declared as `serialized` and has a type of which that is known to be
    enough: its column is not completed then."""
    is_declared = isinstance(declared, BatchedField) and declared.is_serialized
    return (
        is_declared
        and isinstance(completion, LeafCompletion)
        and completion.can_be_declared_serialized
    )
