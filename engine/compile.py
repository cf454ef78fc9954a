"""The compiler: from an operation to a plan.

graphql-core's own `collect_fields` selects the fields, so fragments, merging and directives behave
as in graphql-core.
"""

from collections.abc import Mapping
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

from engine.arguments import compiled_arguments
from engine.batched import BatchedField
from engine.codegen import row_builder
from engine.derived import DerivedField
from engine.document import Operation
from engine.errors import BailOut, Unsupported
from engine.field import AwaitedSource, Cells, Field, Source
from engine.leaves import Leaf, leaf
from engine.lists import Lists
from engine.lookups import derived_source, shared
from engine.objects import Objects
from engine.plan import AwaitedColumn, Columns, Plan, PresentColumn, Selection
from engine.recognition import recognition
from engine.settings import EngineSettings
from engine.sources import Attribute, Batched, PerParent, ReadyBatch, batched_source


class Compiler:
    """Compiles the queries of one schema, and the selections of its subscriptions' events."""

    def __init__(self, schema: Schema, settings: EngineSettings) -> None:
        self.schema = schema
        self.core = schema._schema
        self.settings = settings
        self.judge: Any = Executor.build(self.core, parse("{ __typename }"))
        self.has_handlers = bool(schema.schema_converter._exception_handler_specs)

    def plan(self, operation: Operation, switches: Mapping[str, bool]) -> Plan:
        """The plan of an operation for these values of the variables in @skip and @include.

        Raises Unsupported for operations that graphql-core must run.
        """
        if operation.kind is OperationType.MUTATION:
            raise Unsupported(operation.kind.value)
        if operation.node.directives:
            raise Unsupported("directive")
        if None in switches.values():
            raise Unsupported("null_switch")
        return Plan(_Compilation(self, operation, switches).root())


class _Compilation:
    """Compiles one operation."""

    def __init__(
        self, compiler: Compiler, operation: Operation, switches: Mapping[str, bool]
    ) -> None:
        self._compiler = compiler
        self._operation = operation
        self._variables = VariableValues({}, dict(switches))
        self._fragments = {
            name: FragmentDetails(node) for name, node in operation.fragments.items()
        }

    def root(self) -> Selection:
        core, operation = self._compiler.core, self._operation
        root = core.get_root_type(operation.kind)
        assert root is not None
        collected = collect_fields(core, self._fragments, self._variables, root, operation.node)
        return self._selection(root, collected.grouped_field_set, None)

    def _selection(
        self, object_type: GraphQLObjectType, asked: GroupedFieldSet, path: Path | None
    ) -> Selection:
        constants: dict[str, str | None] = {}
        fields: dict[str, Field] = {}
        present: list[PresentColumn] = []
        awaited: list[AwaitedColumn] = []
        for key, details in asked.items():
            nodes = [detail.node for detail in details]
            name = nodes[0].name.value
            if name == "__typename":
                constants[key] = object_type.name
                continue
            if name.startswith("__"):
                raise Unsupported("introspection")
            place = Path(path, key, object_type.name)
            field = Field(key, object_type, object_type.fields[name], nodes, place)
            fields[key] = field
            column = self._column(field, details)
            if isinstance(column, PresentColumn):
                present.append(column)
            else:
                awaited.append(column)
                constants[key] = None  # until the column is there
        build = row_builder(tuple(asked), constants)
        return shared(Columns(fields, build, tuple(present), tuple(awaited)))

    def _column(self, field: Field, details: FieldDetailsList) -> PresentColumn | AwaitedColumn:
        definition = field.definition
        declared: StrawberryField | None = definition.extensions.get("strawberry-definition")
        cells = self._cells(definition.type, details, field)
        if isinstance(declared, DerivedField) and is_leaf_type(get_named_type(definition.type)):
            known = derived_source(declared, cells)
            return PresentColumn(known, known.read, known.keywords, None)
        source = self._source(field, declared)
        if isinstance(source, AwaitedSource):
            return AwaitedColumn(field.key, source, cells)
        if isinstance(source, Batched) and _is_ready(declared, cells):
            ready = ReadyBatch(source.resolver, source.told, cells)
            return PresentColumn(ready, ready.read, ready.keywords, None)
        return PresentColumn(source, source.read, source.keywords, cells)

    def _source(self, field: Field, declared: StrawberryField | None) -> Source | AwaitedSource:
        arguments = compiled_arguments(field.definition, field.nodes[0])
        if declared is None or declared.extensions or self._compiler.has_handlers:
            return PerParent(field, arguments)
        if isinstance(declared, BatchedField):
            is_repeated = self._operation.measure.repeats(field.name)
            schema = self._compiler.schema
            return batched_source(declared, field, arguments, schema, is_repeated=is_repeated)
        if isinstance(declared, DerivedField):
            return Attribute(declared.of)
        if declared.is_basic_field and declared.default_resolver is getattr:
            return Attribute(attrgetter(declared.python_name))
        return PerParent(field, arguments)

    def _cells(
        self,
        declared: GraphQLOutputType,
        details: FieldDetailsList,
        field: Field,
        may_be_null: bool = True,
    ) -> Cells:
        if isinstance(declared, GraphQLNonNull):
            return self._cells(declared.of_type, details, field, may_be_null=False)
        if isinstance(declared, GraphQLList):
            items = self._cells(declared.of_type, details, field)
            return Lists(field, items, may_be_null, counts_rows=not isinstance(items, Objects))
        if is_leaf_type(declared):
            orjson_datetimes = self._compiler.settings.orjson_datetimes
            return leaf(field, declared, may_be_null=may_be_null, orjson_datetimes=orjson_datetimes)
        return self._objects(declared, details, field, may_be_null)

    def _objects(
        self, declared: Any, details: FieldDetailsList, field: Field, may_be_null: bool
    ) -> Objects:
        compiler = self._compiler

        # Types are compiled on their first row: an interface may have many that never occur.
        @cache
        def selection_of(object_type: GraphQLObjectType) -> Selection:
            collected = collect_subfields(
                compiler.core,
                self._fragments,
                self._variables,
                self._operation.node,
                object_type,
                details,
            )
            try:
                return self._selection(object_type, collected.grouped_field_set, field.path)
            except Unsupported as unsupported:
                raise BailOut(unsupported.reason) from None

        rows = recognition(declared, compiler.core, compiler.judge)
        return Objects(field, rows, selection_of, may_be_null)


def _is_ready(declared: StrawberryField | None, cells: Cells) -> bool:
    """Whether the resolver's column needs no completion."""
    is_said = isinstance(declared, BatchedField) and declared.is_serialized
    return is_said and isinstance(cells, Leaf) and cells.may_be_ready
